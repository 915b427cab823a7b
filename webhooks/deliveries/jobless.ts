import type { Database } from "../../ports/database.ts";
import { errorText } from "../../ports/error_text.ts";
import type { Handler } from "../../ports/handler.ts";
import type { Inspector } from "../../ports/inspector.ts";
import { isFinal, type JobId } from "../../ports/job.ts";
import { inHalves } from "../../shared/in_halves.ts";
import { isOfTheMoment } from "../../shared/outage.ts";
import { TEST_REPLAY } from "./test_message.ts";

/** The name of the periodic that ends deliveries whose job has ended without them. */
export const JOBLESS_PERIODIC = "webhooks.jobless";

const STEP = 200;
const AT_ONCE = 10;

/**
 * Who redelivers puts a delivery in line before its job: what was just put there is left alone. What was put there when the
 * clock was ahead is not.
 */
const WAITING = `
  select endpoint_id::text, seq::text, job_id
  from {schema}.webhook_delivery
  where state = 'waiting'
    and (endpoint_id, seq) > ($1::text::uuid, $2::text::bigint)
    and queued_at not between clock_timestamp() - interval '1 min' and clock_timestamp() + interval '1 min'
  order by endpoint_id, seq
  limit $3::int`;

/** One that was put in line again meanwhile, has another job by now, or is held by somebody stays as it is. */
const END = `
  update {schema}.webhook_delivery as delivery
  set
    state = 'discarded', reason = free.reason, given_up = free.given_up, due_at = null, wait_cause = null,
    ended_at = clock_timestamp()
  from (
    select delivery.seq, given.reason, given.given_up and delivery.replay <> $2::text as given_up
    from json_to_recordset($1::text::json) as given (seq bigint, job_id text, reason text, given_up boolean)
    join {schema}.webhook_delivery as delivery using (seq, job_id)
    where delivery.state = 'waiting'
      and delivery.queued_at
        not between clock_timestamp() - interval '1 min' and clock_timestamp() + interval '1 min'
    order by delivery.seq
    for no key update of delivery skip locked
  ) as free
  where delivery.seq = free.seq
  returning delivery.seq`;

interface End {
  readonly seq: string;
  readonly job_id: string;
  readonly reason: string;
  readonly given_up: boolean;
}

interface Waiting {
  readonly seq: string;
  readonly jobId: JobId;
}

/**
 * Discards deliveries that wait although nobody will make them: their job was cancelled, died on its last attempt, or was
 * never put back in line by a process that was killed while it redelivered. Their log says so, and they can be redelivered.
 */
export function joblessHandler(database: Database, inspector: Pick<Inspector, "get">): Handler {
  return async (_args, { signal, log }) => {
    let discarded = 0;
    let after = ["00000000-0000-0000-0000-000000000000", "0"];
    while (!signal.aborted) {
      const rows = await database.query(WAITING, [after[0]!, after[1]!, STEP]);
      const ends = await endsOf(
        inspector,
        rows.map((row) => ({ seq: String(row.seq), jobId: String(row.job_id) })),
      );
      const { done, refused } = await inHalves(
        ends,
        async (some) => (await database.query(END, [JSON.stringify(some), TEST_REPLAY])).length,
      );
      discarded += done;
      for (const { item, error } of refused) {
        log.warn("a delivery without a job can't be ended, trying again", {
          deliveryId: item.seq,
          error: errorText(error),
        });
      }
      const last = rows.at(-1);
      if (rows.length < STEP || last === undefined) break;
      after = [String(last.endpoint_id), String(last.seq)];
    }
    return { discarded };
  };
}

async function endsOf(
  inspector: Pick<Inspector, "get">,
  waiting: readonly Waiting[],
): Promise<End[]> {
  const left = [...waiting];
  const ends: End[] = [];
  const work = async (): Promise<void> => {
    for (let each = left.shift(); each !== undefined; each = left.shift()) {
      // A job that can't be read is no job that has ended.
      const job = await inspector.get(each.jobId).catch((error) => {
        if (isOfTheMoment(error)) throw error;
      });
      if (job === undefined) continue;
      if (job !== null && !isFinal(job.state)) continue;
      const how = job === null ? "is gone" : `was ${job.state}`;
      // What the job's errors say is not for whoever may see the delivery.
      const reason = `its job ${how} before it was delivered`;
      // What was cancelled was a person's doing.
      ends.push({ seq: each.seq, job_id: each.jobId, reason, given_up: job?.state !== "cancelled" });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return ends;
}
