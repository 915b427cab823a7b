import { discard, type EventType, type Handler, type Parts } from "../../ports/mod.ts";
import { asksFor } from "./_asks_for.ts";
import { insertMessages, queueDeliveries } from "./_queue_deliveries.ts";

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

/** Sends every event of a time to one endpoint again, in steps; what an earlier attempt queued is not queued again. */
export function replayHandler({ database, jobs }: Parts, exposed: () => readonly EventType[]): Handler {
  return async (args, ctx) => {
    const { endpoint_id: endpointId, replay_id: replay, since, until, limit } = args as unknown as ReplayArgs;
    let queued = 0;
    let after = "00000000-0000-0000-0000-000000000000";
    for (let isMore = true; isMore && !ctx.signal.aborted;) {
      isMore = await database.transaction(async (tx) => {
        const [endpoint] = await tx.unsafe(ENDPOINT, [endpointId]);
        if (endpoint === undefined) throw discard("the endpoint is gone");
        if (endpoint.enabled !== true) throw discard("the endpoint is disabled");
        const types = exposed().map(({ type }) => type).filter((type) => asksFor(endpoint.event_types, type));
        const most = Math.min(STEP, limit - queued);
        const owner = endpoint.owner_id as string | null;
        const rows = await tx.unsafe(EVENTS, [after, since, until, JSON.stringify(types), owner, most]);
        const ids = rows.map((row) => String(row.id));
        if (ids.length === 0) return false;
        await insertMessages(tx, ids);
        await queueDeliveries(tx, jobs, ids.map((messageId) => ({ endpointId, messageId })), replay, {
          priority: 3,
        });
        queued += ids.length;
        after = ids.at(-1)!;
        const last = Date.parse(String(rows.at(-1)!.occurred_at));
        const share = (last - Date.parse(since)) / Math.max(1, Date.parse(until) - Date.parse(since));
        ctx.progress(Math.min(1, Math.max(0, share)), `${queued} events`);
        return ids.length === most && queued < limit;
      });
    }
    ctx.signal.throwIfAborted();
    return { queued, isWhole: queued < limit };
  };
}
