/**
 * Open transactions of other drivers and ORMs, as Millrace needs them. What `sql.begin()` of postgres.js hands over is
 * one as it stands. Each helper knows its library by its shape, and imports none.
 *
 * @example
 * ```ts ignore
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
