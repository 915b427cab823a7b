import type { Database, EventKeeper, Handler } from "../../ports/mod.ts";
import type { WebhookSettings } from "./settings.ts";

/** The name of the periodic that deletes old deliveries. */
export const RETENTION_PERIODIC = "webhooks.retention";

const STEP = 1000;

/** Walks the deliveries in the order in which they were made. What waits for longer than anything may is nobody's. */
const OLD = `
  select
    seq::text, message_id::text, queued_at::text,
    created_at < clock_timestamp() - $2::float8 * interval '1 ms' as is_old,
    (state <> 'waiting' and ended_at < clock_timestamp() - $2::float8 * interval '1 ms')
      or queued_at < clock_timestamp() - $3::float8 * interval '1 ms'
      or not exists (select from {schema}.webhook_endpoint where id = endpoint_id) as is_due
  from {schema}.webhook_delivery
  where seq > $1::text::bigint
  order by seq
  limit $4::int`;

/** One that a person puts in line again just now is not deleted. */
const DELETE = `
  delete from {schema}.webhook_delivery as delivery
  using json_to_recordset($1::text::json) as given (seq bigint, queued_at timestamptz)
  where delivery.seq = given.seq and delivery.queued_at = given.queued_at
  returning delivery.seq`;

/** Locked first: a replay that uses one of them meanwhile is seen by the statement after this one. */
const LOCK_MESSAGES = `
  select id
  from {schema}.webhook_message
  where id in (select value::uuid from json_array_elements_text($1::text::json))
  order by id
  for update skip locked`;

const DELETE_MESSAGES = `
  delete from {schema}.webhook_message as message
  where id in (select value::uuid from json_array_elements_text($1::text::json))
    and not exists (select from {schema}.webhook_delivery where message_id = message.id)`;

const KEPT = `
  select distinct message_id::text as id
  from {schema}.webhook_delivery
  where message_id in (select value::uuid from json_array_elements_text($1::text::json)) and state = 'waiting'`;

/** Deletes deliveries that ended longer ago than retention says, with the messages that nothing refers to any more. */
export function retentionHandler(database: Database, settings: WebhookSettings): Handler {
  const { retentionMs, giveUpAfterMs } = settings;
  const abandonedMs = 2 * giveUpAfterMs + retentionMs;
  return async (_args, { signal }) => {
    let deleted = 0;
    for (let after = "0"; !signal.aborted;) {
      const rows = await database.query(OLD, [after, retentionMs, abandonedMs, STEP]);
      const due = rows.filter((row) => row.is_due === true);
      if (due.length > 0) {
        deleted += await database.transaction(async (tx) => {
          const given = due.map(({ seq, queued_at }) => ({ seq, queued_at }));
          const gone = await tx.unsafe(DELETE, [JSON.stringify(given)]);
          const messages = [...new Set(due.map((row) => String(row.message_id)))];
          const locked = await tx.unsafe(LOCK_MESSAGES, [JSON.stringify(messages)]);
          await tx.unsafe(DELETE_MESSAGES, [JSON.stringify(locked.map((row) => row.id))]);
          return gone.length;
        });
      }
      const last = rows.at(-1);
      if (rows.length < STEP || last?.is_old !== true) break;
      after = String(last.seq);
    }
    return { deleted };
  };
}

/** What waits for its delivery keeps its event. */
export const keepUndelivered: EventKeeper = async (tx, eventIds) =>
  (await tx.unsafe(KEPT, [JSON.stringify(eventIds)])).map((row) => String(row.id));
