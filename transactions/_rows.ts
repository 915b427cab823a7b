import type { TxParam, TxRow } from "../ports/tx.ts";

/** The rows of a driver's answer. Some drivers give the rows themselves, others an object around them. */
export function rowsOf(result: unknown): readonly TxRow[] {
  const rows: unknown = Array.isArray(result) ? result : Reflect.get(Object(result), "rows");
  return Array.isArray(rows) ? rows as TxRow[] : [];
}

/**
 * Params as texts. The statements cast each of theirs, and some drivers send a number as a type of their own choice,
 * which PostgreSQL then refuses to read as a text.
 */
export function asTexts(params: readonly TxParam[]): (string | null)[] {
  return params.map((param) => param === null ? null : String(param));
}

/** Refuses what can be told to be no open transaction. */
export function refuse(driver: string, found: string, expected: string): TypeError {
  return new TypeError(`Cannot use this ${driver} transaction: ${found}, expected ${expected}`);
}
