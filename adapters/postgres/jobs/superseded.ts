import { withError } from "./history.ts";

/** SQL for the live job for which a job makes way that would be due at a time; null when there is none. The job is locked before. */
export function makeWaySql(job: string, due: string): string {
  return `case when ${job}.unique_key is not null
      then {schema}.make_way(${job}.kind, ${job}.unique_key, ${job}.id, ${due})
    end`;
}

/** SQL for a job's errors with one more: that another job has its unique key. */
export function supersededErrors(job: string, by: string, errors?: string): string {
  const error = `jsonb_build_object(
      'class', 'superseded', 'message', 'superseded by job ' || ${by} || ', which has the same unique key'
    )`;
  return withError(job, error, errors);
}
