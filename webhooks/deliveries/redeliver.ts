import type { Database, Transaction } from "../../ports/database.ts";
import { JobNotFoundError, JobRunningError } from "../../ports/errors.ts";
import type { Inspector } from "../../ports/inspector.ts";
import type { Jobs } from "../../ports/jobs.ts";
import type { TxRow } from "../../ports/tx.ts";
import { pause } from "../../shared/pause.ts";
import { DeliveryHeldError, DeliveryNotFoundError } from "../endpoints/endpoint.ts";
import { JOB_MS_MAX } from "../settings.ts";
import { DELIVER_KIND, deliverArgs } from "./queue_deliveries.ts";
import { TEST_REPLAY } from "./test_message.ts";

const STEP = 200;
const AT_ONCE = 10;
const LOOK_MS = 100;
/** So long a record is waited for that another session holds, in ms. No connection waits meanwhile. */
const HELD_MS_MAX = 5000;

/** Each once, in the order of the line: what is refused again at once must not be put back again. */
const PUT_BACK = `
  update {schema}.webhook_delivery as delivery
  set
    state = 'waiting', reason = null, attempts = 0, due_at = null, wait_cause = null, held_ms = 0, given_up = false,
    ended_at = null, queued_at = clock_timestamp()
  from (
    select seq
    from {schema}.webhook_delivery
    where endpoint_id = $1::text::uuid
      and seq > $2::text::bigint
      and case
        when $3::text is null then state = 'discarded' and replay <> $4::text
        else seq = $3::text::bigint and state <> 'waiting'
      end
    order by seq
    limit $5::int
    for update skip locked
  ) as chosen
  where delivery.seq = chosen.seq
  returning delivery.seq::text, delivery.message_id::text, delivery.replay, delivery.job_id`;

const SET_JOBS = `
  update {schema}.webhook_delivery as delivery
  set job_id = given.job_id
  from json_to_recordset($1::text::json) as given (seq bigint, job_id text)
  where delivery.seq = given.seq`;

/** What the receiver put off is due as well: a person has asked for it. */
const WAITING = `
  update {schema}.webhook_delivery as delivery
  set due_at = null, wait_cause = null
  from (
    select seq
    from {schema}.webhook_delivery
    where endpoint_id = $1::text::uuid and seq = $2::text::bigint and state = 'waiting'
    for update skip locked
  ) as waiting
  where delivery.seq = waiting.seq
  returning delivery.seq::text, delivery.message_id::text, delivery.replay, delivery.job_id`;

const IS_THERE = `
  select
  from {schema}.webhook_delivery
  where endpoint_id = $1::text::uuid and seq = $2::text::bigint`;

const STATE = `
  select state
  from {schema}.webhook_delivery
  where seq = $1::text::bigint`;

/** What deliveries are put back in line with. */
export interface RedeliverTools {
  /** Where they are on record. */
  readonly database: Database;
  /** Makes their jobs. */
  readonly jobs: Jobs;
  /** Brings jobs back. */
  readonly inspector: Pick<Inspector, "get" | "retry">;
}

/**
 * Puts what was discarded of an endpoint back in line, tests aside, or one that is named, whatever became of it. What had
 * ended gets a new job, so it has all of its attempts again. Resolves to how many.
 *
 * @throws {DeliveryNotFoundError} the endpoint has none that is named so.
 * @throws {DeliveryHeldError} another session holds its record.
 */
export async function redeliver(
  tools: RedeliverTools,
  endpointId: string,
  deliveryId: string | null,
): Promise<number> {
  if (deliveryId !== null) return await redeliverOne(tools, endpointId, deliveryId);
  return await putAllBack(tools, endpointId, null);
}

async function redeliverOne(tools: RedeliverTools, endpointId: string, deliveryId: string): Promise<number> {
  for (const until = performance.now() + HELD_MS_MAX;;) {
    const [waiting] = await tools.database.query(WAITING, [endpointId, deliveryId]);
    if (waiting !== undefined) {
      await bringBack(tools, endpointId, waiting);
      return 1;
    }
    if (await putAllBack(tools, endpointId, deliveryId) > 0) return 1;
    const isThere = (await tools.database.query(IS_THERE, [endpointId, deliveryId])).length > 0;
    if (!isThere) throw new DeliveryNotFoundError(deliveryId);
    if (performance.now() > until) throw new DeliveryHeldError(deliveryId);
    await pause(LOOK_MS);
  }
}

async function putAllBack(
  tools: RedeliverTools,
  endpointId: string,
  deliveryId: string | null,
): Promise<number> {
  let done = 0;
  for (let after = "0"; true;) {
    const { rows, same } = await tools.database.transaction((tx) =>
      putBack(tools, tx, [endpointId, after, deliveryId, TEST_REPLAY, STEP])
    );
    const work = async (): Promise<void> => {
      for (let row = same.shift(); row !== undefined; row = same.shift()) {
        await bringBack(tools, endpointId, row);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    done += rows.length;
    if (rows.length < STEP) return done;
    after = rows.map((row) => String(row.seq)).reduce((one, other) =>
      BigInt(one) > BigInt(other) ? one : other
    );
  }
}

/** On record and in line in one transaction. `same` are those whose job holds its unique key still. */
async function putBack(
  { jobs }: RedeliverTools,
  tx: Transaction,
  params: (string | number | null)[],
): Promise<{ readonly rows: readonly TxRow[]; readonly same: TxRow[] }> {
  const rows = await tx.unsafe(PUT_BACK, params);
  if (rows.length === 0) return { rows, same: [] };
  const ids = await jobs.with(tx).enqueueMany(rows.map((row) => ({
    kind: DELIVER_KIND,
    args: argsOf(String(params[0]), row),
    uniqueByArgs: true,
  })));
  await tx.unsafe(SET_JOBS, [JSON.stringify(rows.map(({ seq }, index) => ({ seq, job_id: ids[index] })))]);
  return { rows, same: rows.filter((row, index) => row.job_id === ids[index]) };
}

/**
 * Its job holds the unique key still. One that waits is due now, one that has completed is brought back, and one that is
 * just ending is waited for: it found nothing to do, and what it leaves undone gets a new job with all attempts.
 */
async function bringBack(
  { database, jobs, inspector }: RedeliverTools,
  endpointId: string,
  row: TxRow,
): Promise<void> {
  for (const end = performance.now() + JOB_MS_MAX; performance.now() < end;) {
    const [now] = await database.query(STATE, [String(row.seq)]);
    if (now?.state !== "waiting") return;
    const id = await jobs.enqueue(DELIVER_KIND, argsOf(endpointId, row), { uniqueByArgs: true });
    if (id !== row.job_id) {
      await database.query(SET_JOBS, [JSON.stringify([{ seq: row.seq, job_id: id }])]);
      return;
    }
    const state = (await inspector.get(id))?.state;
    if (state === "pending" || state === "retryable" || state === "completed") {
      try {
        return await inspector.retry(id);
      } catch (error) {
        // It has begun, or has ended and is gone, in this very moment.
        if (!(error instanceof JobRunningError || error instanceof JobNotFoundError)) throw error;
      }
    }
    await pause(LOOK_MS);
  }
}

function argsOf(endpointId: string, row: TxRow): Record<string, string> {
  return deliverArgs({ endpointId, messageId: String(row.message_id), replay: String(row.replay) });
}
