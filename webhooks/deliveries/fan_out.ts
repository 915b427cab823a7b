import type { Transaction } from "../../ports/database.ts";
import { errorText } from "../../ports/error_text.ts";
import type { EventHandler, EventId } from "../../ports/event.ts";
import type { Parts } from "../../ports/registrar.ts";
import { inHalves } from "../../shared/in_halves.ts";
import { isOfTheMoment } from "../../shared/outage.ts";
import { asksFor } from "./asks_for.ts";
import { insertMessages, queueDeliveries } from "./queue_deliveries.ts";

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

/**
 * Hands one event to every endpoint that asks for it: all of its deliveries and the end of this job in one transaction. Where
 * that is refused, each endpoint gets its own in a transaction by itself, and those that can't are told in the job's error
 * and tried again with its next attempt.
 */
export function fanOutHandler({ database, jobs }: Parts): EventHandler {
  const queue = async (
    tx: Transaction,
    messageId: EventId,
    endpointIds: readonly string[],
  ): Promise<number> => {
    if (endpointIds.length === 0) return 0;
    await insertMessages(tx, [messageId]);
    const deliveries = endpointIds.map((endpointId) => ({ endpointId, messageId }));
    return (await queueDeliveries(tx, jobs, deliveries, "")).length;
  };
  return async (event, ctx) => {
    let endpointIds: string[] = [];
    try {
      await database.transaction(async (tx) => {
        const rows = await tx.unsafe(ENDPOINTS, [event.owner_id, event.event_id]);
        endpointIds = rows.filter((row) => asksFor(row.event_types, event.type)).map((row) => String(row.id));
        await queue(tx, event.event_id, endpointIds);
        await ctx.completeIn(tx, { deliveries: endpointIds.length });
      });
      return;
    } catch (error) {
      if (isOfTheMoment(error) || endpointIds.length === 0) throw error;
    }
    const { refused } = await inHalves(
      endpointIds,
      (some) => database.transaction((tx) => queue(tx, event.event_id, some)),
    );
    const [first] = refused;
    if (first === undefined) return { deliveries: endpointIds.length };
    const more = refused.length > 1 ? ` and ${refused.length - 1} others` : "";
    throw new Error(
      `webhook endpoint ${first.item}${more} could not be given this event, all others have it: ` +
        errorText(first.error),
    );
  };
}
