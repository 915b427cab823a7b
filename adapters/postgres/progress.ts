import type { ProgressEntry } from "../../ports/store.ts";
import { grantAsOn } from "./grants.ts";
import { arrayLiteral, storableText } from "./sql_text.ts";
import type { Statements } from "./statements.ts";

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

const PROGRESS = `
  with given as materialized (
    select * from unnest($1::text::bigint[], $2::text::int[], $3::text::text[]) as given (id, run, progress)
  )
  insert into {schema}.job_progress (job_id, run, progress)
  select job.id, job.run, given.progress::jsonb
  from given join {schema}.job on job.id = given.id and job.run = given.run
  where job.state = 'running'
  order by job.id
  on conflict (job_id) do update
  set run = excluded.run, progress = excluded.progress`;

/** Stores the progress of runs. */
export async function storeProgress(
  database: Statements,
  entries: readonly ProgressEntry[],
): Promise<void> {
  if (entries.length === 0) return;
  await database.query(PROGRESS, [
    arrayLiteral(entries.map((entry) => entry.id)),
    arrayLiteral(entries.map((entry) => entry.run)),
    arrayLiteral(entries.map(progressText)),
  ]);
}

function progressText({ done, note }: ProgressEntry): string {
  return JSON.stringify({ done, ...(note !== null ? { note: storableText(note) } : {}) });
}
