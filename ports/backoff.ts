import { InvalidOptionError } from "./errors.ts";

/** Says how long a job waits after a failed attempt. */
export type Backoff = (attempt: number) => number;

const FIRST_MS = 1000;
const LONGEST_MS = 15 * 60 * 1000;

/**
 * The delay after failed attempt `attempt` (1 is the first), in ms: 1 s, doubling, at most 15 min.
 * The runtime adds a jitter of +-10 %, so that what failed together does not come back together.
 *
 * @example
 * ```ts
 * import { DefaultBackoff } from "@millrace/millrace";
 * DefaultBackoff(3); // 4000
 * ```
 *
 * @throws {InvalidOptionError} the attempt is no number.
 */
export function DefaultBackoff(attempt: number): number {
  if (typeof attempt !== "number" || Number.isNaN(attempt)) {
    throw new InvalidOptionError("attempt", attempt, "a number from 1");
  }
  // 2^10 s is past the cap already; without the bound a huge attempt would overflow to Infinity.
  const doublings = Math.min(Math.max(attempt - 1, 0), 10);
  return Math.min(FIRST_MS * 2 ** doublings, LONGEST_MS);
}
