const DAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)";
const MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)";
const TIME = "\\d\\d:\\d\\d:\\d\\d";
/** The three forms of a date in HTTP. `Date.parse` alone would take far more for a date, `abc 1` among it. */
const HTTP_DATES: readonly RegExp[] = [
  new RegExp(`^${DAY}, \\d\\d ${MONTH} \\d{4} ${TIME} GMT$`),
  new RegExp(`^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, \\d\\d-${MONTH}-\\d\\d ${TIME} GMT$`),
  new RegExp(`^${DAY} ${MONTH} [ \\d]\\d ${TIME} \\d{4}$`),
];

/**
 * How long a receiver asked to be left alone, in ms, at most `maxMs`: the longest of its Retry-After headers that can
 * be read, seconds or a date. Null when none asks for a time ahead; nonsense is as good as nothing.
 */
export function retryAfterMs(values: readonly string[], nowMs: number, maxMs: number): number | null {
  let longest = 0;
  for (const value of values) longest = Math.max(longest, one(value.trim(), nowMs));
  return longest > 0 ? Math.min(longest, maxMs) : null;
}

function one(value: string, nowMs: number): number {
  if (/^\d{1,20}$/.test(value)) return Number(value) * 1000;
  const form = HTTP_DATES.findIndex((pattern) => pattern.test(value));
  if (form === -1) return 0;
  // Only the third form says nothing of its zone, which is GMT in all of them.
  const ms = Date.parse(form === 2 ? `${value} GMT` : value);
  return Number.isNaN(ms) ? 0 : ms - nowMs;
}
