import {
  type Database,
  type Inspector,
  JobNotFoundError,
  JobRunningError,
  type Jobs,
  UniqueConflictError,
} from "../../ports/mod.ts";
import { DELIVER_KIND, deliverArgs } from "./_queue_deliveries.ts";

const STEP = 200;
const AT_ONCE = 10;

/** First on record and then in line, so that a job that begins at once finds that it is to be done. */
const PUT_BACK = `
  update {schema}.webhook_delivery as delivery
  set state = 'waiting', reason = null, attempts = 0, ended_at = null, queued_at = clock_timestamp()
  from (
    select seq
    from {schema}.webhook_delivery
    where endpoint_id = $1::text::uuid
      and case when $2::text is null then state = 'discarded' else seq = $2::text::bigint and state <> 'waiting' end
    order by seq
    limit $3::int
    for update skip locked
  ) as chosen
  where delivery.seq = chosen.seq
  returning delivery.seq::text, delivery.message_id::text, delivery.replay, delivery.job_id`;

const SET_JOB = `
  update {schema}.webhook_delivery
  set job_id = $2::text
  where seq = $1::text::bigint`;

/** Puts discarded deliveries of an endpoint back in line, or one that has ended. Resolves to how many. */
export async function redeliver(
  database: Database,
  queue: Jobs & Pick<Inspector, "retry">,
  endpointId: string,
  deliveryId: string | null,
): Promise<number> {
  let done = 0;
  while (true) {
    const rows = await database.query(PUT_BACK, [endpointId, deliveryId, STEP]);
    const waiting = [...rows];
    const work = async (): Promise<void> => {
      for (let row = waiting.shift(); row !== undefined; row = waiting.shift()) {
        try {
          await queue.retry(String(row.job_id));
        } catch (error) {
          // It runs already, or another one does its work.
          if (error instanceof JobRunningError || error instanceof UniqueConflictError) continue;
          if (!(error instanceof JobNotFoundError)) throw error;
          const args = deliverArgs({
            endpointId,
            messageId: String(row.message_id),
            replay: String(row.replay),
          });
          const id = await queue.enqueue(DELIVER_KIND, args, { uniqueByArgs: true });
          await database.query(SET_JOB, [String(row.seq), id]);
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    done += rows.length;
    if (rows.length < STEP || deliveryId !== null) return done;
  }
}
