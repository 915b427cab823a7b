import type { Database } from "../../ports/database.ts";
import { errorText } from "../../ports/error_text.ts";
import type { EventKeeper } from "../../ports/event.ts";
import type { Handler } from "../../ports/handler.ts";
import type { Log } from "../../ports/log.ts";
import type { TxRow } from "../../ports/tx.ts";
import { stepInHalves } from "../../shared/in_halves.ts";
import { SweepPosition } from "../../shared/sweep_position.ts";
import type { WebhookSettings } from "../settings.ts";

/** The name of the periodic that deletes old deliveries. */
export const RETENTION_PERIODIC = "webhooks.retention";

const STEP = 1000;
/** After so many refusals a sweep ends. The next one goes on from there. */
const FAULTS_MAX = 100;

/**
 * Walks the deliveries in the order in which they were made. What waits for longer than anything may is nobody's. One from a
 * time when the clock was ahead ends no walk.
 */
const OLD = `
  select
    seq::text, message_id::text, queued_at::text,
    created_at not between clock_timestamp() - $2::float8 * interval '1 ms' and clock_timestamp() as is_old,
    (state <> 'waiting' and ended_at < clock_timestamp() - $2::float8 * interval '1 ms')
      or queued_at < clock_timestamp() - $3::float8 * interval '1 ms'
      or not exists (select from {schema}.webhook_endpoint where id = endpoint_id) as is_due
  from {schema}.webhook_delivery
  where seq > $1::text::bigint
  order by seq
  limit $4::int`;

/** One that a person puts in line again just now is not deleted, and one that somebody holds is left for later. */
const DELETE = `
  with free as materialized (
    select delivery.seq
    from {schema}.webhook_delivery as delivery
    join json_to_recordset($1::text::json) as given (seq bigint, queued_at timestamptz) using (seq, queued_at)
    for update of delivery skip locked
  )
  delete from {schema}.webhook_delivery as delivery
  using free
  where delivery.seq = free.seq
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
export function retentionHandler(database: Database, settings: WebhookSettings, log: Log): Handler {
  const { retentionMs, giveUpAfterMs } = settings;
  const abandonedMs = 2 * giveUpAfterMs + retentionMs;
  const position = new SweepPosition();
  return async (_args, { signal }) => {
    const sweep = position.begin();
    let deleted = 0;
    let fault: string | undefined;
    let faults = 0;
    try {
      for (let after = sweep.after ?? "0"; !signal.aborted;) {
        const rows = await database.query(OLD, [after, retentionMs, abandonedMs, STEP]);
        const due = rows.filter((row) => row.is_due === true);
        const { done, refused } = await stepInHalves(due, (part) => deleteStep(database, part));
        deleted += done;
        faults += refused.length;
        for (const { item, error } of refused) {
          fault ??= `number ${item.seq}: ${errorText(error)}`;
          log.error("an old delivery can't be deleted: the others are, it is tried again later", {
            seq: String(item.seq),
            error: errorText(error),
          });
        }
        const lastOld = rows.findLast((row) => row.is_old === true);
        if (lastOld !== undefined) {
          after = String(lastOld.seq);
          sweep.reached(after);
        }
        if (rows.length < STEP || rows.at(-1)!.is_old !== true || faults >= FAULTS_MAX) break;
      }
    } finally {
      sweep.end();
    }
    if (fault !== undefined) throw new Error(`Some old deliveries can't be deleted: ${fault}`);
    return { deleted };
  };
}

async function deleteStep(database: Database, due: readonly TxRow[]): Promise<number> {
  return await database.transaction(async (tx) => {
    const given = due.map(({ seq, queued_at }) => ({ seq, queued_at }));
    const gone = await tx.unsafe(DELETE, [JSON.stringify(given)]);
    const messages = [...new Set(due.map((row) => String(row.message_id)))];
    const locked = await tx.unsafe(LOCK_MESSAGES, [JSON.stringify(messages)]);
    await tx.unsafe(DELETE_MESSAGES, [JSON.stringify(locked.map((row) => row.id))]);
    return gone.length;
  });
}

/** What waits for its delivery keeps its event. */
export const keepUndelivered: EventKeeper = async (tx, eventIds) =>
  (await tx.unsafe(KEPT, [JSON.stringify(eventIds)])).map((row) => String(row.id));
