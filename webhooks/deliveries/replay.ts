import { errorText } from "../../ports/error_text.ts";
import type { EventType } from "../../ports/event.ts";
import { discard, type Handler } from "../../ports/handler.ts";
import type { Parts } from "../../ports/registrar.ts";
import { inHalves } from "../../shared/in_halves.ts";
import { asksFor } from "./asks_for.ts";
import { insertMessages, queueDeliveries } from "./queue_deliveries.ts";

/** The kind of the jobs that replay. */
export const REPLAY_KIND = "webhook.replay";

const STEP = 500;

const ENDPOINT = `
  select event_types::text, owner_id, enabled
  from {schema}.webhook_endpoint
  where id = $1::text::uuid`;

/**
 * Ids carry their time, so what is older need not be looked at; their 48 bits of it, in a signed number, end in the year
 * 6429. What is not fanned out yet comes by itself.
 */
const EVENTS = `
  select
    id::text,
    to_char(occurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as occurred_at
  from {schema}.outbox
  where id > greatest(
      $1::text::uuid,
      (
        lpad(
          to_hex(
            (least(greatest(extract(epoch from $2::text::timestamptz) - 1, 0), 140737488355) * 1000)::bigint * 65536
          ),
          16, '0'
        )
          || '0000000000000000'
      )::uuid
    )
    and occurred_at >= $2::text::timestamptz and occurred_at < $3::text::timestamptz
    and fanned_out_at is not null
    and type in (select json_array_elements_text($4::text::json))
    and ($5::text is null or owner_id = $5::text)
  order by id
  limit $6::int`;

/** The args of a replay. */
export interface ReplayArgs {
  readonly endpoint_id: string;
  readonly replay_id: string;
  readonly since: string;
  readonly until: string;
  readonly limit: number;
}

/**
 * Sends every event of a time to one endpoint again, in steps; what an earlier attempt queued is not queued again. An event
 * that is refused is passed over, and named in the log.
 */
export function replayHandler({ database, jobs }: Parts, exposed: () => readonly EventType[]): Handler {
  const queue = (endpointId: string, messageIds: readonly string[], replay: string) =>
    database.transaction(async (tx) => {
      await insertMessages(tx, messageIds);
      const deliveries = messageIds.map((messageId) => ({ endpointId, messageId }));
      return (await queueDeliveries(tx, jobs, deliveries, replay, { priority: 3 })).length;
    });
  return async (args, ctx) => {
    const { endpoint_id: endpointId, replay_id: replay, since, until, limit } = args as unknown as ReplayArgs;
    let found = 0;
    let refused = 0;
    let after = "00000000-0000-0000-0000-000000000000";
    for (let isMore = true; isMore && !ctx.signal.aborted;) {
      const [endpoint] = await database.query(ENDPOINT, [endpointId]);
      if (endpoint === undefined) throw discard("the endpoint is gone");
      if (endpoint.enabled !== true) throw discard("the endpoint is disabled");
      const types = exposed().map(({ type }) => type).filter((type) => asksFor(endpoint.event_types, type));
      const most = Math.min(STEP, limit - found);
      const owner = endpoint.owner_id as string | null;
      const rows = await database.query(EVENTS, [after, since, until, JSON.stringify(types), owner, most]);
      const ids = rows.map((row) => String(row.id));
      if (ids.length === 0) break;
      const { refused: passedOver } = await inHalves(ids, (part) => queue(endpointId, part, replay));
      for (const { item, error } of passedOver) {
        refused++;
        ctx.log.warn("an event could not be put in line again, the replay goes on without it", {
          endpointId,
          eventId: item,
          error: errorText(error),
        });
      }
      found += ids.length;
      after = ids.at(-1)!;
      const last = Date.parse(String(rows.at(-1)!.occurred_at));
      const share = (last - Date.parse(since)) / Math.max(1, Date.parse(until) - Date.parse(since));
      ctx.progress(Math.min(1, Math.max(0, share)), `${found} events`);
      isMore = ids.length === most && found < limit;
    }
    ctx.signal.throwIfAborted();
    return { queued: found - refused, isWhole: found < limit && refused === 0 };
  };
}
