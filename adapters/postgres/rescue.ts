import type { JobId } from "../../ports/job.ts";
import type { Rescued, RescueError } from "../../ports/store.ts";
import type { TxRow } from "../../ports/tx.ts";
import type { PostgresDatabase } from "./database.ts";
import { errorText } from "./error_text.ts";
import { endJobs, withError } from "./history.ts";
import { isoSql } from "./sql_text.ts";
import { countLeft, forget } from "./unregister.ts";

/** The heartbeat as text: a value to compare, nothing to reckon with. */
export const BEAT_SQL: string = isoSql("heartbeat_at");

/** Whoever renews, or rescues too, holds the row; so does a claim that has begun. */
const LOCK_WORKER = `
  select 1
  from {schema}.worker
  where id = $1::text::uuid and ${BEAT_SQL} = $2::text
  for update skip locked`;

const IS_UNCHANGED = `
  select 1 from {schema}.worker where id = $1::text::uuid and ${BEAT_SQL} = $2::text`;

/** There is no index on the owner: it would be written at every claim, and a rescue is rare. */
const RESCUE = `
  with mine as materialized (
    select id, run, attempt, max_attempts, cancel_requested
    from {schema}.job
    where owner = $1::text::uuid and state = 'running'
    order by id
    for update skip locked
  ), started as materialized (
    select distinct marked.id, marked.run
    from {schema}.start_mark cross join unnest(job_ids, runs) as marked (id, run)
    where start_mark.owner = $1::text::uuid
  ), judged as materialized (
    select
      mine.id,
      case when started.id is not null then $2::text::jsonb end as error,
      case
        when mine.cancel_requested then 'cancelled'
        when started.id is null then 'released'
        when mine.attempt >= mine.max_attempts then 'discarded'
        else 'retried'
      end as fate
    from mine left join started on started.id = mine.id and started.run = mine.run
  ), moved as (
    update {schema}.job
    set
      state = case when job.attempt - (fate = 'released')::int > 0 then 'retryable' else 'pending' end,
      attempt = job.attempt - (fate = 'released')::int,
      alone = job.alone or fate = 'retried',
      scheduled_at = clock_timestamp(),
      owner = null,
      progress = null,
      errors = ${withError("job", "judged.error")}
    from judged
    where job.id = judged.id and fate in ('released', 'retried')
    returning job.id, job.queue, fate
  ), ended as (
    delete from {schema}.job
    using judged
    where job.id = judged.id and fate in ('cancelled', 'discarded')
    returning job.*, fate as final, null::jsonb as output, ${withError("job", "judged.error")} as final_errors
  ), ${endJobs("ended")}
  select id, queue, fate from moved
  union all
  select id, queue, state from written
  order by id`;

/** Puts back the jobs of a process whose heartbeat still has the value `beat`. */
export async function rescue(
  database: PostgresDatabase,
  owner: string,
  beat: string,
  error: RescueError,
): Promise<Rescued> {
  return await database.transaction(async (tx) => {
    const locked = await tx.unsafe(LOCK_WORKER, [owner, beat]);
    if (locked.length === 0) {
      const isUnchanged = (await tx.unsafe(IS_UNCHANGED, [owner, beat])).length > 0;
      return toRescued([], !isUnchanged);
    }
    const stored = errorText({ class: "worker lost", message: error.message });
    const rows = await tx.unsafe(RESCUE, [owner, stored]);
    const isComplete = await countLeft(tx, owner) === 0;
    if (isComplete) await forget(tx, owner);
    return toRescued(rows, isComplete);
  });
}

function toRescued(rows: readonly TxRow[], complete: boolean): Rescued {
  const of = (fate: string): JobId[] => rows.filter((row) => row.fate === fate).map((row) => String(row.id));
  const inLine = rows.filter((row) => row.fate === "retried" || row.fate === "released");
  return {
    retried: of("retried"),
    discarded: of("discarded"),
    released: of("released"),
    cancelled: of("cancelled"),
    complete,
    queues: [...new Set(inLine.map((row) => String(row.queue)))],
  };
}
