/** What holds for whatever is drawn. A failure tells the seed and the smallest example. */
export interface Property {
  /** The sentence. */
  readonly name: string;
  /** How many draws `deno task test` makes. The slow variant makes {@linkcode SLOW_TIMES} as many. */
  readonly runs: number;
  /** Checks it on so many draws; throws when it does not hold. */
  check(numRuns: number): Promise<void> | void;
}

/** How many times as many draws the slow variant makes. */
export const SLOW_TIMES = 30;
