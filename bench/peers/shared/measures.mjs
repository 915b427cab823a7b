/** How a peer in JavaScript is measured, the same for all of them. */
import { forget, now, performed } from "./perform.mjs";

/** How often it is looked whether the last jobs have ended, in ms. */
const LOOK_MS = 5;

/**
 * The args of a job.
 *
 * @param {{ bytes?: number, fib?: number, waitMs?: number }} options
 */
export function makeArgs({ bytes = 0, fib, waitMs } = {}) {
  const args = { order: 4711, note: "a payload of some fifty bytes" };
  if (fib !== undefined) args.fib = fib;
  if (waitMs !== undefined) args.waitMs = waitMs;
  if (bytes > 0) args.filler = "0123456789abcdef".repeat(Math.ceil(bytes / 16)).slice(0, bytes);
  return args;
}

/**
 * Writes many jobs by the peer's own call for many.
 *
 * @param {(list: object[]) => Promise<unknown>} insert
 * @param {{ jobs: number, chunk: number }} params
 */
export async function bulk(insert, params) {
  const args = makeArgs(params);
  const began = performance.now();
  for (let left = params.jobs; left > 0; left -= params.chunk) {
    await insert(Array.from({ length: Math.min(left, params.chunk) }, () => args));
  }
  return { seconds: (performance.now() - began) / 1000 };
}

/**
 * Makes single calls, a number of them at a time.
 *
 * @param {(args: object) => Promise<unknown>} enqueue
 * @param {{ jobs: number, atOnce: number }} params
 */
export async function each(enqueue, params) {
  const args = makeArgs(params);
  let left = params.jobs;
  const call = async () => {
    while (left-- > 0) await enqueue(args);
  };
  await Promise.all(Array.from({ length: params.atOnce }, () => enqueue(args)));
  const began = performance.now();
  await Promise.all(Array.from({ length: params.atOnce }, call));
  return { seconds: (performance.now() - began) / 1000 };
}

/**
 * From the call that starts the worker to the end of the last job in the database, or to the cap.
 *
 * @param {() => Promise<() => Promise<void>>} work starts it, and resolves to what stops it
 * @param {() => Promise<boolean>} isBusy whether a job has not ended
 * @param {{ jobs: number, capMs: number }} params
 */
export async function drain(work, isBusy, { jobs, capMs }) {
  forget();
  const began = performance.now();
  const stop = await work();
  while (performed.count < jobs && performance.now() - began < capMs) await pause(LOOK_MS);
  const done = Math.min(performed.count, jobs);
  while (done === jobs && await isBusy()) await pause(LOOK_MS);
  const seconds = (performance.now() - began) / 1000;
  await stop();
  return { done, seconds };
}

/**
 * Enqueues to an idle worker, one job after the other, each after the last has been performed.
 *
 * @param {(args: object) => Promise<unknown>} enqueue
 * @param {{ samples: number, pauseMs: number }} params
 */
export async function latency(enqueue, { samples, pauseMs, capMs }) {
  forget();
  const began = performance.now();
  while (performed.latenciesMs.length < samples && performance.now() - began < capMs) {
    const before = performed.latenciesMs.length;
    await enqueue({ ...makeArgs(), sentAt: now() });
    while (performed.latenciesMs.length === before) await pause(1);
    // Not in step with any timer of the peer's.
    await pause(pauseMs * (0.5 + Math.random()));
  }
  return { ms: performed.latenciesMs };
}

/**
 * Sends jobs at a steady rate.
 *
 * @param {(list: object[]) => Promise<unknown>} insert
 * @param {{ perSecond: number, seconds: number, waitMs?: number }} params
 */
export async function produce(insert, { perSecond, seconds, ...work }) {
  const began = performance.now();
  let sent = 0;
  const flights = new Set();
  for (let elapsed = 0; elapsed < seconds; elapsed = (performance.now() - began) / 1000) {
    const due = Math.floor(elapsed * perSecond) - sent;
    if (due > 0) {
      sent += due;
      const sentAt = now();
      const flight = insert(Array.from({ length: due }, () => ({ ...makeArgs(), sentAt, ...work })));
      flights.add(flight);
      flight.finally(() => flights.delete(flight));
    }
    await pause(2);
  }
  await Promise.all(flights);
  return { sent };
}

/** @param {number} ms */
export function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
