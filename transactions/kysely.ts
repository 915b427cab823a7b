import type { Tx } from "../ports/tx.ts";
import { asTexts, refuse, rowsOf } from "./_rows.ts";

/** What is needed of a transaction of Kysely on PostgreSQL. */
export interface KyselyTransaction {
  /** Whether it is one. */
  readonly isTransaction: boolean;
  /** The same without the plugins that would rename columns. */
  withoutPlugins(): {
    /** Runs a statement that is compiled already. */
    // deno-lint-ignore no-explicit-any -- the statement is of a class that only Kysely has
    executeQuery(query: any): PromiseLike<unknown>;
  };
}

/**
 * The open transaction of Kysely. Plugins are left out of Millrace's own statements.
 *
 * @throws {TypeError} it is the database, not what `db.transaction().execute()` hands over.
 *
 * @example
 * ```ts ignore
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
