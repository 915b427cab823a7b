import { type EventId, type InOrder, matchesGlob, type Parts, type Tx } from "../../ports/mod.ts";
import { insertMessages, type NewDelivery, queueDeliveries } from "./_queue_deliveries.ts";

/** The most deliveries of one statement. */
const STEP = 1000;

const IS_WANTED = `
  select exists (select from {schema}.webhook_endpoint where ordered and enabled) as wanted`;

/** What each ordered endpoint may get of some events, in the order in which they were recorded. */
const CANDIDATES = `
  select event.id::text as event_id, event.type, endpoint.id::text as endpoint_id, endpoint.event_types::text
  from {schema}.outbox as event
  join {schema}.webhook_endpoint as endpoint
    on endpoint.ordered and endpoint.enabled
    and (endpoint.owner_id is null or endpoint.owner_id = event.owner_id)
  where event.id in (select value::uuid from json_array_elements_text($1::text::json))
  order by event.seq, endpoint.created_at, endpoint.id`;

/**
 * Ordered endpoints are given their deliveries by the relay: the jobs of the fan-out overtake each other, and their workers
 * may die.
 */
export function orderedFanOut({ jobs }: Pick<Parts, "jobs">): InOrder {
  return {
    isWanted: async (tx) => (await tx.unsafe(IS_WANTED, []))[0]!.wanted === true,
    take: async (tx, eventIds) => {
      const deliveries = await deliveriesOf(tx, eventIds);
      for (let from = 0; from < deliveries.length; from += STEP) {
        const some = deliveries.slice(from, from + STEP);
        await insertMessages(tx, [...new Set(some.map(({ messageId }) => messageId))]);
        await queueDeliveries(tx, jobs, some, "");
      }
    },
  };
}

async function deliveriesOf(tx: Tx, eventIds: readonly EventId[]): Promise<NewDelivery[]> {
  const rows = await tx.unsafe(CANDIDATES, [JSON.stringify(eventIds)]);
  const globs = new Map<string, readonly string[]>();
  return rows.filter(({ type, event_types: text }) => {
    const known = globs.get(String(text)) ?? JSON.parse(String(text)) as readonly string[];
    globs.set(String(text), known);
    return known.some((glob) => matchesGlob(glob, String(type)));
  }).map((row) => ({ endpointId: String(row.endpoint_id), messageId: String(row.event_id) }));
}
