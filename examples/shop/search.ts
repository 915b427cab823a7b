import type { RecordedEvent, RegistrarInput } from "@millrace/millrace";

/** The search index: of several events of one order in a batch only the latest matters. */
export const search: RegistrarInput = ({ database }) => ({
  subscriptions: [{
    name: "search.index_order",
    types: ["order.*"],
    queue: "inbound",
    coalesce: true,
    handler: async ({ subject }: RecordedEvent) => {
      await database.query(
        `insert into {schema}.shop_index (order_id, words)
        select id, lower(customer) from {schema}.shop_order where id = $1::text::int
        on conflict (order_id) do update set words = excluded.words`,
        [subject],
      );
    },
  }],
});
