import type { Database, PartMigrations, Recorder, Registrar } from "@millrace/millrace";

const tables: PartMigrations = {
  part: "shop",
  steps: [{
    version: 1,
    name: "create orders",
    up: `
      create table {schema}.shop_order (
        id int generated always as identity primary key,
        customer text not null,
        placed_at timestamptz not null default now(),
        mail_job_id bigint
      );
      create table {schema}.shop_index (order_id int primary key, words text not null)`,
    down: "drop table {schema}.shop_order, {schema}.shop_index",
  }],
};

/** The orders: they tell what happened, and know nothing of who wants to hear it. */
export const orders: Registrar = {
  migrations: [tables],
  eventTypes: [{
    type: "order.placed",
    description: "A customer has placed an order",
    subject: "the order's id",
    exposure: "webhook",
  }],
};

/** Places an order: the order and its event commit together. */
export async function placeOrder(database: Database, recorder: Recorder, customer: string): Promise<number> {
  return await database.transaction(async (tx) => {
    const [order] = await tx.unsafe(
      "insert into {schema}.shop_order (customer) values ($1::text) returning id",
      [customer],
    );
    const id = Number(order!.id);
    await recorder.with(tx).record({ type: "order.placed", subject: String(id), data: { id, customer } });
    return id;
  });
}
