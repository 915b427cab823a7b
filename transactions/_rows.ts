import type { TxParam, TxRow } from "../ports/tx.ts";

/** The rows of a driver's result. Some drivers return the rows themselves, others wrap them in an object. */
export function rowsOf(result: unknown): readonly TxRow[] {
  const rows: unknown = Array.isArray(result) ? result : Reflect.get(Object(result), "rows");
  return Array.isArray(rows) ? rows as TxRow[] : [];
}

/**
 * Converts params to strings. The statements cast each of theirs. Some drivers send a number as a type of their own
 * choice, which PostgreSQL then refuses to read as text.
 */
export function asTexts(params: readonly TxParam[]): (string | null)[] {
  return params.map((param) => param === null ? null : String(param));
}

/** The error for something that is recognizably not an open transaction. */
export function refuse(driver: string, found: string, expected: string): TypeError {
  return new TypeError(`Cannot use this ${driver} transaction: ${found}, expected ${expected}`);
}
