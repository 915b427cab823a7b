import { InvalidOptionError } from "../ports/mod.ts";

/** PostgreSQL cuts longer ones without a word. */
const IDENTIFIER_BYTES_MAX = 63;

/**
 * Quotes the name of a table, `orders` or `shop.orders`, as PostgreSQL has it: capitals count.
 *
 * @throws {InvalidOptionError} it is none.
 */
export function quoteTable(table: unknown): string {
  const parts = typeof table === "string" ? table.split(".") : [];
  if (parts.length < 1 || parts.length > 2) {
    throw new InvalidOptionError(
      "table",
      table,
      "a table's name, with its schema before a dot where it needs one",
    );
  }
  return parts.map((part) => quote("table", table, part)).join(".");
}

/**
 * Quotes the name of a column.
 *
 * @throws {InvalidOptionError} it is none.
 */
export function quoteColumn(column: unknown): string {
  return quote("jobColumn", column, column);
}

function quote(option: string, whole: unknown, name: unknown): string {
  if (typeof name !== "string" || name === "" || name.includes("\0") || !name.isWellFormed()) {
    throw new InvalidOptionError(option, whole, "an identifier of at least one character, without U+0000");
  }
  const bytes = new TextEncoder().encode(name).length;
  if (bytes > IDENTIFIER_BYTES_MAX) {
    throw new InvalidOptionError(option, whole, `an identifier of at most ${IDENTIFIER_BYTES_MAX} bytes`);
  }
  // It would be replaced by the schema's name in a statement.
  if (name.includes("{schema}")) {
    throw new InvalidOptionError(option, whole, "an identifier without {schema}");
  }
  return `"${name.replaceAll('"', '""')}"`;
}
