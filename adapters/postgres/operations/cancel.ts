import type { JobState } from "../../../ports/job.ts";
import type { CancelResult } from "../../../ports/jobs.ts";
import { endJobs } from "../jobs/history.ts";
import { isJobId } from "../sql/sql_text.ts";
import type { RunStatement } from "../sql/statements.ts";
import { packSignals } from "../wakes/signals.ts";

const CANCEL = `
  with target as materialized (
    select id, state from {schema}.job where id = $1::text::bigint for update
  ), ended as (
    delete from {schema}.job
    using target
    where job.id = target.id and target.state <> 'running'
    returning job.*, 'cancelled' as final, null::jsonb as output, job.errors as final_errors
  ), ${endJobs("ended")}, asked as (
    update {schema}.job
    set cancel_requested = true
    from target
    where job.id = target.id and target.state = 'running'
    returning job.state
  ), told as (
    select pg_notify($2::text, $3::text) from asked where $2::text is not null
  )
  select 'cancelled' as result, state, null::bigint as told from written
  union all
  select 'requested', state, (select count(*) from told) from asked
  union all
  select 'final', state, null from {schema}.job_history where id = $1::text::bigint`;

/** A job can move between two snapshots, from the table of the living to the history or back, and be seen in neither. */
const TRIES = 3;

/**
 * Calls one job off.
 *
 * @param channel tells the process that runs it, at the commit, through this channel; null leaves it to the caller.
 */
export async function cancelJob(
  run: RunStatement,
  id: string,
  channel: string | null,
): Promise<CancelResult> {
  if (!isJobId(id)) return { result: "gone", state: null };
  for (let tries = 0; tries < TRIES; tries++) {
    const [row] = await run(CANCEL, [id, channel, packSignals([{ type: "cancel", id }])[0]!]);
    if (row !== undefined) {
      return { result: row.result as CancelResult["result"], state: row.state as JobState };
    }
  }
  return { result: "gone", state: null };
}
