import {
  errorText,
  type Final,
  isTooDeep,
  type JobId,
  type Json,
  type Log,
  type Store,
  WAITED_JOBS_MAX,
  type WaitResult,
} from "../ports/mod.ts";
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

/** The first look at a wait after its first one, in ms. */
const LOOK_AGAIN_MS = 20;

interface Waiter {
  readonly begunAt: number;
  readonly resolve: (final: Final | null) => void;
}

/**
 * Waits for jobs to end. Whoever waits asks every process to tell it of that job, and looks itself: first at once, for
 * the job may have ended before anyone was asked; then whenever told; then, for what was not told, whenever it has
 * waited as long again, and at every poll. A short job often ends while its ender is still being asked.
 */
export class Waiters {
  readonly #options: WaitersOptions;
  readonly #waiters = new Map<JobId, Set<Waiter>>();
  readonly #elsewhere = new Set<JobId>();
  readonly #look: Ticker;
  #toLook = new Set<JobId>();
  #lookAll = false;
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

  /** Waits for one job. */
  async wait(id: JobId, maxMs: number): Promise<WaitResult> {
    if (this.#stopped || (!this.#waiters.has(id) && this.#waiters.size >= WAITED_JOBS_MAX)) {
      return { done: false };
    }
    const waiters = this.#waiters.get(id) ?? new Set();
    if (waiters.size === 0) this.#options.signaller.send({ type: "wait", id });
    this.#waiters.set(id, waiters);
    const final = await new Promise<Final | null>((resolve) => {
      const waiter: Waiter = {
        begunAt: performance.now(),
        resolve: (final) => {
          clearTimeout(timer);
          waiters.delete(waiter);
          if (waiters.size === 0 && this.#waiters.get(id) === waiters) this.#waiters.delete(id);
          resolve(final);
        },
      };
      waiters.add(waiter);
      const timer = setTimeout(() => waiter.resolve(null), maxMs);
      this.look(id);
    });
    return final === null ? { done: false } : result(final);
  }

  /** A job may have ended: look, if someone waits for it. */
  look(id: JobId): void {
    if (!this.#waiters.has(id)) return;
    this.#toLook.add(id);
    if (!this.#started) this.#look.start();
    else this.#look.wake();
    this.#started = true;
  }

  /** A signal says that a job has ended. Whoever sends many of them makes it look every 10 ms, no more. */
  told(id: JobId): void {
    if (!this.#waiters.has(id)) return;
    const inMs = this.#lookedAt + TOLD_MS - performance.now();
    if (inMs <= 0) return this.look(id);
    this.#toLook.add(id);
    this.#toldTimer ??= setTimeout(() => {
      this.#toldTimer = undefined;
      this.#look.wake();
    }, inMs);
  }

  /** Messages may have been lost: look at all. */
  lookAtAll(): void {
    if (this.#waiters.size === 0) return;
    this.#lookAll = true;
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
    for (const waiters of [...this.#waiters.values()]) {
      for (const waiter of [...waiters]) waiter.resolve(null);
    }
    if (this.#started) await this.#look.stop();
  }

  async #lookNow(): Promise<number> {
    this.#lookedAt = performance.now();
    // Told ids first; a poll, when nothing was told, looks at all.
    const all = this.#lookAll || this.#toLook.size === 0;
    const ids = all ? [...this.#waiters.keys()] : [...this.#toLook].filter((id) => this.#waiters.has(id));
    this.#toLook = new Set();
    this.#lookAll = false;
    if (ids.length > 0) await this.#resolveEnded(ids);
    const ages = [...this.#waiters.values()].flatMap((waiters) =>
      [...waiters].map(({ begunAt }) => performance.now() - begunAt)
    );
    return Math.max(LOOK_AGAIN_MS, Math.min(...ages));
  }

  async #resolveEnded(ids: readonly JobId[]): Promise<void> {
    for (const final of await this.#options.store.finals(ids)) {
      for (const waiter of [...this.#waiters.get(final.id) ?? []]) waiter.resolve(final);
    }
  }
}

function result(final: Final): WaitResult {
  const output: Json = final.output === null || isTooDeep(final.output) ? null : JSON.parse(final.output);
  return { done: true, state: final.state, output, error: final.error };
}
