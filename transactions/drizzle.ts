import type { Tx, TxParam, TxRow } from "../ports/tx.ts";
import { openTransaction } from "./_pg_transaction.ts";
import { refuse, rowsOf } from "./_rows.ts";

/** The parts of a Drizzle transaction on PostgreSQL that are used, whichever driver is below it. */
export interface DrizzleTransaction<Query = never> {
  /** Runs one statement. */
  execute(query: Query): PromiseLike<unknown>;
}

/** The parts of Drizzle's `sql` that are used. */
export interface DrizzleSql<Query> {
  /** Builds a statement from its parts. */
  (strings: TemplateStringsArray, ...values: unknown[]): Query;
}

/**
 * Wraps an open Drizzle transaction as a `Tx`, using Drizzle's own `sql`.
 *
 * @throws {TypeError} if it is the database, not the transaction from `db.transaction()`.
 *
 * @example
 * ```ts
 * import { sql } from "drizzle-orm";
 *
 * await db.transaction(async (tx) => {
 *   await tx.insert(orders).values(order);
 *   await millrace.with(drizzleTx(tx, sql)).enqueue("order.mail", { orderId: order.id });
 * });
 * ```
 */
export function drizzleTx<Query>(tx: DrizzleTransaction<Query>, sql: DrizzleSql<Query>): Tx {
  const expected = "what db.transaction() hands over";
  if (typeof tx?.execute !== "function") throw refuse("Drizzle", "it has no execute()", expected);
  if (typeof Reflect.get(tx, "rollback") !== "function") {
    throw refuse("Drizzle", "it is the database", expected);
  }
  if (typeof sql !== "function") throw refuse("Drizzle", "its sql is missing", "drizzle-orm's sql beside it");
  // This works on pg; postgres.js offers no way to tell.
  const isSame = openTransaction(Reflect.get(Object(Reflect.get(tx, "session")), "client"));
  return {
    unsafe: async (text, params): Promise<readonly TxRow[]> => {
      if (!isSame()) throw refuse("Drizzle", "it has ended", expected);
      const { strings, values } = partsOf(text, params);
      try {
        return rowsOf(await tx.execute(sql(strings, ...values)));
      } catch (error) {
        // Drizzle wraps the driver's error, and with it the SQLSTATE, in its own error.
        throw error instanceof Error && error.cause instanceof Error ? error.cause : error;
      }
    },
  };
}

/** Splits a statement into template parts, because Drizzle numbers the placeholders itself. */
function partsOf(text: string, params: readonly TxParam[]): {
  strings: TemplateStringsArray;
  values: (string | null)[];
} {
  const strings: string[] = [];
  const values: (string | null)[] = [];
  let from = 0;
  for (const match of text.matchAll(/\$(\d+)/g)) {
    const param = params[Number(match[1]) - 1] ?? null;
    strings.push(text.slice(from, match.index));
    values.push(param === null ? null : String(param));
    from = match.index + match[0].length;
  }
  strings.push(text.slice(from));
  return { strings: Object.assign(strings, { raw: strings }), values };
}
