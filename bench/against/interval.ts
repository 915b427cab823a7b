import { median } from "../figures.ts";

/** A median and where it lies, with 95 % confidence. */
export interface Interval {
  /** The median of the sample. */
  readonly median: number;
  /** The lower end; -Infinity when the sample is too small to say. */
  readonly low: number;
  /** The upper end; Infinity when the sample is too small to say. */
  readonly high: number;
}

const CONFIDENCE = 0.95;

/**
 * The median of some numbers with its 95 % interval. The ends are order statistics of the sample, so nothing is assumed
 * of the distribution: half of all values lie below the median, and how many of n do is binomial. Fewer than 6 numbers
 * bound nothing.
 *
 * Source: W. J. Conover, Practical Nonparametric Statistics, 3rd edition, section 3.2.
 */
export function intervalOf(numbers: readonly number[]): Interval {
  const sorted = numbers.toSorted((one, other) => one - other);
  const outside = outsideCount(sorted.length);
  return {
    median: median(numbers),
    low: outside === 0 ? -Infinity : sorted[outside - 1]!,
    high: outside === 0 ? Infinity : sorted[sorted.length - outside]!,
  };
}

/** The rank from either end, counted from 1, that bounds the median; 0 when no rank does. */
function outsideCount(count: number): number {
  let below = 0;
  let ways = 1;
  for (let rank = 0; rank < count / 2; rank++) {
    below += ways / 2 ** count;
    if (2 * below > 1 - CONFIDENCE) return rank;
    ways = ways * (count - rank) / (rank + 1);
  }
  return Math.floor(count / 2);
}
