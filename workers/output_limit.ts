/** How many lines of handlers one thread, and one host process, is let print and log each second. */
export const LINES_PER_SECOND = 10_000;
/** And how much in all, in bytes or UTF-16 code units. */
export const LENGTH_PER_SECOND: number = 8 * 1024 * 1024;

const TELL_MS = 1000;

// A handler may replace it.
const setTimer = setTimeout;

/** Lets lines pass at a bounded rate. What is beyond is dropped, and how much of it is told once a second. */
export class OutputLimit {
  #tell: (dropped: number) => void;
  #lines = LINES_PER_SECOND;
  #length = LENGTH_PER_SECOND;
  #at = performance.now();
  #dropped = 0;

  /** Tells `tell` how many lines were dropped. */
  constructor(tell: (dropped: number) => void) {
    this.#tell = tell;
  }

  /** Whether a line of this length passes now. */
  passes(length: number): boolean {
    const now = performance.now();
    const seconds = (now - this.#at) / 1000;
    this.#at = now;
    this.#lines = Math.min(LINES_PER_SECOND, this.#lines + seconds * LINES_PER_SECOND);
    this.#length = Math.min(LENGTH_PER_SECOND, this.#length + seconds * LENGTH_PER_SECOND);
    if (this.#lines >= 1 && this.#length >= length) {
      this.#lines--;
      this.#length -= length;
      return true;
    }
    if (this.#dropped++ === 0) Deno.unrefTimer(setTimer(() => this.flush(), TELL_MS));
    return false;
  }

  /** Tells what was dropped so far. */
  flush(): void {
    const dropped = this.#dropped;
    this.#dropped = 0;
    if (dropped > 0) this.#tell(dropped);
  }
}
