import {
  errorText,
  type Log,
  RefusedValueError,
  type Settled as StoredEnd,
  type Settlement,
  type Store,
} from "../ports/mod.ts";
import { levelOf } from "./_level_of.ts";
import type { Timer } from "./_timer.ts";
import { within } from "./_within.ts";

/** The most runs that one statement ends. */
const BATCH_MAX = 1000;
/** Each statement has its price, so while fewer than so many wait it pauses for so many times what the last one took. */
const BATCH_SMALL = 200;
const PAUSE_FACTOR = 8;
/** The bounds of that pause, in ms. */
const PAUSE_MS_MIN = 8;
const PAUSE_MS_MAX = 25;
const RETRY_FIRST_MS = 100;
/** As often as claims are tried: nothing begins before an end is written. */
const RETRY_LONGEST_MS = 1000;
/** When to come back for rows that another transaction held: soon, then less and less often. */
const LOCKED_FIRST_MS = 50;
const LOCKED_LONGEST_MS = 1000;

/** What became of a settlement in the end: a row that is locked is come back for. */
export type Settled = Exclude<StoredEnd, "locked">;

/** A settlement and who wants to know what became of it. */
export interface SettleRequest {
  /** What is to be written. */
  readonly settlement: Settlement;
  /** Told once it is durable. */
  readonly done: (settled: Settled) => void;
}

/** What a {@linkcode Settler} needs. */
export interface SettlerOptions {
  /** Where it writes. */
  readonly store: Store;
  /** The present id of this process. */
  readonly owner: () => string;
  /** How long the first of a batch waits for others, in ms. */
  readonly settleMs: number;
  /** Told when ends are written again, after they could not be. */
  readonly onRecovered: () => void;
  /** For what goes wrong. */
  readonly log: Log;
}

/**
 * Writes the ends of runs, many in one statement: what ends within a few ms, or while an earlier batch is under way. A
 * statement that ends few costs as much as one that ends many, so between such there is a pause.
 *
 * Every write is fenced by (id, run), so sending one again is harmless, and it is sent again until the database has
 * answered: a job that finished in an outage is recorded after it. A row that another transaction holds is come back
 * for, and holds up nobody else.
 */
export class Settler {
  readonly #options: SettlerOptions;
  #waiting: SettleRequest[] = [];
  #locked: SettleRequest[] = [];
  #lockedTimer: Timer | undefined;
  #lockedPauseMs = LOCKED_FIRST_MS;
  #timer: Timer | undefined;
  #restUntil = -Infinity;
  #flight: Promise<void> | undefined;
  #unsettled = 0;
  #idle: (() => void)[] = [];
  #failing = false;
  #draining = false;
  #abandoned = false;

  constructor(options: SettlerOptions) {
    this.#options = options;
  }

  /** How many are not written yet. */
  get backlog(): number {
    return this.#unsettled;
  }

  /** Whether the last write failed and is tried again. Whatever ends meanwhile is lost with this process. */
  get failing(): boolean {
    return this.#failing;
  }

  /** Writes the end of a run. */
  add(settlement: Settlement, done: (settled: Settled) => void): void {
    this.#unsettled++;
    this.#enqueue({ settlement, done });
  }

  /** Resolves when all is written: true, or false when that took too long and the rest is given up. */
  async drain(maxMs: number): Promise<boolean> {
    if (this.#unsettled > 0) {
      this.#draining = true;
      this.#schedule();
      await within(new Promise<void>((resolve) => this.#idle.push(resolve)), maxMs);
    }
    this.#abandoned = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#lockedTimer);
    return this.#unsettled === 0;
  }

  #enqueue(request: SettleRequest): void {
    this.#waiting.push(request);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#flight !== undefined || this.#waiting.length === 0) return;
    if (this.#waiting.length >= BATCH_SMALL || this.#draining) return this.#fly();
    this.#timer ??= setTimeout(
      () => this.#fly(),
      Math.max(this.#options.settleMs, this.#restUntil - performance.now()),
    );
  }

  #fly(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const flownAt = performance.now();
    this.#flight = this.#write(this.#waiting.splice(0, BATCH_MAX)).finally(() => {
      this.#flight = undefined;
      const now = performance.now();
      const pauseMs = Math.min(Math.max(PAUSE_FACTOR * (now - flownAt), PAUSE_MS_MIN), PAUSE_MS_MAX);
      if (this.#options.settleMs > 0) this.#restUntil = now + pauseMs;
      if (!this.#abandoned) this.#schedule();
    });
  }

  async #write(batch: readonly SettleRequest[]): Promise<void> {
    for (let pauseMs = RETRY_FIRST_MS; !this.#abandoned; pauseMs = Math.min(pauseMs * 2, RETRY_LONGEST_MS)) {
      try {
        return await this.#writeOnce(batch);
      } catch (error) {
        if (error instanceof RefusedValueError) return await this.#isolate(batch, error);
        this.#failing = true;
        this.#options.log[levelOf(pauseMs > RETRY_FIRST_MS)]("ends of runs not written, trying again", {
          runs: batch.length,
          inMs: pauseMs,
          effect: "nothing begins until they are",
          error: errorText(error),
        });
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    }
  }

  /** One value of a batch was refused: the others must not wait for it, and its own job must not stay running. */
  async #isolate(batch: readonly SettleRequest[], error: RefusedValueError): Promise<void> {
    if (batch.length > 1) {
      for (const request of batch) await this.#write([request]);
      return;
    }
    const { settlement, done } = batch[0]!;
    const { id, run } = settlement;
    this.#options.log.error("the end of a run was refused, the job is discarded", {
      job: id,
      error: error.message,
    });
    const refused = {
      class: "error",
      message: `The database refused what the run returned: ${error.message}`,
    } as const;
    await this.#write([{ settlement: { id, run, to: "discarded", output: null, error: refused }, done }]);
  }

  async #writeOnce(batch: readonly SettleRequest[]): Promise<void> {
    const states = await this.#options.store.settle(
      this.#options.owner(),
      batch.map((each) => each.settlement),
    );
    const recovered = this.#failing;
    this.#failing = false;
    if (!states.includes("locked")) this.#lockedPauseMs = LOCKED_FIRST_MS;
    batch.forEach((request, index) => {
      const state = states[index] ?? "fenced";
      if (state === "locked") this.#putOff(request);
      else this.#finish(request, state);
    });
    if (recovered) this.#options.onRecovered();
  }

  #finish(request: SettleRequest, settled: Settled): void {
    this.#unsettled--;
    request.done(settled);
    if (this.#unsettled === 0) { for (const resolve of this.#idle.splice(0)) resolve(); }
  }

  #putOff(request: SettleRequest): void {
    this.#locked.push(request);
    this.#lockedTimer ??= setTimeout(() => {
      this.#lockedTimer = undefined;
      this.#lockedPauseMs = Math.min(this.#lockedPauseMs * 2, LOCKED_LONGEST_MS);
      for (const each of this.#locked.splice(0)) this.#enqueue(each);
    }, this.#lockedPauseMs);
  }
}
