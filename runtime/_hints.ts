import { errorText } from "../ports/error_text.ts";
import type { JobId } from "../ports/job.ts";
import type { Log } from "../ports/log.ts";
import type { Requests, Signal } from "../ports/store.ts";
import type { Timer } from "./_timer.ts";

/** The shortest time between two questions to the store, in ms. */
const ASK_MS = 50;
/** The most ids that wait for a question. Past it the store is asked whatever they are. */
const IDS_MAX = 10_000;
/** The shortest time between two wakings of one queue, in ms. */
const WAKE_MS = 2;

/** What {@linkcode Hints} need. */
export interface HintsOptions {
  /** Reads what is requested of this process. */
  readonly ask: () => Promise<Requests>;
  /** Acts on it. */
  readonly act: (requests: Requests) => void;
  /** The jobs that this process holds now. */
  readonly held: () => ReadonlySet<JobId>;
  /** Whether this process works a queue. */
  readonly works: (queue: string) => boolean;
  /** Whether it declares a kind. */
  readonly declares: (kind: string) => boolean;
  /** There may be something to claim in a queue. */
  readonly wake: (queue: string) => void;
  /** A job of a kind was put aside in a queue. */
  readonly wakeAside: (queue: string, kind: string) => void;
  /** For people. */
  readonly log: Log;
}

/**
 * Takes signals for what they are: hints that anybody may send who can log in to the database. Before a handler is aborted
 * or a queue stands still the store is asked, for all hints of 50 ms at once, and not at all when they name no job that is
 * held here. A flood of them costs a bounded number of statements, and no memory.
 */
export class Hints {
  readonly #options: HintsOptions;
  readonly #woken = new Map<string, { at: number; timer: Timer | undefined }>();
  #ids = new Set<JobId>();
  #mayBePaused = false;
  #askedAt = -Infinity;
  #timer: Timer | undefined;
  #asking = false;
  #changes = 0;
  #stopped = false;

  /** Knows of none. */
  constructor(options: HintsOptions) {
    this.#options = options;
  }

  /** Takes a signal about jobs or queues. */
  take(signal: Signal): void {
    if (this.#stopped) return;
    const { works, declares, wake, wakeAside } = this.#options;
    switch (signal.type) {
      case "ready":
        if (works(signal.queue)) this.#soon(signal.queue, () => wake(signal.queue));
        break;
      case "aside": {
        const { queue, kind } = signal;
        if (works(queue) && declares(kind)) {
          this.#soon(JSON.stringify([queue, kind]), () => wakeAside(queue, kind));
        }
        break;
      }
      case "pause":
      case "resume":
        if (works(signal.queue)) this.#mayBePaused = true;
        this.#schedule();
        break;
      case "cancel":
        if (this.#ids.size < IDS_MAX) this.#ids.add(signal.id);
        this.#schedule();
    }
  }

  /** A queue was paused or resumed here: an answer that is under way may be older. */
  changed(): void {
    this.#changes++;
  }

  /** Takes no more. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    for (const { timer } of this.#woken.values()) clearTimeout(timer);
  }

  #soon(key: string, act: () => void): void {
    const woken = this.#woken.get(key) ?? { at: -Infinity, timer: undefined };
    this.#woken.set(key, woken);
    const inMs = woken.at + WAKE_MS - performance.now();
    if (inMs <= 0) {
      woken.at = performance.now();
      return act();
    }
    woken.timer ??= setTimeout(() => {
      woken.timer = undefined;
      woken.at = performance.now();
      act();
    }, inMs);
  }

  #schedule(): void {
    if (this.#stopped || this.#asking || (this.#ids.size === 0 && !this.#mayBePaused)) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#asking = true;
      this.#ask().finally(() => {
        this.#asking = false;
        this.#schedule();
      });
    }, Math.max(0, this.#askedAt + ASK_MS - performance.now()));
  }

  async #ask(): Promise<void> {
    const { ask, act, log } = this.#options;
    const isAbout = this.#mayBePaused || this.#isHeld();
    this.#ids = new Set();
    this.#mayBePaused = false;
    this.#askedAt = performance.now();
    if (!isAbout) return;
    const changes = this.#changes;
    try {
      const requests = await ask();
      if (this.#stopped) return;
      if (changes === this.#changes) act(requests);
      else this.#mayBePaused = true;
    } catch (error) {
      log.debug("signals not looked after, the next heartbeat does", { error: errorText(error) });
    }
  }

  #isHeld(): boolean {
    if (this.#ids.size >= IDS_MAX) return true;
    const held = this.#options.held();
    return [...this.#ids].some((id) => held.has(id));
  }
}
