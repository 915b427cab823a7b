import { Cron } from "./driver.ts";
import { InvalidOptionError } from "../../ports/errors.ts";

const EXPECTED = 'five fields, six with seconds first, or a nickname, such as "30 1 * * *" or "@daily"';

const NICKNAMES: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};

const MONTH = "(?:\\d+|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)";
const WEEKDAY = "(?:\\d|sun|mon|tue|wed|thu|fri|sat)";

/** A field: a list of `*`, `*` with a step, values, and ranges with or without a step; and what else it may hold. */
function field(value: string, ...others: readonly string[]): RegExp {
  const entry = ["\\*(?:/\\d+)?", `${value}(?:-${value}(?:/\\d+)?)?`, ...others].join("|");
  return new RegExp(`^(?:${entry})(?:,(?:${entry}))*$`, "i");
}

/** In the order of an expression. croner reads more than is documented, and some of it differently than it looks. */
const FIELDS: readonly { readonly name: string; readonly grammar: RegExp }[] = [
  { name: "seconds", grammar: field("\\d+") },
  { name: "minutes", grammar: field("\\d+") },
  { name: "hours", grammar: field("\\d+") },
  { name: "days of the month", grammar: field("\\d+", "L", "LW", "\\d+W") },
  { name: "months", grammar: field(MONTH) },
  { name: "days of the week", grammar: field(WEEKDAY, `${WEEKDAY}#[1-5]`, `${WEEKDAY}#?L`) },
];

/** A cron expression over local times, whatever zone they are of. A local time is ms, counted as if it were UTC. */
export interface Expression {
  /** Whether its hours are not fixed: `*`, or a step of it. */
  readonly isAnyHour: boolean;
  /** The first local time after another one; null when there is none. */
  next(afterMs: number): number | null;
}

/** Those that were parsed: it takes ten times as long as to find a time. */
const parsed = new Map<string, Expression>();
const PARSED_MAX = 1000;

/**
 * Reads an expression.
 *
 * @throws {InvalidOptionError} it is none.
 */
export function parseExpression(cron: string): Expression {
  const known = parsed.get(cron);
  if (known !== undefined) return known;
  const fields = fieldsOf(cron);
  let calendar: Cron;
  try {
    calendar = new Cron(fields.join(" "), { utcOffset: 0, paused: true });
  } catch (error) {
    throw refused(cron, error instanceof Error ? error.message : String(error));
  }
  const expression: Expression = {
    isAnyHour: fields[2]!.includes("*"),
    next: (afterMs) => nextTime(calendar, afterMs),
  };
  if (parsed.size >= PARSED_MAX) parsed.clear();
  parsed.set(cron, expression);
  return expression;
}

/**
 * croner calls itself for each month in which it finds no day, up to the year 10000: where no month has one, such as for a
 * 31st of April or June, that is more calls than the stack holds.
 */
function nextTime(calendar: Cron, afterMs: number): number | null {
  try {
    return calendar.nextRun(new Date(afterMs))?.getTime() ?? null;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** The six fields, seconds first. */
function fieldsOf(cron: string): string[] {
  if (typeof cron !== "string") throw refused(cron);
  const text = cron.trim();
  const fields = (text.startsWith("@") ? NICKNAMES[text.toLowerCase()] ?? "" : text).split(/\s+/);
  if (fields.length === 5) fields.unshift("0");
  if (fields.length !== 6) throw refused(cron);
  withoutQuestionMarks(cron, fields);
  FIELDS.forEach(({ name, grammar }, place) => {
    if (!grammar.test(fields[place]!)) throw refused(cron, `${fields[place]} can't be read as ${name}`);
  });
  return fields;
}

/** In Quartz `?` says of one of the two day fields that the other one decides. */
function withoutQuestionMarks(cron: string, fields: string[]): void {
  const [dayOfMonth, dayOfWeek] = [fields[3], fields[5]];
  if (dayOfMonth === "?" && dayOfWeek === "?") throw refused(cron, "only one of the two day fields may be ?");
  if (dayOfMonth === "?") {
    // Quartz counts days of the week from Sunday as 1, cron from Sunday as 0.
    if (/(^|[^#\d/])\d/.test(dayOfWeek!)) {
      throw refused(cron, "beside ? the days of the week are named, such as MON-FRI or FRI#2");
    }
    fields[3] = "*";
  }
  if (dayOfWeek === "?") fields[5] = "*";
}

function refused(cron: unknown, why?: string): InvalidOptionError {
  return new InvalidOptionError("cron", cron, why === undefined ? EXPECTED : `${EXPECTED} (${why})`);
}
