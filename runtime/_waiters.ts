import { errorText } from "../ports/error_text.ts";
import type { JobId } from "../ports/job.ts";
import type { Json } from "../ports/json.ts";
import type { Log } from "../ports/log.ts";
import type { WaitResult } from "../ports/runtime.ts";
import type { Final, Finals, Store } from "../ports/store.ts";
import { isTooDeep } from "../shared/json_text.ts";
import { levelOf } from "./_level_of.ts";
import type { Signaller } from "./_signaller.ts";
import { Ticker } from "./_ticker.ts";
import type { Timer } from "./_timer.ts";

/** How many jobs that other processes wait for are remembered; the oldest give way, and are found by polling. */
const WAITED_ELSEWHERE_MAX = 10_000;

/** What {@linkcode Waiters} need. */
export interface WaitersOptions {
  /** Where it looks. */
  readonly store: Store;
  /** Asks other processes to tell, and tells them. */
  readonly signaller: Signaller;
  /** How often it looks without being told, in ms. */
  readonly pollMs: number;
  /** For what goes wrong. */
  readonly log: Log;
}

/** The shortest time between two looks that signals ask for, in ms. */
const TOLD_MS = 10;

/** The first look at a job after its first one, in ms. */
const LOOK_AGAIN_MS = 20;

/** The most jobs that one statement looks at. */
const LOOKED_AT_ONCE_MAX = 1000;

/** A job that is waited for, by one or many. */
interface Waited {
  /** Who waits. */
  readonly resolve: Set<(result: WaitResult) => void>;
  /** When somebody last began to wait, in ms of `performance.now()`. */
  begunAt: number;
  /** When it is looked at next. */
  lookAt: number;
  /** The first number of a transaction that may no longer bring it, by the first look that missed it. */
  goneFrom: number | null;
}

/**
 * Waits for jobs to end. Whoever waits asks every process to tell it of that job, and looks itself: first at once, for
 * the job may have ended before anyone was asked; then whenever told; then, for what was not told, whenever it has
 * waited as long again, and at every poll. A short job often ends while its ender is still being asked.
 *
 * A look is one statement for many jobs, so there may be any number of them.
 */
export class Waiters {
  readonly #options: WaitersOptions;
  readonly #waited = new Map<JobId, Waited>();
  readonly #elsewhere = new Set<JobId>();
  readonly #look: Ticker;
  #lookedAt = -Infinity;
  #toldTimer: Timer | undefined;
  #started = false;
  #stopped = false;

  constructor(options: WaitersOptions) {
    this.#options = options;
    this.#look = new Ticker({
      everyMs: options.pollMs,
      run: () => this.#lookNow(),
      onError: (error, again) =>
        options.log[levelOf(again)]("waited jobs not looked at, trying again", { error: errorText(error) }),
    });
  }

  /** Waits for one job. Rejects with the signal's reason when that aborts first. */
  async wait(id: JobId, maxMs: number, signal?: AbortSignal): Promise<WaitResult> {
    if (this.#stopped) return { done: false, reason: "stopped" };
    const { promise, resolve, reject } = Promise.withResolvers<WaitResult>();
    const timer = setTimeout(() => resolve({ done: false, reason: "timeout" }), maxMs);
    const aborted = () => reject(signal!.reason);
    signal?.addEventListener("abort", aborted, { once: true });
    const waited = this.#begin(id, resolve);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", aborted);
      waited.resolve.delete(resolve);
      if (waited.resolve.size === 0 && this.#waited.get(id) === waited) this.#waited.delete(id);
    }
  }

  /** A job may have ended: look, if someone waits for it. */
  look(id: JobId): void {
    const waited = this.#waited.get(id);
    if (waited === undefined) return;
    waited.lookAt = -Infinity;
    if (!this.#started) this.#look.start();
    else this.#look.wake();
    this.#started = true;
  }

  /** A signal says that a job has ended. Whoever sends many of them makes it look every 10 ms, no more. */
  told(id: JobId): void {
    const waited = this.#waited.get(id);
    if (waited === undefined) return;
    const inMs = this.#lookedAt + TOLD_MS - performance.now();
    if (inMs <= 0) return this.look(id);
    waited.lookAt = -Infinity;
    this.#toldTimer ??= setTimeout(() => {
      this.#toldTimer = undefined;
      this.#look.wake();
    }, inMs);
  }

  /** Messages may have been lost: look at all. */
  lookAtAll(): void {
    if (this.#waited.size === 0) return;
    for (const waited of this.#waited.values()) waited.lookAt = -Infinity;
    this.#look.wake();
  }

  /** Another process waits for this job. */
  waitedElsewhere(id: JobId): void {
    if (this.#elsewhere.size >= WAITED_ELSEWHERE_MAX) {
      this.#elsewhere.delete(this.#elsewhere.keys().next().value!);
    }
    this.#elsewhere.add(id);
  }

  /** A job ended here, durably: tell whoever waits for it. */
  ended(id: JobId): void {
    this.look(id);
    if (this.#elsewhere.delete(id)) this.#options.signaller.send({ type: "final", id });
  }

  /** Answers all that wait, and ends. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#toldTimer);
    for (const waited of this.#waited.values()) answer(waited, { done: false, reason: "stopped" });
    if (this.#started) await this.#look.stop();
  }

  #begin(id: JobId, resolve: (result: WaitResult) => void): Waited {
    const begunAt = performance.now();
    let waited = this.#waited.get(id);
    if (waited === undefined) {
      waited = { resolve: new Set(), begunAt, lookAt: begunAt, goneFrom: null };
      this.#waited.set(id, waited);
      this.#options.signaller.send({ type: "wait", id });
    }
    waited.begunAt = begunAt;
    waited.resolve.add(resolve);
    this.look(id);
    return waited;
  }

  async #lookNow(): Promise<number> {
    const now = this.#lookedAt = performance.now();
    const due: JobId[] = [];
    for (const [id, waited] of this.#waited) {
      if (waited.lookAt > now) continue;
      due.push(id);
      // A look that fails is made again at the next poll; whoever is told meanwhile makes it at once.
      waited.lookAt = now + Math.min(Math.max(LOOK_AGAIN_MS, now - waited.begunAt), this.#options.pollMs);
    }
    for (let at = 0; at < due.length; at += LOOKED_AT_ONCE_MAX) {
      this.#take(await this.#options.store.finals(due.slice(at, at + LOOKED_AT_ONCE_MAX)));
    }
    let nextAt = Infinity;
    for (const { lookAt } of this.#waited.values()) nextAt = Math.min(nextAt, lookAt);
    return Math.max(1, nextAt - performance.now());
  }

  #take({ ended, missing }: Finals): void {
    for (const final of ended) answer(this.#waited.get(final.id), resultOf(final));
    for (const { id, oldest, next } of missing) {
      const waited = this.#waited.get(id);
      if (waited === undefined) continue;
      waited.goneFrom ??= next;
      if (oldest >= waited.goneFrom) answer(waited, { done: false, reason: "gone" });
    }
  }
}

function answer(waited: Waited | undefined, result: WaitResult): void {
  for (const resolve of waited?.resolve ?? []) resolve(result);
}

function resultOf(final: Final): WaitResult {
  const output: Json = final.output === null || isTooDeep(final.output) ? null : JSON.parse(final.output);
  return { done: true, state: final.state, output, error: final.error };
}
