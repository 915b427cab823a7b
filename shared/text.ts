import { InvalidOptionError } from "../ports/errors.ts";

/**
 * Checks that a value is text that a database can hold, and so can be asked for. `option` names it in the message.
 *
 * @throws {InvalidOptionError} it is no text, or holds U+0000 or half a surrogate pair.
 */
export function checkText(option: string, value: unknown): asserts value is string {
  if (typeof value === "string" && !value.includes("\0") && value.isWellFormed()) return;
  throw new InvalidOptionError(option, value, "a text without U+0000 and half surrogate pairs");
}

/** A text without what a database may be unable to store: a `?` stands for U+0000 and every character that is not ASCII. */
export function asciiText(text: string): string {
  // deno-lint-ignore no-control-regex -- all of ASCII but U+0000
  return text.replace(/[^\x01-\x7f]/gu, "?");
}
