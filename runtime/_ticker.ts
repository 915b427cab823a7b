import { Pause } from "../shared/pause.ts";

/** How a {@linkcode Ticker} runs. */
export interface TickerOptions {
  /** The work. It may return in how many ms it wants to run again, if sooner than usual. */
  readonly run: () => Promise<number | void>;
  /** The longest pause between two runs, in ms. */
  readonly everyMs: number;
  /** The longest pause after a run that failed, in ms. Default the same. */
  readonly retryMs?: number;
  /**
   * The first and the longest pause after a run that failed, in ms; in between it doubles. Nobody who wakes it cuts it short:
   * work that fails at once must not be done again as fast as it is asked for. Default: {@linkcode TickerOptions.retryMs}, and
   * whoever wakes it does.
   */
  readonly restMs?: { readonly first: number; readonly longest: number };
  /** Told when a run fails, and whether the one before had failed too. */
  readonly onError?: (error: unknown, again: boolean) => void;
}

/** Repeats one piece of work, never twice at once: after a pause, or when woken. */
export class Ticker {
  readonly #options: TickerOptions;
  #stopping = false;
  #woken = false;
  #failed = false;
  /** The pause after the last run that failed; 0 after one that did not. */
  #restMs = 0;
  /** Whether nobody who wakes it cuts that short. */
  #resting = false;
  readonly #pause = new Pause();
  #loop: Promise<void> | undefined;

  constructor(options: TickerOptions) {
    this.#options = options;
  }

  /** Begins, with a first run at once. */
  start(): void {
    this.#loop ??= this.#repeat();
  }

  /** Cuts the present pause short, unless it is a rest after a failure. */
  wake(): void {
    this.#woken = true;
    if (!this.#resting) this.#pause.end();
  }

  /** What made a run fail may be over: one that failed is made again at once. */
  retry(): void {
    if (!this.#failed) return;
    this.#resting = false;
    this.wake();
  }

  /** Ends after the present run. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#resting = false;
    this.wake();
    await this.#loop;
  }

  async #repeat(): Promise<void> {
    while (!this.#stopping) {
      this.#woken = false;
      let pauseMs = this.#options.everyMs;
      this.#resting = false;
      try {
        pauseMs = Math.min(pauseMs, await this.#options.run() ?? pauseMs);
        this.#failed = false;
        this.#restMs = 0;
      } catch (error) {
        pauseMs = Math.min(pauseMs, this.#options.retryMs ?? pauseMs);
        this.#options.onError?.(error, this.#failed);
        this.#failed = true;
        const { restMs } = this.#options;
        if (restMs !== undefined && !this.#stopping) {
          this.#resting = true;
          pauseMs = this.#restMs = Math.min(Math.max(this.#restMs * 2, restMs.first), restMs.longest);
        }
      }
      if (this.#stopping || (this.#woken && !this.#resting)) continue;
      await this.#pause.for(Math.max(pauseMs, 1));
    }
  }
}
