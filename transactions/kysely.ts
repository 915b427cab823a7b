import type { Tx } from "../ports/tx.ts";
import { asTexts, refuse, rowsOf } from "./_rows.ts";

/** The parts of a Kysely transaction on PostgreSQL that are used. */
export interface KyselyTransaction {
  /** Whether it is a transaction. */
  readonly isTransaction: boolean;
  /** The same transaction without plugins, which could rename columns. */
  withoutPlugins(): {
    /** Runs a compiled statement. */
    // deno-lint-ignore no-explicit-any -- the statement is of a class that only Kysely has
    executeQuery(query: any): PromiseLike<unknown>;
  };
}

/**
 * Wraps an open Kysely transaction as a `Tx`. Kysely's plugins do not apply to Millrace's own statements.
 *
 * @throws {TypeError} if it is the database, not the transaction from `db.transaction().execute()`.
 *
 * @example
 * ```ts
 * await db.transaction().execute(async (trx) => {
 *   await trx.insertInto("orders").values(order).execute();
 *   await millrace.with(kyselyTx(trx)).enqueue("order.mail", { orderId: order.id });
 * });
 * ```
 */
export function kyselyTx(trx: KyselyTransaction): Tx {
  const expected = "what db.transaction().execute() hands over";
  if (typeof trx?.withoutPlugins !== "function") {
    throw refuse("Kysely", "it has no withoutPlugins()", expected);
  }
  if (trx.isTransaction !== true) throw refuse("Kysely", "it is the database", expected);
  const plain = trx.withoutPlugins();
  return {
    unsafe: async (text, params) =>
      rowsOf(
        await plain.executeQuery({
          sql: text,
          parameters: asTexts(params),
          query: { kind: "RawNode", sqlFragments: [text], parameters: [] },
          queryId: { queryId: crypto.randomUUID() },
        }),
      ),
  };
}
