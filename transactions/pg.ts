import type { Tx } from "../ports/tx.ts";
import { openTransaction } from "./_pg_transaction.ts";
import { asTexts, refuse, rowsOf } from "./_rows.ts";

/** The parts of a `pg` client that are used. The caller has already run `begin` on it. */
export interface PgClient {
  /** Runs one statement. */
  query(text: string, params: unknown[]): PromiseLike<unknown>;
}

/**
 * Wraps the open transaction of a `pg` (node-postgres) client as a `Tx`.
 *
 * @throws {TypeError} if it is a pool, which would run each statement on any of its connections, or if no transaction
 * is open.
 *
 * @example
 * ```ts
 * const client = await pool.connect();
 * await client.query("begin");
 * await millrace.with(pgTx(client)).enqueue("order.mail", { orderId });
 * await client.query("commit");
 * ```
 */
export function pgTx(client: PgClient): Tx {
  const expected = "a client that begin was run on";
  if (typeof client?.query !== "function") throw refuse("pg", "it has no query()", expected);
  if ("totalCount" in client) throw refuse("pg", "it is a pool", expected);
  const isSame = openTransaction(client);
  const checkOpen = () => {
    if (!isOpen(client)) throw refuse("pg", "no transaction is open on it", expected);
    if (!isSame()) throw refuse("pg", "it has ended, and another one is open on its client", expected);
  };
  checkOpen();
  return {
    unsafe: async (text, params) => {
      // It may have ended since. Then the statement would commit on its own, or with whatever is open now.
      checkOpen();
      return rowsOf(await client.query(text, asTexts(params)));
    },
  };
}

/** Newer versions report the connection's status: T is in a transaction, E in a failed one. */
function isOpen(client: PgClient): boolean {
  const status: unknown = Reflect.get(client, "getTransactionStatus");
  return typeof status !== "function" || ["T", "E"].includes(status.call(client));
}
