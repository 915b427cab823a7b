import { errorText } from "../ports/error_text.ts";
import { InvalidJsonError, TooLargeError } from "../ports/errors.ts";
import type { Json } from "../ports/json.ts";
import { ARGS_DEPTH_MAX } from "../ports/limits.ts";

/** What {@linkcode toJsonText} checks against. */
export interface JsonTextOptions {
  /** The root of the path in messages, such as `args`. */
  readonly name: string;
  /** The longest text that is accepted, in bytes of UTF-8, with the digits that jsonb writes for an exponent. */
  readonly maxBytes: number;
  /** Whether a member of an object that is undefined is refused. Default it is left out, as `JSON.stringify` does. */
  readonly refuseUndefined?: boolean;
}

/**
 * Checks that a value is JSON which survives the round trip exactly, and returns its text. Members of objects that are
 * undefined are left out.
 *
 * @throws {InvalidJsonError} for what is not JSON (undefined as a whole or in a list, BigInt, NaN, functions, dates, class instances,
 *   cycles), for U+0000 (jsonb can't hold it) and for half a surrogate pair, with the path in the value.
 * @throws {TooLargeError} when the text is longer than `maxBytes`.
 */
export function toJsonText(value: unknown, options: JsonTextOptions): string {
  const text = textOf(value, options);
  const exponentDigits = exponentDigitsOf(text);
  // A UTF-16 code unit is at most 3 bytes of UTF-8, so most texts need no counting.
  if (text.length * 3 + exponentDigits > options.maxBytes) {
    const bytes = new TextEncoder().encode(text).length + exponentDigits;
    if (bytes > options.maxBytes) throw new TooLargeError(options.name, bytes, options.maxBytes, "bytes");
  }
  return text;
}

/**
 * How many digits a text of JSON grows by where it is stored: jsonb writes `1e300` with 301 of them, and an array of such
 * numbers would be read back as fifty times its size.
 */
function exponentDigitsOf(text: string): number {
  if (!/\d[eE][+-]?\d/.test(text)) return 0;
  let digits = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if ((code | LOWER) === LETTER_E && isDigit(text, at - 1)) {
      digits += Math.abs(parseInt(text.slice(at + 1, at + 1 + EXPONENT_LENGTH), 10));
    }
  }
  return digits;
}

const [LETTER_E, LOWER] = [101, 32];
/** An exponent with more characters is beyond every bound. */
const EXPONENT_LENGTH = 20;

/**
 * Reads JSON text and refuses what a JavaScript number would change: an integer beyond 2^53 that another
 * program stored. Reading it as a neighbouring number would point a handler at the wrong record.
 *
 * @throws {InvalidJsonError} naming the path and the digits; or it is no JSON text, or nested deeper than 500 levels.
 */
export function parseJsonText(text: string, name: string): Json {
  refuseDeep(text, name);
  const value = parsed(text, name);
  // An integer beyond 2^53 has 16 digits, so most texts need no second look.
  if (!hasLongNumber(text)) return value;
  const unsafe = unsafeNumbers(text, name)[0];
  if (unsafe !== undefined) {
    const { path, digits } = unsafe;
    const shown = digits.length > DIGITS_SHOWN_MAX
      ? `${digits.slice(0, DIGITS_SHOWN_MAX)}... (${digits.length} digits)`
      : digits;
    throw new InvalidJsonError(
      path,
      `the integer ${shown} is beyond 2^53 and a JavaScript number would change it, store it as a string`,
    );
  }
  return value;
}

function parsed(text: string, name: string): Json {
  if (typeof text !== "string") throw new InvalidJsonError(name, "it is no text");
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InvalidJsonError(name, `it is no JSON text (${errorText(error)})`, { cause: error });
  }
}

const DIGITS_SHOWN_MAX = 40;

/** TypeScript's library does not know of raw JSON yet. See https://tc39.es/proposal-json-parse-with-source. */
const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON(text: string): Json;
  isRawJSON(value: unknown): boolean;
};

/**
 * Reads JSON text to hand it on: what a JavaScript number would change is kept as raw JSON, which {@linkcode toJsonText}
 * writes digit by digit as it was. Such a value is of no use for anything else.
 *
 * @throws {InvalidJsonError} it is nested deeper than 500 levels.
 */
export function relayJsonText(text: string): Json {
  refuseDeep(text, "the text");
  if (!hasLongNumber(text) && !/\d[eE]/.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_key, value, context?: { source?: string }) => {
    const source = context?.source;
    if (typeof value !== "number" || source === undefined || String(value) === source) return value;
    return rawJSON(source);
  });
}

/**
 * Whether a JSON text is nested deeper than 500 levels. `enqueue` stores none, but somebody's SQL may; whatever reads it
 * level by level would overflow its stack. Only texts that are long enough are looked at.
 */
export function isTooDeep(text: string): boolean {
  if (text.length <= 2 * ARGS_DEPTH_MAX) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (++depth > ARGS_DEPTH_MAX) return true;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--;
  }
  return false;
}

const [QUOTE, BACKSLASH] = [34, 92];
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [91, 93, 123, 125];

/** Where the string that begins at a place ends; the end of the text where it does not. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}

function refuseDeep(text: string, name: string): void {
  if (typeof text === "string" && isTooDeep(text)) {
    throw new InvalidJsonError(name, `it is nested deeper than ${ARGS_DEPTH_MAX} levels`);
  }
}

/** As many digits as an integer beyond 2^53 has at least. */
const LONG = 16;

/**
 * Whether so many digits follow each other anywhere. Every 16th character is looked at, for such a row has one of them: a
 * regular expression takes a hundred times as long on texts with many digits.
 */
