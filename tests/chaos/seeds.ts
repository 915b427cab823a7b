/** One run that a seed determines. */
export interface FixedRun {
  /** What determines it. */
  readonly seed: number;
  /** For how long faults are made, in s. */
  readonly seconds: number;
  /** Whether a standby follows the server and may take its place. */
  readonly pair: boolean;
}

/** The runs of `deno task test:chaos`. */
export const FIXED_SEEDS: readonly FixedRun[] = [
  { seed: 1, seconds: 30, pair: false },
  { seed: 35, seconds: 30, pair: false },
  { seed: 36, seconds: 30, pair: true },
];
