/** How long `stop()` may take beyond its grace, in ms: the executor's own grace, and the last writes. */
const EXTRA_MS = 2800;
/** The part of that which is kept for the last writes, in ms. What is not written is rescued by another process. */
const DRAIN_MS = 600;
/** How long each step of the end is waited for, in ms: at most, and when the time of `stop()` is used up. */
const CLOSE_MS = 1000;
const CLOSE_MS_MIN = 40;

/** Divides the time of a runtime's end. */
export class StopDeadline {
  readonly #at: number;

  /** Begins now. */
  constructor(
    /** How long running handlers are let be, in ms. */
    readonly graceMs: number,
  ) {
    this.#at = performance.now() + graceMs + EXTRA_MS;
  }

  /** How long handlers are waited for that were told to end, in ms. */
  get workMs(): number {
    return this.#at - DRAIN_MS - performance.now();
  }

  /** How long the last writes may take, in ms. */
  get drainMs(): number {
    return Math.max(DRAIN_MS, this.#at - performance.now());
  }

  /** How long the next step of the end may take, in ms. Without a database every step would take all of its time. */
  get closeMs(): number {
    return Math.min(CLOSE_MS, Math.max(CLOSE_MS_MIN, this.#at - performance.now()));
  }
}
