/** What a job does, the same for every peer in JavaScript, and how many were done. */

/** How many jobs have been performed in this thread, and how long each had waited that says when it was sent. */
export const performed = { count: 0, latenciesMs: [] };

/** Forgets what was counted. */
export function forget() {
  performed.count = 0;
  performed.latenciesMs = [];
}

/** The time in ms, comparable between the threads and the processes of one machine. */
export function now() {
  return performance.timeOrigin + performance.now();
}

/**
 * Does one job: nothing, or computes, or waits, as its args say.
 *
 * @param {{ fib?: number, waitMs?: number, sentAt?: number }} args
 * @returns {Promise<number | undefined> | number | undefined} how long it had waited, when it says when it was sent.
 */
export function perform(args) {
  if (args.waitMs !== undefined) return waited(args.waitMs);
  if (args.fib !== undefined) fib(args.fib);
  const latencyMs = args.sentAt === undefined ? undefined : now() - args.sentAt;
  if (latencyMs !== undefined) performed.latenciesMs.push(latencyMs);
  performed.count++;
  return latencyMs;
}

async function waited(ms) {
  await new Promise((resolve) => setTimeout(resolve, ms));
  performed.count++;
  return undefined;
}

function fib(n) {
  return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
