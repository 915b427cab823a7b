import { ERRORS_KEPT_MAX } from "../../../ports/limits.ts";
import { NOW_ISO } from "../sql/sql_text.ts";
import { SHOWN_SCHEDULED_AT } from "./aside.ts";

/**
 * SQL of the CTEs that end jobs: `written` puts them into the history, `released` gives up their unique keys. The source
 * is a CTE of deleted jobs (`returning job.*`) with three more columns: `final` the state, `final_errors` the errors,
 * `output`.
 */
export function endFreshJobs(source: string): string {
  return `written as (${intoHistory(source)}
  ), released as (
    ${releaseKeys(source)}
  )`;
}

/**
 * The same for jobs whose ids may be taken in the history, as they are when the sequence was set back by a restore or by
 * logical replication. The older record then makes room, with its unique key: the job that ends now is the one that
 * somebody waits for, and it could not end otherwise. `displaced` is counted so that it is done before anything is
 * written.
 */
export function endJobs(source: string): string {
  return `displaced as (
    delete from {schema}.job_history
    using ${source} as ended
    where job_history.id = ended.id
    returning job_history.id, job_history.kind, job_history.unique_key
  ), forgotten as (
    delete from {schema}.job_key
    using displaced
    where displaced.unique_key is not null
      and job_key.kind = displaced.kind
      and job_key.key = displaced.unique_key
      and job_key.job_id = displaced.id
  ), written as (${intoHistory(`${source} cross join (select count(*) from displaced) as room`)}
  ), released as (
    ${releaseKeys(source)}
  )`;
}

function intoHistory(rows: string): string {
  return `
    insert into {schema}.job_history (
      id, kind, queue, state, priority, scheduled_at, enqueued_at, claimed_at, finished_at,
      attempt, max_attempts, run, snoozes, alone, args, unique_key, errors, progress, output, periodic
    )
    select
      id, kind, queue, final, priority, ${SHOWN_SCHEDULED_AT}, enqueued_at, claimed_at, clock_timestamp(),
      attempt, max_attempts, run, snoozes, alone, args, unique_key, final_errors, progress, output, periodic
    from ${rows}
    returning id, run, state, queue`;
}

/** SQL that releases the unique keys of ended jobs. A completed one keeps its key until it is purged. */
function releaseKeys(source: string): string {
  return `
    delete from {schema}.job_key
    using ${source} as ended
    where ended.unique_key is not null
      and ended.final <> 'completed'
      and job_key.kind = ended.kind
      and job_key.key = ended.unique_key
      and job_key.job_id = ended.id`;
}

/**
 * SQL for a job's errors with one more: an object of class, message and stack, to which the attempt's number and the
 * time are added. Nothing is added where it is null. The first and the newest others are kept. What is no list, as
 * somebody's SQL may leave it, becomes the first of one.
 *
 * @param errors What it has so far, where that is not what its row says.
 */
export function withError(job: string, error: string, errors: string = `${job}.errors`): string {
  const whole = `jsonb_build_object('attempt', ${job}.attempt, 'at', ${NOW_ISO}) || ${error}`;
  return `
    case
      when ${error} is null then ${errors}
      when coalesce(jsonb_typeof(${errors}), 'null') = 'null' then jsonb_build_array(${whole})
      when jsonb_typeof(${errors}) <> 'array' then jsonb_build_array((${errors}), ${whole})
      when jsonb_array_length(${errors}) >= ${ERRORS_KEPT_MAX} then ((${errors}) - 1) || (${whole})
      else (${errors}) || (${whole})
    end`;
}
