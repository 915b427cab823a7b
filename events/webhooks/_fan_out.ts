import { type EventHandler, matchesGlob, type Parts } from "../../ports/mod.ts";
import { insertMessages, queueDeliveries } from "./_queue_deliveries.ts";

/** The name of the subscription that hands events to endpoints. */
export const FANOUT_SUBSCRIPTION = "webhook.fanout";

/** The endpoints that an event of this owner may go to. */
export const ENDPOINTS = `
  select id::text, event_types::text, ordered
  from {schema}.webhook_endpoint
  where enabled and (owner_id is null or owner_id = $1::text)
  order by created_at, id`;

/**
 * Whoever fans out to an ordered endpoint holds its row until the commit, so that what comes later in the order also
 * commits later.
 */
const LOCK_ORDERED = `
  select id
  from {schema}.webhook_endpoint
  where id in (select value::uuid from json_array_elements_text($1::text::json))
  order by id
  for no key update`;

/** Hands one event to every endpoint that asks for it: all of its deliveries and the end of this job in one transaction. */
export function fanOutHandler({ database, jobs }: Parts): EventHandler {
  return async (event, ctx) => {
    await database.transaction(async (tx) => {
      const rows = await tx.unsafe(ENDPOINTS, [event.owner_id]);
      const matching = rows.filter((row) =>
        (JSON.parse(String(row.event_types)) as string[]).some((glob) => matchesGlob(glob, event.type))
      );
      if (matching.length > 0) {
        const ordered = matching.filter((row) => row.ordered === true).map((row) => String(row.id));
        if (ordered.length > 0) await tx.unsafe(LOCK_ORDERED, [JSON.stringify(ordered)]);
        await insertMessages(tx, [event.event_id]);
        const deliveries = matching.map((row) => ({ endpointId: String(row.id), messageId: event.event_id }));
        await queueDeliveries(tx, jobs, deliveries, "");
      }
      await ctx.completeIn(tx, { deliveries: matching.length });
    });
  };
}
