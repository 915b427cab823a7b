import { InvalidOptionError } from "../ports/errors.ts";

/** The longest identifier that PostgreSQL keeps whole, in bytes of UTF-8. Longer ones it cuts without a word. */
const IDENTIFIER_BYTES_MAX = 63;

/**
 * Checks that a text can be the name of a schema, a table or a column of PostgreSQL's, and stand in a statement of
 * {@linkcode Database}. Quotes, capitals, spaces and reserved words are fine: {@linkcode quoteIdentifier} takes care of them.
 *
 * @throws {InvalidOptionError} it is empty, longer than 63 bytes, holds U+0000 or half a surrogate pair, or `{schema}` or
 *   `{channel NAME}`, which stand for something in statements. The message names `option` and the name.
 */
export function checkIdentifier(option: string, name: unknown): asserts name is string {
  const refuse = (expected: string) => new InvalidOptionError(option, name, expected);
  if (typeof name !== "string" || name === "") throw refuse("a name of at least one character");
  if (name.includes("\0") || !name.isWellFormed()) {
    throw refuse("a name without U+0000 and half surrogate pairs");
  }
  const bytes = new TextEncoder().encode(name).length;
  if (bytes > IDENTIFIER_BYTES_MAX) {
    throw refuse(`a name of at most ${IDENTIFIER_BYTES_MAX} bytes, it has ${bytes}`);
  }
  const placeholder = /\{(?:schema|channel \w+)\}/.exec(name)?.[0];
  if (placeholder !== undefined) {
    throw refuse(`a name without ${placeholder}, which stands for something else in statements`);
  }
}

/** Quotes an identifier for SQL. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
