import type { Json } from "../../ports/json.ts";
import type { Tx, TxParam, TxStatementOptions } from "../../ports/tx.ts";

/** Runs a statement of an order in the handler's own transaction, and returns its rows as JSON. */
export async function runStatement(
  tx: Tx,
  text: string,
  params: TxParam[],
  options: TxStatementOptions | null | undefined,
): Promise<Json> {
  const rows = await tx.unsafe(text, params, options ?? {});
  return [...rows].map((row) =>
    Object.fromEntries(Object.entries(row).map(([column, value]) => [column, asJson(value)]))
  );
}

/** Drivers read numbers as they like: what is not JSON is text, as PostgreSQL wrote it. */
function asJson(value: unknown): Json {
  if (value === null || value === undefined) return null;
  return typeof value === "number" || typeof value === "boolean" ? value : String(value);
}
