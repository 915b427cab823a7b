const WIDTH = 40;

/** A bar that moves in a terminal; elsewhere a line at each quarter. */
export class ProgressBar {
  readonly #total: number;
  readonly #write: (text: string) => void;
  readonly #moves: boolean;
  #quarters = 0;

  /** Takes what the end is, where to write, and whether that is a terminal. */
  constructor(total: number, write: (text: string) => void, moves: boolean) {
    this.#total = total;
    this.#write = write;
    this.#moves = moves;
  }

  /** Shows how much is done. */
  show(done: number): void {
    const share = this.#total === 0 ? 1 : done / this.#total;
    if (this.#moves) {
      const filled = Math.round(share * WIDTH);
      const bar = "#".repeat(filled) + "-".repeat(WIDTH - filled);
      this.#write(`\r[${bar}] ${done} of ${this.#total}${done >= this.#total ? "\n" : ""}`);
      return;
    }
    const quarters = Math.floor(share * 4);
    if (quarters > this.#quarters) this.#write(`${quarters * 25} %: ${done} of ${this.#total} files\n`);
    this.#quarters = quarters;
  }
}
