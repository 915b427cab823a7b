import { grantAsOn } from "./grants.ts";

/**
 * Progress stands in a table of its own. A write to the job's row would be a conflict for a handler's own transaction
 * that began before it in REPEATABLE READ and completes the job. A row belongs to a run: that of an earlier one is not
 * shown, and is overwritten. It is deleted with the job by retention.
 */
export const CREATE_PROGRESS: string = `
create table {schema}.job_progress (
  job_id bigint primary key,
  run int not null,
  progress jsonb not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
${grantAsOn("job_progress", ["job", "job_history"])}`;

/** Undoes it. */
export const DROP_PROGRESS = "drop table {schema}.job_progress";
