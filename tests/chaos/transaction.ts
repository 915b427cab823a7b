import postgres from "postgres";
import type { Tx, TxParam } from "../../ports/tx.ts";

/**
 * Runs a function in a transaction on a connection of its own, which commits when the function returns true and rolls
 * back when it returns false or throws. Rejects when nobody can say how it ended.
 *
 * Once its connection broke nothing more is sent: the driver would send it down the next one, outside of any
 * transaction.
 */
export async function inTransaction(url: string, body: (tx: Tx) => Promise<boolean>): Promise<void> {
  let broken = false;
  const sql = postgres(url, {
    max: 1,
    fetch_types: false,
    prepare: false,
    connect_timeout: 5,
    onnotice: () => {},
    onclose: () => broken = true,
  });
  const tx: Tx = {
    unsafe: async (text: string, params: TxParam[]) => {
      if (broken) throw new Error("The connection of this transaction broke");
      return await sql.unsafe(text, params);
    },
  };
  try {
    // A handler says what it relies on: its role may have any default.
    await tx.unsafe("begin isolation level read committed", []);
    await tx.unsafe(await body(tx) ? "commit" : "rollback", []);
  } finally {
    // Whatever is open rolls back with its connection.
    sql.end({ timeout: 0 }).catch(() => {});
  }
}
