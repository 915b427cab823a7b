import type { Log, LogFields, LogLevel, LogOptions } from "../ports/log.ts";
import { callback, checkOptions, oneOf, type Option, type Options, required } from "./options.ts";

const LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error"];

const LOG_OPTIONS: Options<LogOptions> = {
  write: required(callback("a function of a line")),
  level: oneOf(LEVELS),
};

// JSON escapes no more than U+0000 to U+001F. These break lines, drive terminals, or turn the direction of writing.
const ACTIVE = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

function showable(json: string): string {
  return json.replace(ACTIVE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/**
 * A log that writes one JSON object a line: `time`, `level`, `event` and the fields. Characters that would act on a
 * terminal or a page are written as escapes of JSON: whoever reads the line as JSON gets them back.
 *
 * @throws {InvalidOptionError} an option is not as it should be.
 */
export function createLog(options: LogOptions): Log {
  checkOptions("a log", options, LOG_OPTIONS);
  const lowest = LEVELS.indexOf(options.level ?? "info");
  const at = (level: LogLevel) => (event: string, fields: LogFields = {}): void => {
    if (LEVELS.indexOf(level) < lowest) return;
    // Named twice: first for their place in the line, last so that no field takes the name of one of them.
    const head = { time: new Date().toISOString(), level, event };
    options.write(showable(JSON.stringify({ ...head, ...fields, ...head })));
  };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** An option that takes a log. From an object that is none every line would be dropped without a word. */
export const LOG: Option = {
  expected: `an object with ${LEVELS.map((level) => `${level}()`).join(", ")}`,
  accepts: (log) => {
    const isObject = typeof log === "object" && log !== null || typeof log === "function";
    return isObject && LEVELS.every((level) => typeof Reflect.get(log, level) === "function");
  },
};

/** The same log, but a line that can't be written is dropped: no job is lost because nobody reads the log. */
export function guardLog(log: Log): Log {
  const guard = (level: LogLevel) => (event: string, fields?: LogFields): void => {
    try {
      log[level](event, fields);
    } catch {
      // There is nowhere left to tell of it.
    }
  };
  return { debug: guard("debug"), info: guard("info"), warn: guard("warn"), error: guard("error") };
}

/** A log that drops everything. */
export const silentLog: Log = createLog({ write: () => {}, level: "error" });
