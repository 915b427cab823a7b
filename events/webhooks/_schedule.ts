const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** How many attempts a delivery has. With the delays between them that is about 5.3 days. */
export const ATTEMPTS_MAX = 18;

/** The longest time that a receiver's Retry-After is followed, in ms. */
export const RETRY_AFTER_MS_MAX: number = 10 * HOUR;

const DELAYS: readonly number[] = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR];

/** How long a delivery waits after its failed attempt `attempt` (1 is the first), in ms. */
export function deliveryDelayMs(attempt: number): number {
  return DELAYS[Math.min(Math.max(attempt, 1), DELAYS.length) - 1]!;
}
