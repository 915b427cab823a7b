import { withError } from "./history.ts";

/**
 * Finds the live job that has taken the unique key of another one; null when none has. A function that is volatile looks
 * anew each time, where a statement sees what was committed when it began. So it finds a twin that was committed between
 * that moment and the moment at which the statement locked the job.
 */
export const CREATE_SUPERSEDED_BY = `
create function {schema}.superseded_by(job_kind text, job_key bytea, job_id bigint) returns bigint
language plpgsql volatile set search_path = pg_catalog, pg_temp as $body$
begin
  return (
    select twin.id
    from {schema}.job_key as held
    join {schema}.job as twin on twin.id = held.job_id
    where held.kind = superseded_by.job_kind
      and held.key = superseded_by.job_key
      and held.job_id <> superseded_by.job_id
  );
end
$body$`;

/** Undoes it. */
export const DROP_SUPERSEDED_BY = "drop function {schema}.superseded_by(text, bytea, bigint)";

/** SQL for the live job that has taken the unique key of a job; null when none has. The job is locked before. */
export function supersededBySql(job: string): string {
  return `case when ${job}.unique_key is not null
      then {schema}.superseded_by(${job}.kind, ${job}.unique_key, ${job}.id)
    end`;
}

/** SQL for a job's errors with one more: that another job has its unique key. */
export function supersededErrors(job: string, by: string, errors?: string): string {
  const error = `jsonb_build_object(
      'class', 'superseded', 'message', 'superseded by job ' || ${by} || ', which has the same unique key'
    )`;
  return withError(job, error, errors);
}
