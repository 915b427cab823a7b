import { withError } from "./history.ts";

/** SQL for the live job that has taken the unique key of a job; null when none has. */
export function supersededBySql(job: string): string {
  return `case when ${job}.unique_key is not null then (
      select twin.id
      from {schema}.job_key as held
      join {schema}.job as twin on twin.id = held.job_id
      where held.kind = ${job}.kind and held.key = ${job}.unique_key and held.job_id <> ${job}.id
    ) end`;
}

/** SQL for a job's errors with one more: that another job has its unique key. */
export function supersededErrors(job: string, by: string, errors?: string): string {
  const error = `jsonb_build_object(
      'class', 'superseded', 'message', 'superseded by job ' || ${by} || ', which has the same unique key'
    )`;
  return withError(job, error, errors);
}
