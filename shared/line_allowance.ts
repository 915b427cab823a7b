/** How many lines a log gets about many of one sort: some at once, and then one every so often. */
export class LineAllowance {
  readonly #burst: number;
  readonly #everyMs: number;
  /** When the lines that were written will have had their share of time. */
  #saidUntil = -Infinity;
  #withheld = 0;

  /** All lines of the burst are left. */
  constructor(burst: number, everyMs: number) {
    this.#burst = burst;
    this.#everyMs = everyMs;
  }

  /** Takes one line: how many were withheld since the last one; null when this one is, too. */
  take(): number | null {
    const now = performance.now();
    if (this.#saidUntil - (this.#burst - 1) * this.#everyMs > now) {
      this.#withheld++;
      return null;
    }
    const withheld = this.#withheld;
    this.#saidUntil = Math.max(this.#saidUntil, now) + this.#everyMs;
    this.#withheld = 0;
    return withheld;
  }
}
