import type { Aside } from "../../../ports/store.ts";
import type { PostgresDatabase } from "../connection/database.ts";
import { arrayLiteral } from "../sql/sql_text.ts";

/**
 * How far ahead a job that is put aside is due. No claim of any program reads so far, so the job is out of the ready order
 * without an index of its own for each job that never lies aside; among those that do it keeps the order in which they
 * were put aside.
 */
export const ASIDE_SQL = "interval '1000 years'";

/** When a job was due, for people: of one that lies aside, when it was claimed last. */
export const SHOWN_SCHEDULED_AT = "case when undeclared then claimed_at else scheduled_at end";

/** Goes from kind to kind through the index, one row each: there may be a million of one. */
const FIND = `
  with recursive line as (
    (select queue, kind
      from {schema}.job
      where undeclared
      order by queue, kind
      limit 1)
    union all
    select following.*
    from line cross join lateral (
      select queue, kind
      from {schema}.job
      where undeclared and (queue, kind) > (line.queue, line.kind)
      order by queue, kind
      limit 1
    ) as following
  )
  select queue, kind
  from line
  where kind = any($1::text::text[])`;

/** Where jobs of these kinds lie aside. */
export async function findAside(database: PostgresDatabase, kinds: readonly string[]): Promise<Aside[]> {
  if (kinds.length === 0) return [];
  const rows = await database.query(FIND, [arrayLiteral(kinds)]);
  return rows.map(({ queue, kind }) => ({ queue: String(queue), kind: String(kind) }));
}
