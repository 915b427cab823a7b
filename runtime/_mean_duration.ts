/** How much one run weighs in the mean of the latest. */
const WEIGHT = 0.05;

/** The mean duration of the latest runs. */
export class MeanDuration {
  #ms = Infinity;

  /** In ms; `Infinity` before the first run. */
  get ms(): number {
    return this.#ms;
  }

  /** A run took so many ms. */
  note(ms: number): void {
    const mean = Number.isFinite(this.#ms) ? this.#ms + WEIGHT * (ms - this.#ms) : ms;
    this.#ms = Math.max(mean, 0.01);
  }
}
