import type { RunRef } from "../../../ports/store.ts";

/**
 * An array as PostgreSQL's array literal, for a placeholder such as `$1::text::bigint[]`. Parameters are text only:
 * a driver that binds arrays by itself would have to ask the server for its array types first.
 */
export function arrayLiteral(values: Iterable<string | number | boolean | null>): string {
  const parts: string[] = [];
  for (const value of values) {
    if (value === null) parts.push("NULL");
    else if (typeof value === "string") parts.push(`"${escaped(value)}"`);
    else parts.push(String(value));
  }
  return `{${parts.join(",")}}`;
}

/** Two passes for plain texts take half as long as one with a pattern, and bulk inserts have long texts. */
function escaped(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"');
}

/** The ids and the runs of runs as array literals, for `$1::text::bigint[], $2::text::int[]`. */
export function refColumns(runs: readonly RunRef[]): [ids: string, runs: string] {
  return [`{${runs.map((run) => run.id).join(",")}}`, `{${runs.map((run) => run.run).join(",")}}`];
}

/** SQL for the first instant that is taken. The bounds are those of `instantText()` of the ports, to the microsecond. */
export const EARLIEST: string = "timestamptz '0001-01-01 00:00:00+00'";
/** SQL for the last one. */
export const LATEST: string = "timestamptz '9999-12-31 23:59:59.999999+00'";

/**
 * SQL for a timestamp as ISO 8601 text in UTC with microseconds, whatever the session's time zone. What lies outside of
 * the years 1 to 9999, as somebody's SQL may have it ("infinity"), is told as the first or last instant of these.
 */
export function isoSql(expression: string): string {
  return `case
      when ${expression} < ${EARLIEST} then '0001-01-01T00:00:00.000000Z'
      when ${expression} > ${LATEST} then '9999-12-31T23:59:59.999999Z'
      else ${plainIsoSql(expression)}
    end`;
}

/**
 * SQL for a timestamp as a place in an order of instants, which PostgreSQL reads and which compares as text: what lies before
 * the year 1 is the very beginning, so that nothing lies behind it.
 */
export function placeSql(expression: string): string {
  return `case when ${expression} < ${EARLIEST} then '-infinity' else ${plainIsoSql(expression)} end`;
}

function plainIsoSql(expression: string): string {
  return `to_char(${expression} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}

/** SQL for the present of the database's clock, as {@linkcode isoSql} writes it. */
export const NOW_ISO: string = plainIsoSql("clock_timestamp()");

/** SQL for a timestamp as ms since the epoch. */
export function epochMsSql(expression: string): string {
  return `(extract(epoch from ${expression}) * 1000)::float8`;
}

/** Whether a text can be the id of a job: a positive bigint. Anything else names no job. */
export function isJobId(id: unknown): id is string {
  if (typeof id !== "string" || !/^[1-9]\d{0,18}$/.test(id)) return false;
  return id.length < 19 || id <= "9223372036854775807";
}

/** A text as a constant in SQL, where there can be no parameter. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Text that PostgreSQL can store: U+0000 and half surrogate pairs are replaced by U+FFFD. */
export function storableText(text: string): string {
  return text.replaceAll("\0", "\uFFFD").toWellFormed();
}
