import type { ProgressEntry } from "../../../ports/store.ts";
import { arrayLiteral, storableText } from "../sql/sql_text.ts";
import type { Statements } from "../sql/statements.ts";

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
