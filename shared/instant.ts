import { InvalidOptionError } from "../ports/errors.ts";

const EARLIEST_MS = Date.parse("0001-01-01T00:00:00.000Z");
const LATEST_MS = Date.parse("9999-12-31T23:59:59.999Z");

/**
 * An instant as ISO 8601, as a database reads it. `option` names it in the message. JavaScript knows earlier and later ones,
 * and writes them in a way that others can't read.
 *
 * @throws {InvalidOptionError} it is no Date, or none of the years 1 to 9999.
 */
export function instantText(option: string, instant: Date): string {
  const ms = instant instanceof Date ? instant.getTime() : NaN;
  if (ms >= EARLIEST_MS && ms <= LATEST_MS) return new Date(ms).toISOString();
  throw new InvalidOptionError(option, instant, "a Date from the year 1 to the year 9999");
}