function hasLongNumber(text: string): boolean {
  for (let at = LONG - 1; at < text.length; at += LONG) {
    if (!isDigit(text, at)) continue;
    let [start, end] = [at, at + 1];
    while (isDigit(text, start - 1)) start--;
    while (isDigit(text, end)) end++;
    if (end - start >= LONG) return true;
  }
  return false;
}

/** Whether there is a digit; not before the text and behind it. */
function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 48 && code <= 57;
}

/** An integer in a JSON text that a JavaScript number can't hold. */
export interface UnsafeNumber {
  /** Where it is: `args.items[3]`. */
  readonly path: string;
  /** Its digits as they are stored. */
  readonly digits: string;
}

/** Lists the integers of a JSON text that a JavaScript number would change. Empty for almost every text. */
export function unsafeNumbers(text: string, name: string): UnsafeNumber[] {
  const found: UnsafeNumber[] = [];
  const unsafe = Symbol("unsafe");
  type Marked = { [unsafe]: string };
  const root = JSON.parse(text, function (_key, value, context?: { source?: string }) {
    const source = context?.source;
    if (typeof value !== "number" || source === undefined || Number.isSafeInteger(value)) return value;
    return Number.isInteger(value) || !Number.isFinite(value) ? { [unsafe]: source } satisfies Marked : value;
  });
  const walk = (value: unknown, path: string): void => {
    if (typeof value !== "object" || value === null) return;
    if (unsafe in value) {
      const digits = (value as Marked)[unsafe];
      if (/^-?\d+$/.test(digits) && digits !== writtenDigits(Number(digits))) found.push({ path, digits });
      return;
    }
    for (const [key, inner] of Object.entries(value)) walk(inner, childPath(path, key, Array.isArray(value)));
  };
  walk(root, name);
  return found;
}

/**
 * The digits that a number is written with in JSON, without an exponent. A stored integer that a JavaScript number is
 * written back as digit by digit has survived, however large it is.
 */
function writtenDigits(value: number): string {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:e\+(\d+))?$/.exec(String(value));
  if (match === null) return String(value);
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = match;
  return sign + whole + fraction.padEnd(Number(exponent), "0");
}

/** V8 makes no longer string, in UTF-16 code units. */
const STRING_LENGTH_MAX = 2 ** 29 - 24;

function textOf(value: unknown, { name, maxBytes, refuseUndefined = false }: JsonTextOptions): string {
  const path = [name];
  let text: unknown;
  try {
    check(value, path, { above: new Set(), refuseUndefined });
    text = JSON.stringify(value);
  } catch (error) {
    if (error instanceof InvalidJsonError) throw error;
    if (error instanceof RangeError && /string length/i.test(error.message)) {
      throw new TooLargeError(name, STRING_LENGTH_MAX, maxBytes, "bytes", { cause: error });
    }
    // A getter or a proxy of the caller's; the path is where it stands.
    throw new InvalidJsonError(path.join(""), `reading it threw: ${errorText(error)}`, { cause: error });
  }
  if (typeof text !== "string") throw refuse(path, "it changes while it is read");
  return text;
}

/** What a check knows beside the value and its path. */
interface Checking {
  /** The objects that hold the value. */
  readonly above: Set<object>;
  readonly refuseUndefined: boolean;
}

function check(value: unknown, path: string[], checking: Checking): void {
  switch (typeof value) {
    case "boolean":
      return;
    case "string":
      return checkString(value, path);
    case "number":
      if (!Number.isFinite(value)) throw refuse(path, `${value} is no JSON number`);
      return;
    case "object":
      break;
    case "bigint":
      throw refuse(path, `a BigInt (${value}n) is no JSON, pass a string`);
    default:
      throw refuse(path, `${typeof value} is no JSON`);
  }
  if (value === null || isRawJSON(value)) return;
  const { above } = checking;
  if (above.has(value)) throw refuse(path, "it contains itself");
  if (above.size >= ARGS_DEPTH_MAX) throw refuse(path, `it is nested deeper than ${ARGS_DEPTH_MAX} levels`);
  above.add(value);
  if (Array.isArray(value)) checkArray(value, path, checking);
  else checkObject(value, path, checking);
  above.delete(value);
}

function checkArray(value: readonly unknown[], path: string[], checking: Checking): void {
  refuseToJson(value, path);
  for (let index = 0; index < value.length; index++) {
    path.push(`[${index}]`);
    check(value[index], path, checking);
    path.pop();
  }
}

function checkObject(value: object, path: string[], checking: Checking): void {
  const prototype = Object.getPrototypeOf(value);
  // Another realm's Object.prototype is not ours; what makes an object plain is that nothing stands above it.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    const name = value.constructor?.name || "an unnamed class";
    const hint = value instanceof Date ? ", pass toISOString()" : ", pass a plain object";
    throw refuse(path, `an instance of ${name} is no JSON${hint}`);
  }
  refuseToJson(value, path);
  for (const [key, inner] of Object.entries(value)) {
    if (inner === undefined && !checking.refuseUndefined) continue;
    path.push(childPath("", key, false));
    checkString(key, path);
    check(inner, path, checking);
    path.pop();
  }
}

function refuseToJson(value: object, path: string[]): void {
  if ("toJSON" in value && typeof value.toJSON === "function") {
    throw refuse(path, "an object with toJSON is no JSON");
  }
}

function checkString(value: string, path: string[]): void {
  if (value.includes("\0")) throw refuse(path, "it holds U+0000, which jsonb can't store");
  if (!value.isWellFormed()) throw refuse(path, "it holds half a surrogate pair");
}

function refuse(path: readonly string[], found: string): InvalidJsonError {
  return new InvalidJsonError(path.join(""), found);
}

function childPath(path: string, key: string, inArray: boolean): string {
  if (inArray) return `${path}[${key}]`;
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`;
}
