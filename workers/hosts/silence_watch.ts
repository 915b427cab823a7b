/** How late a look may be. Whoever looks later than that did not read either, so silence proves nothing. */
const LATE_MS = 1000;

/** Tells for how long a process has been silent while this one was listening. */
export class SilenceWatch {
  #lookedAt = -Infinity;
  #since = 0;

  /** A look begins at `now`, in ms of `performance.now()`. One that is late starts the watch anew. */
  look(now: number): void {
    if (now - this.#lookedAt > LATE_MS) this.#since = now;
    this.#lookedAt = now;
  }

  /** For how long, in ms at the last look, a process has been silent that last told something at `heardAt`. */
  silentMs(heardAt: number): number {
    return this.#lookedAt - Math.max(heardAt, this.#since);
  }
}
