import { DELAY_MS_MAX } from "../ports/limits.ts";
import type { LogFields } from "../ports/log.ts";

/** How much of what a handler prints, logs and tells is taken. What is longer is cut, and says so. */

/** The longest line of output, in bytes where it comes from a process and UTF-16 code units elsewhere: 16 KiB. */
export const LINE_MAX: number = 16 * 1024;

/** The longest text in a line of `ctx.log`, in UTF-16 code units: 8 KiB. */
export const LOG_TEXT_MAX: number = 8 * 1024;

/** The most fields of a line of `ctx.log`. */
export const LOG_FIELDS_MAX: number = 50;

/** The longest line of `ctx.log` in all, in UTF-16 code units: 32 KiB. */
export const LOG_LINE_MAX: number = 32 * 1024;

/** How often an attempt's progress is told at most, in ms: the newest counts. */
export const PROGRESS_MS: number = 50;

/** As much as a cut text says of its length: what was cut once is not cut again. */
const CUT_ROOM = 64;

/** A text cut to `max` UTF-16 code units, with a word on how long it was. */
export function cutText(text: string, max: number): string {
  if (text.length <= max + CUT_ROOM) return text;
  return `${text.slice(0, max).toWellFormed()}... (cut, ${text.length} characters)`;
}

/** How many fields may be beside the handler's own: its kind, its job, how many were left out. */
const OWN_FIELDS = 8;
/** And how long they may be in all. */
const OWN_FIELDS_LENGTH = 2048;

/**
 * Fields as a log takes them: plain values, neither too many nor too long. A function would not cross a thread's border.
 *
 * @param again Whether they were bounded before, and fields of ours are among them.
 */
export function boundedFields(fields: object | null | undefined, again: boolean = false): LogFields {
  const bounded: Record<string, string | number | boolean | null | undefined> = {};
  const max = again ? LOG_FIELDS_MAX + OWN_FIELDS : LOG_FIELDS_MAX;
  let left = again ? LOG_LINE_MAX + OWN_FIELDS_LENGTH : LOG_LINE_MAX;
  let count = 0;
  let leftOut = 0;
  for (const [name, value] of Object.entries(fields ?? {})) {
    if (++count > max || name.length >= left) {
      leftOut++;
      continue;
    }
    const type = typeof value;
    const plain = type === "number" || type === "boolean" || value === null
      ? value
      : cutText(String(value), Math.min(LOG_TEXT_MAX, left - name.length));
    bounded[name] = plain;
    left -= name.length + (typeof plain === "string" ? plain.length : 8);
  }
  if (leftOut > 0) bounded["fieldsLeftOut"] = leftOut;
  return bounded;
}

/** How long a line of the log is, about. */
export function fieldsLength(event: string, fields: LogFields): number {
  let length = event.length;
  for (const [name, value] of Object.entries(fields)) {
    length += name.length + (typeof value === "string" ? value.length : 8);
  }
  return length;
}

/** The delay of a snooze within what is accepted. */
export function boundedDelay(delayMs: unknown): number {
  const delay = Number(delayMs);
  return delay > 0 ? Math.min(Math.ceil(delay), DELAY_MS_MAX) : 0;
}
