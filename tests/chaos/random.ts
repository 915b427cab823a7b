/** Numbers that a seed determines, so that a run's plan can be made again. */
export class Random {
  #state: number;

  /** The same seed gives the same numbers. */
  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 up to 1. */
  next(): number {
    // Mulberry32.
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** An integer from `least` to `most`, both included. */
  integer(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  /** Whether something happens that has this probability. */
  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** One of several, each as likely. */
  pick<T>(items: readonly T[]): T {
    return items[this.integer(0, items.length - 1)]!;
  }

  /** One of several by their weights. */
  weighted<T extends { readonly weight: number }>(items: readonly T[]): T {
    let at = this.next() * items.reduce((sum, item) => sum + item.weight, 0);
    for (const item of items) {
      at -= item.weight;
      if (at < 0) return item;
    }
    return items.at(-1)!;
  }

  /** Another sequence of its own, so that one part of a run does not change what another one draws. */
  fork(): Random {
    return new Random(this.integer(0, 2 ** 32 - 1));
  }
}
