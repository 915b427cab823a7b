import { errorText } from "../../ports/error_text.ts";
import type { EventId, InOrder } from "../../ports/event.ts";
import type { Parts } from "../../ports/registrar.ts";
import type { Tx, TxRow } from "../../ports/tx.ts";
import { refusalOf } from "../../shared/savepoint.ts";
import { asksFor } from "./asks_for.ts";
import { insertMessages, type NewDelivery, queueDeliveries } from "./queue_deliveries.ts";

/** The most deliveries of one transaction, but for those of a single event. */
const DELIVERIES_MAX = 2000;

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
  order by event.seq, endpoint.created_at, endpoint.id
  limit $2::int`;

/**
 * Ordered endpoints are given their deliveries by the relay: the jobs of the fan-out overtake each other, and their workers
 * may die.
 */
export function orderedFanOut({ jobs, log }: Pick<Parts, "jobs" | "log">): InOrder {
  const queue = async (tx: Tx, deliveries: readonly NewDelivery[]): Promise<void> => {
    await insertMessages(tx, [...new Set(deliveries.map(({ messageId }) => messageId))]);
    await queueDeliveries(tx, jobs, deliveries, "");
  };
  return {
    isWanted: async (tx) => (await tx.unsafe(IS_WANTED, []))[0]!.wanted === true,
    take: async (tx, eventIds, isAlone) => {
      const { rows, count } = await candidates(tx, eventIds);
      const deliveries = deliveriesOf(rows);
      const step = isAlone ? 1 : STEP;
      for (let from = 0; from < deliveries.length; from += step) {
        const some = deliveries.slice(from, from + step);
        const refusal = isAlone ? await refusalOf(tx, () => queue(tx, some)) : await queue(tx, some);
        if (!refusal) continue;
        // The job of the fan-out, which comes after this, finds it missing.
        log.warn(
          "an ordered endpoint could not be given an event in its turn, it gets it later or not at all",
          {
            endpointId: some[0]!.endpointId,
            eventId: some[0]!.messageId,
            error: errorText(refusal),
          },
        );
      }
      return count;
    },
  };
}

/** Of as many events as the transaction can bear: while it is open all other relays wait. */
async function candidates(
  tx: Tx,
  eventIds: readonly EventId[],
): Promise<{ readonly rows: readonly TxRow[]; readonly count: number }> {
  const read = (ids: readonly EventId[], most: number | null) =>
    tx.unsafe(CANDIDATES, [JSON.stringify(ids), most]);
  const rows = await read(eventIds, DELIVERIES_MAX);
  if (rows.length < DELIVERIES_MAX) return { rows, count: eventIds.length };
  const cut = String(rows.at(-1)!.event_id);
  const count = eventIds.indexOf(cut);
  if (count > 0) return { rows: rows.filter((row) => row.event_id !== cut), count };
  return { rows: await read([cut], null), count: 1 };
}

function deliveriesOf(rows: readonly TxRow[]): NewDelivery[] {
  return rows.filter((row) => asksFor(row.event_types, String(row.type)))
    .map((row) => ({ endpointId: String(row.endpoint_id), messageId: String(row.event_id) }));
}
