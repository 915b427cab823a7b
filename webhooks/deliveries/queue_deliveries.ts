import type { Transaction } from "../../ports/database.ts";
import type { JobId } from "../../ports/job.ts";
import type { EnqueueRequest, Jobs } from "../../ports/jobs.ts";

/** The kind of the jobs that deliver. */
export const DELIVER_KIND = "webhook.deliver";

/** The body is written once, by the database, from what was recorded: nothing reads it in between. */
const INSERT_EVENTS = `
  insert into {schema}.webhook_message (id, type, body)
  select
    id, type,
    '{"id":' || to_json(id::text) || ',"type":' || to_json(type) || ',"subject":' || to_json(subject)
      || ',"occurred_at":' || to_json(to_char(occurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))
      || ',"data":' || data::text || '}'
  from {schema}.outbox
  where id in (select value::uuid from json_array_elements_text($1::text::json))
  on conflict (id) do nothing`;

const INSERT_DELIVERIES = `
  insert into {schema}.webhook_delivery (endpoint_id, message_id, replay, job_id)
  select endpoint_id, message_id, $2::text, job_id
  from json_to_recordset($1::text::json) as given (ord int, endpoint_id uuid, message_id uuid, job_id text)
  order by ord
  on conflict (endpoint_id, message_id, replay) do nothing`;

/** One delivery to be made. */
export interface NewDelivery {
  /** Where to. */
  readonly endpointId: string;
  /** What: a message that is there. */
  readonly messageId: string;
}

/** Makes messages of recorded events, where there are none yet. */
export async function insertMessages(tx: Transaction, eventIds: readonly string[]): Promise<void> {
  await tx.unsafe(INSERT_EVENTS, [JSON.stringify(eventIds)]);
}

/** Enqueues deliveries and puts them on record, all in the transaction. One that is there already is not made again. */
export async function queueDeliveries(
  tx: Transaction,
  jobs: Jobs,
  deliveries: readonly NewDelivery[],
  replay: string,
  options: Pick<EnqueueRequest, "priority"> = {},
): Promise<readonly JobId[]> {
  if (deliveries.length === 0) return [];
  const ids = await jobs.with(tx).enqueueMany(deliveries.map(({ endpointId, messageId }) => ({
    kind: DELIVER_KIND,
    args: deliverArgs({ endpointId, messageId, replay }),
    uniqueByArgs: true,
    ...options,
  })));
  const rows = deliveries.map(({ endpointId, messageId }, ord) => ({
    ord,
    endpoint_id: endpointId,
    message_id: messageId,
    job_id: ids[ord],
  }));
  await tx.unsafe(INSERT_DELIVERIES, [JSON.stringify(rows), replay]);
  return ids;
}

/** The args of a delivery's job. A replay has its own, so that it does not meet the first delivery's unique key. */
export function deliverArgs(
  { endpointId, messageId, replay }: NewDelivery & { readonly replay: string },
): Record<string, string> {
  return { endpoint_id: endpointId, event_id: messageId, ...(replay === "" ? {} : { replay_id: replay }) };
}
