import { errorText } from "../ports/error_text.ts";
import type { Log } from "../ports/log.ts";
import type { Settled as StoredEnd, Settlement, Store } from "../ports/store.ts";
import type { Upkeep, UpkeepTask } from "../ports/upkeep.ts";
import { isOfOthers, isOutage, tookTooLong } from "../shared/outage.ts";
import { Pause } from "../shared/pause.ts";
import { refusesText } from "../shared/refused_text.ts";
import { levelOf } from "./_level_of.ts";
import { asciiSettlement } from "./_refused_text.ts";
import { SetAside } from "./_set_aside.ts";
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
/** How often a conflict, or a wait for a lock that took too long, is tried before it counts as a refusal. */
const CONFLICTS_MAX = 3;
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
  /** Told when the database has refused it: nobody should wait for it. */
  readonly refused?: (() => void) | undefined;
  /** What is written instead when the store can't hold its output: the attempt has failed. */
  readonly withoutOutput?: ((reason: string) => Settlement) | undefined;
}

/** How long the first end of a batch waits for others at least, in ms. */
const SETTLE_MS = 2;

/** What a {@linkcode Settler} needs. */
export interface SettlerOptions {
  /** Where it writes. */
  readonly store: Store;
  /** The first pause before a refused end is tried again, in ms; it doubles each time. Default 1,000. */
  readonly asideMs?: number;
  /** Told when ends are written again, after they could not be. */
  readonly onRecovered: () => void;
  /** Where it is recorded whether ends can be written. */
  readonly upkeep: Upkeep;
  /** For what goes wrong. */
  readonly log: Log;
}

/**
 * Writes the ends of runs, many in one statement: what ends within a few ms, or while an earlier batch is under way. A
 * statement that ends few costs as much as one that ends many, so between such there is a pause.
 *
 * Every write is fenced by (id, run), so sending one again is harmless. While the database can't be reached a batch is
 * sent again and again: a job that finished in an outage is recorded after it. A batch that the database refuses is
 * halved until the ends that are to blame stand alone; these are set aside, and the others go on. A batch that took too
 * long is set aside as a whole and tried singly: each half could take as long again. A row that another
 * transaction holds is come back for, and holds up nobody else.
 */
export class Settler {
  readonly #options: SettlerOptions;
  readonly #aside: SetAside<SettleRequest>;
  readonly #writing: UpkeepTask;
  readonly #retrying: UpkeepTask;
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
  /** Before a batch, or an end that was set aside, is sent again. */
  readonly #pause = new Pause();
  #draining = false;
  #abandoned = false;

