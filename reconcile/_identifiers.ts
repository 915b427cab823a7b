import { InvalidOptionError } from "../ports/errors.ts";
import { checkIdentifier, quoteIdentifier } from "../shared/identifier.ts";

/**
 * Quotes a table name, `orders` or `shop.orders`, as PostgreSQL stores it: case matters.
 *
 * @throws {InvalidOptionError} if it is not a table name.
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
  return parts.map((part) => quoted("table", part)).join(".");
}

/**
 * Quotes a column name.
 *
 * @throws {InvalidOptionError} if it is not a column name.
 */
export function quoteColumn(column: unknown): string {
  return quoted("jobColumn", column);
}

function quoted(option: string, name: unknown): string {
  checkIdentifier(option, name);
  return quoteIdentifier(name);
}
