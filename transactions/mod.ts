/**
 * Adapts open transactions of other drivers and ORMs for Millrace. The transaction from `sql.begin()` of postgres.js
 * works as it is. Each helper recognizes its library's transactions by their shape, and imports no library.
 *
 * @example
 * ```ts
 * import { kyselyTx } from "@millrace/millrace/transactions";
 *
 * await db.transaction().execute(async (trx) => {
 *   await trx.insertInto("orders").values(order).execute();
 *   await millrace.with(kyselyTx(trx)).enqueue("order.mail", { orderId: order.id });
 * });
 * ```
 *
 * @module
 */
export { type DrizzleSql, type DrizzleTransaction, drizzleTx } from "./drizzle.ts";
export { type KyselyTransaction, kyselyTx } from "./kysely.ts";
export { type PgClient, pgTx } from "./pg.ts";
export { type PrismaTransaction, prismaTx } from "./prisma.ts";
export { type TypeOrmManager, type TypeOrmQueryRunner, typeOrmTx } from "./typeorm.ts";