  constructor(options: SettlerOptions) {
    this.#options = options;
    this.#writing = options.upkeep.task("write the ends of runs", {
      everyMs: Infinity,
      scope: "process",
      failing: "ends of runs not written, trying again",
    });
    this.#retrying = options.upkeep.task("write refused ends of runs", {
      everyMs: Infinity,
      scope: "process",
      failing: "the end of a run is refused",
    });
    this.#aside = new SetAside({
      firstMs: options.asideMs,
      attempt: async (request) => {
        const error = await this.#send([request]);
        if (error !== undefined) this.#retrying.failed(error, { told: true });
        // Given up is not written.
        else if (this.#aside.size <= 1 && !this.#abandoned) this.#retrying.succeeded();
        return error;
      },
      refOf: ({ settlement: { id, run, to } }) => ({ jobId: id, run, to }),
      onFewer: options.onRecovered,
      log: options.log,
    });
  }

  /** How many are not written yet. */
  get backlog(): number {
    return this.#unsettled;
  }

  /** How many of them the database has refused. */
  get refused(): number {
    return this.#aside.size;
  }

  /** Whether nothing should begin now: what ends meanwhile would be lost with this process. */
  get failing(): boolean {
    return this.#failing || this.#aside.full;
  }

  /** Writes the end of a run. */
  add(
    settlement: Settlement,
    done: (settled: Settled) => void,
    hooks: Pick<SettleRequest, "refused" | "withoutOutput"> = {},
  ): void {
    this.#unsettled++;
    this.#enqueue({ ...hooks, settlement, done });
  }

  /**
   * Resolves when all is written: true, or false when that took too long and the rest is given up. What was refused is
   * tried once more.
   */
  async drain(maxMs: number): Promise<boolean> {
    if (this.#unsettled > 0) {
      this.#draining = true;
      this.#schedule();
      await within(Promise.all([this.#othersWritten(), this.#aside.drain()]), maxMs);
    }
    this.#abandoned = true;
    this.#aside.stop();
    clearTimeout(this.#timer);
    clearTimeout(this.#lockedTimer);
    return this.#unsettled === 0;
  }

  /** Resolves when nothing is left but what was refused. */
  async #othersWritten(): Promise<void> {
    if (this.#unsettled > this.#aside.size) {
      await new Promise<void>((resolve) => this.#idle.push(resolve));
    }
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
      Math.max(SETTLE_MS, this.#restUntil - performance.now()),
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
      this.#restUntil = now + pauseMs;
      if (!this.#abandoned) this.#schedule();
    });
  }

  /** Writes a batch; what the database refuses of it is set aside. */
  async #write(batch: readonly SettleRequest[]): Promise<void> {
    const error = await this.#send(batch);
    if (error === undefined) return;
    if (batch.length === 1) {
      this.#aside.add(batch[0]!, error);
      this.#retrying.failed(error, { told: true });
      batch[0]!.refused?.();
      return this.#noteIdle();
    }
    if (tookTooLong(error)) return this.#trySingly(batch, error);
    const half = batch.length >> 1;
    await this.#write(batch.slice(0, half));
    await this.#write(batch.slice(half));
  }

  #trySingly(batch: readonly SettleRequest[], error: unknown): void {
    this.#retrying.failed(error, { told: true });
    this.#options.log.warn(
      "ends of runs took too long to write, they are tried singly and the others go on",
      {
        runs: batch.length,
        error: errorText(error),
      },
    );
    for (const request of batch) {
      this.#aside.add(request);
      request.refused?.();
    }
    this.#noteIdle();
  }

  /** Sends a batch until the database has answered; resolves to the error when it refused. */
  async #send(batch: readonly SettleRequest[]): Promise<unknown> {
    let conflicts = 0;
    for (let pauseMs = RETRY_FIRST_MS; !this.#abandoned; pauseMs = Math.min(pauseMs * 2, RETRY_LONGEST_MS)) {
      try {
        return await this.#writeOnce(batch);
      } catch (error) {
        if (isOutage(error)) this.#noteOutage(batch.length, pauseMs, error);
        else if (!isOfOthers(error) || tookTooLong(error) || ++conflicts >= CONFLICTS_MAX) {
          return await this.#sendWhatCanBeStored(batch, error);
        }
        await this.#pause.for(pauseMs);
      }
    }
  }

  /** The store answers again, after it did not: what waits to be sent again goes now. */
  retry(): void {
    this.#pause.end();
  }

  #noteOutage(runs: number, inMs: number, error: unknown): void {
    this.#failing = true;
    this.#writing.failed(error, { told: true });
    this.#options.log[levelOf(inMs > RETRY_FIRST_MS)]("ends of runs not written, trying again", {
      runs,
      inMs,
      effect: "nothing begins until they are",
      error: errorText(error),
    });
  }

  /** The words of an error must not decide what becomes of a job, nor must an output keep it from ending. */
  async #sendWhatCanBeStored(batch: readonly SettleRequest[], error: unknown): Promise<unknown> {
    const request = batch[0]!;
    if (batch.length > 1 || !refusesText(error)) return error;
    const { settlement, withoutOutput } = request;
    const ascii = asciiSettlement(settlement);
    if (ascii !== undefined) return await this.#send([{ ...request, settlement: ascii }]);
    if (!("output" in settlement) || settlement.output === null || withoutOutput === undefined) return error;
    const reason = `The database can't store what the handler returned: ${errorText(error)}`;
    this.#options.log.warn("output not stored, the attempt counts as failed", {
      jobId: settlement.id,
      run: settlement.run,
      error: errorText(error),
    });
    return await this.#send([
      { ...request, settlement: withoutOutput(reason), withoutOutput: undefined },
    ]);
  }

  async #writeOnce(batch: readonly SettleRequest[]): Promise<undefined> {
    const states = await this.#options.store.settle(
      batch.map((each) => each.settlement),
    );
    const recovered = this.#failing;
    this.#failing = false;
    this.#writing.succeeded();
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
    this.#noteIdle();
  }

  #noteIdle(): void {
    if (this.#unsettled > this.#aside.size) return;
    for (const resolve of this.#idle.splice(0)) resolve();
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
