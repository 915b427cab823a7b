import type { ProgressEntry } from "../../ports/store.ts";
import { arrayLiteral, storableText } from "./sql_text.ts";
import type { Statements } from "./statements.ts";

/** A row that someone holds keeps its old progress: the next note comes soon, and nobody else waits. */
const PROGRESS = `
  with given as materialized (
    select * from unnest($1::text::bigint[], $2::text::int[], $3::text::text[]) as given (id, run, progress)
  ), locked as materialized (
    select job.id, given.progress::jsonb as progress
    from given join {schema}.job on job.id = given.id and job.run = given.run
    where job.state = 'running'
    order by job.id
    for update of job skip locked
  )
  update {schema}.job
  set progress = locked.progress
  from locked
  where job.id = locked.id`;

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
