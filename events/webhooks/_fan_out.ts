import type { EventHandler, Parts } from "../../ports/mod.ts";
import { asksFor } from "./_asks_for.ts";
import { insertMessages, queueDeliveries } from "./_queue_deliveries.ts";

/** The name of the subscription that hands events to endpoints. */
export const FANOUT_SUBSCRIPTION = "webhook.fanout";

/** The endpoints that an event of this owner may go to, but for those that were given it in order. */
export const ENDPOINTS = `
  select id::text, event_types::text
  from {schema}.webhook_endpoint as endpoint
  where enabled and (owner_id is null or owner_id = $1::text)
    and not (ordered and exists (
      select
      from {schema}.webhook_delivery
      where endpoint_id = endpoint.id and message_id = $2::text::uuid and replay = ''
    ))
  order by created_at, id`;

/** Hands one event to every endpoint that asks for it: all of its deliveries and the end of this job in one transaction. */
export function fanOutHandler({ database, jobs }: Parts): EventHandler {
  return async (event, ctx) => {
    await database.transaction(async (tx) => {
      const rows = await tx.unsafe(ENDPOINTS, [event.owner_id, event.event_id]);
      const matching = rows.filter((row) => asksFor(row.event_types, event.type));
      if (matching.length > 0) {
        await insertMessages(tx, [event.event_id]);
        const deliveries = matching.map((row) => ({ endpointId: String(row.id), messageId: event.event_id }));
        await queueDeliveries(tx, jobs, deliveries, "");
      }
      await ctx.completeIn(tx, { deliveries: matching.length });
    });
  };
}
