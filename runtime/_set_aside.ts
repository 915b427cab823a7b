import { errorText } from "../ports/error_text.ts";
import { sqlStateOf } from "../ports/errors.ts";
import type { Log } from "../ports/log.ts";
import { LineAllowance } from "../shared/line_allowance.ts";
import type { Timer } from "./_timer.ts";

const FIRST_MS = 1000;
const LONGEST_MS = 60_000;
/** With so many nothing more begins: each holds its output, and they would be lost with this process. */
const SIZE_MAX = 1000;
/** Each is told of at its first refusal and then every 10 min; of many, 5 at once and then one every 10 s. */
const SAY_AGAIN_MS = 600_000;
const SAY_BURST = 5;
const SAY_EVERY_MS = 10_000;

/** What {@linkcode SetAside} needs. */
export interface SetAsideOptions<T> {
  /** The first pause, in ms. Default 1,000. */
  readonly firstMs?: number | undefined;
  /** Tries one again: resolves to undefined when that is done with, to the error when it was refused once more. */
  readonly attempt: (entry: T) => Promise<unknown>;
  /** What a line of the log says about one. */
  readonly refOf: (entry: T) => Readonly<Record<string, string | number>>;
  /** Told when there is room again. */
  readonly onFewer: () => void;
  /** For people. */
  readonly log: Log;
}

interface Entry<T> {
  readonly value: T;
  pauseMs: number;
  dueAt: number;
  saidAt: number;
}

/**
 * What the database refuses, each tried again by itself after a pause that doubles from 1 s to 1 min. When one gets
 * through the cause may be gone, so the others are tried at once.
 */
export class SetAside<T> {
  readonly #options: SetAsideOptions<T>;
  readonly #entries = new Set<Entry<T>>();
  #timer: Timer | undefined;
  #timerAt = Infinity;
  #trying: Promise<void> | undefined;
  readonly #lines = new LineAllowance(SAY_BURST, SAY_EVERY_MS);
  #stopped = false;

  /** Holds nothing yet. */
  constructor(options: SetAsideOptions<T>) {
    this.#options = options;
  }

  /** How many there are. */
  get size(): number {
    return this.#entries.size;
  }

  /** Whether there are so many that nothing more should begin. */
  get full(): boolean {
    return this.#entries.size >= SIZE_MAX;
  }

  /** Sets one aside with the error that it met; without one it may be innocent, and is tried at once. */
  add(value: T, error?: unknown): void {
    const pauseMs = this.#options.firstMs ?? FIRST_MS;
    const dueAt = performance.now() + (error === undefined ? 0 : pauseMs);
    const entry = { value, pauseMs, dueAt, saidAt: -Infinity };
    this.#entries.add(entry);
    if (error !== undefined) this.#say(entry, error);
    if (this.#entries.size === SIZE_MAX) {
      this.#options.log.error("so many ends of runs are refused that nothing more begins", {
        refused: SIZE_MAX,
      });
    }
    if (entry.dueAt < this.#timerAt) this.#schedule();
  }

  /** Tries each once more, now, and no more after that. */
  async drain(): Promise<void> {
    // No timer may try one at the same moment: it would be done twice.
    this.stop();
    await this.#trying;
    for (const entry of this.#entries) await this.#try(entry);
  }

  /** Tries no more. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    if (this.#stopped || this.#trying !== undefined || this.#entries.size === 0) return;
    clearTimeout(this.#timer);
    this.#timerAt = Math.min(...[...this.#entries].map((entry) => entry.dueAt));
    this.#timer = setTimeout(() => {
      this.#timerAt = Infinity;
      this.#trying = this.#tryDue().finally(() => {
        this.#trying = undefined;
        this.#schedule();
      });
    }, Math.max(1, this.#timerAt - performance.now()));
  }

  /** One after the other, beside all else: they take one connection at most. */
  async #tryDue(): Promise<void> {
    const now = performance.now();
    for (const entry of [...this.#entries]) {
      if (this.#stopped) return;
      if (entry.dueAt <= now) await this.#try(entry);
    }
  }

  async #try(entry: Entry<T>): Promise<void> {
    const error = await this.#options.attempt(entry.value);
    if (error === undefined) return this.#done(entry);
    entry.pauseMs = Math.min(entry.pauseMs * 2, LONGEST_MS);
    entry.dueAt = performance.now() + entry.pauseMs;
    this.#say(entry, error);
  }

  #done(entry: Entry<T>): void {
    const wasFull = this.full;
    this.#entries.delete(entry);
    const now = performance.now();
    for (const other of this.#entries) other.dueAt = now;
    if (wasFull && !this.full) this.#options.onFewer();
  }

  #say(entry: Entry<T>, error: unknown): void {
    const now = performance.now();
    if (now - entry.saidAt < SAY_AGAIN_MS) return;
    const notLogged = this.#lines.take();
    if (notLogged === null) return;
    this.#options.log.error("the database refuses the end of a run, it is tried again and the others go on", {
      ...this.#options.refOf(entry.value),
      sqlState: sqlStateOf(error) ?? "none",
      inMs: entry.pauseMs,
      refused: this.#entries.size,
      notLogged,
      error: errorText(error),
    });
    entry.saidAt = now;
  }
}
