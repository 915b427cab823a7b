/** How many threads may die early within the window before the next one has to wait. */
export const EARLY_DEATHS_MAX = 5;
const WINDOW_MS = 10_000;

/** Slows restarts down: only threads that died before a job had started in them count. */
export class RestartLimit {
  #deaths: number[] = [];

  /** A thread died before a job had started in it. */
  died(now: number): void {
    this.#deaths.push(now);
    if (this.#deaths.length > EARLY_DEATHS_MAX) this.#deaths.shift();
  }

  /** In how many ms the next thread may start; 0 is now. */
  waitMs(now: number): number {
    const oldest = this.#deaths[0];
    if (this.#deaths.length < EARLY_DEATHS_MAX || oldest === undefined) return 0;
    return Math.max(0, oldest + WINDOW_MS - now);
  }
}
