import type { PostgresDatabase } from "./database.ts";
import { arrayLiteral } from "./sql_text.ts";

/** A step is bounded: it runs beside every heartbeat, and there may be a million. */
const ROWS_MAX = 1000;

const RECALL = `
  with aside as materialized (
    select id
    from {schema}.job
    where undeclared and kind = any($1::text::text[]) and state in ('pending', 'retryable')
    order by id
    limit ${ROWS_MAX}
    for update skip locked
  )
  update {schema}.job
  set undeclared = false, scheduled_at = clock_timestamp()
  from aside
  where job.id = aside.id`;

/** Puts jobs of these kinds that were put aside back in line, at most 1,000. */
export async function recall(database: PostgresDatabase, kinds: readonly string[]): Promise<void> {
  if (kinds.length > 0) await database.query(RECALL, [arrayLiteral(kinds)]);
}
