import type { Tx } from "../ports/tx.ts";
import { openTransaction } from "./_pg_transaction.ts";
import { asTexts, refuse, rowsOf } from "./_rows.ts";

/** What is needed of a client of `pg`, on which the caller has run `begin`. */
export interface PgClient {
  /** Runs one statement. */
  query(text: string, params: unknown[]): PromiseLike<unknown>;
}

/**
 * The open transaction of a client of `pg` (node-postgres).
 *
 * @throws {TypeError} it is a pool, which would run each statement on any of its connections, or no transaction is open.
 *
 * @example
 * ```ts ignore
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
      // It may have ended since: then the statement would commit by itself, or with whatever is open now.
      checkOpen();
      return rowsOf(await client.query(text, asTexts(params)));
    },
  };
}

/** Newer versions tell how the connection stands: T is in a transaction, E in one that has failed. */
function isOpen(client: PgClient): boolean {
  const status: unknown = Reflect.get(client, "getTransactionStatus");
  return typeof status !== "function" || ["T", "E"].includes(status.call(client));
}
