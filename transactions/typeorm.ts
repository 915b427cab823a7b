import type { Tx } from "../ports/tx.ts";
import { openTransaction } from "./_pg_transaction.ts";
import { asTexts, refuse, rowsOf } from "./_rows.ts";

/** The parts of the `EntityManager` of a TypeORM transaction on PostgreSQL that are used. */
export interface TypeOrmManager {
  /** Its single connection. */
  readonly queryRunner?: TypeOrmQueryRunner | undefined;
}

/** The parts of a TypeORM `QueryRunner` that are used. */
export interface TypeOrmQueryRunner {
  /** Whether a transaction is open on it. */
  readonly isTransactionActive: boolean;
  /** Runs one statement. The result is structured because an update's rows would otherwise come with their count. */
  query(text: string, params: unknown[], structured: true): PromiseLike<{ readonly records: unknown }>;
}

/**
 * Wraps an open TypeORM transaction as a `Tx`: its `EntityManager`, or a `QueryRunner` on which one was started.
 *
 * @throws {TypeError} if it is the data source's own manager, or if no transaction is open.
 *
 * @example
 * ```ts
 * await dataSource.transaction(async (manager) => {
 *   await manager.save(order);
 *   await millrace.with(typeOrmTx(manager)).enqueue("order.mail", { orderId: order.id });
 * });
 * ```
 */
export function typeOrmTx(manager: TypeOrmManager | TypeOrmQueryRunner): Tx {
  const expected = "the manager that dataSource.transaction() hands over";
  const runner = isRunner(manager) ? manager : manager?.queryRunner;
  if (typeof runner?.query !== "function") throw refuse("TypeORM", "it has no query runner", expected);
  const isSame = openTransaction(Reflect.get(runner, "databaseConnection"));
  const checkOpen = () => {
    if (!runner.isTransactionActive) throw refuse("TypeORM", "no transaction is open on it", expected);
    if (!isSame()) {
      throw refuse("TypeORM", "it has ended, and another one is open on its connection", expected);
    }
  };
  checkOpen();
  return {
    unsafe: async (text, params) => {
      // It may have ended since. Then the statement would commit on its own, or with whatever is open now.
      checkOpen();
      return rowsOf((await runner.query(text, asTexts(params), true)).records);
    },
  };
}

function isRunner(value: TypeOrmManager | TypeOrmQueryRunner): value is TypeOrmQueryRunner {
  return typeof value === "object" && value !== null && "isTransactionActive" in value;
}
