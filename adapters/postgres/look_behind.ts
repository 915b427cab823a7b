import type { Look, Placed } from "./claim_positions.ts";
import { placeSql } from "./sql_text.ts";
import type { Statements } from "./statements.ts";

/** The first job of one priority that could be claimed up to a position. One that is being claimed is not meant. */
function branch(priority: number, at: string, id: string): string {
  return `
    select * from (
      select ${priority} as priority, scheduled_at, id
      from {schema}.job
      where queue = $1::text
        and priority = ${priority}
        and state in ('pending', 'retryable')
        and (scheduled_at, id) <= (${at}::text::timestamptz, ${id}::text::bigint)
      order by scheduled_at, id
      limit 1
      for update skip locked
    ) as priority_${priority}`;
}

const LOOK = `
  select priority, ${placeSql("scheduled_at")} as at, id
  from (
    ${branch(1, "$2", "$3")}
    union all
    ${branch(2, "$4", "$5")}
    union all
    ${branch(3, "$6", "$7")}
    union all
    ${branch(4, "$8", "$9")}
  ) as found`;

/** Looks for claimable jobs behind the positions of a queue. True: there are some. */
export async function lookBehind(database: Statements, queue: string, look: Look): Promise<boolean> {
  let found: Placed[] = [];
  try {
    const rows = await database.query(LOOK, [queue, ...look.upTo.flatMap(({ at, id }) => [at, id])]);
    found = rows.map((row) => ({
      priority: Number(row.priority),
      at: String(row.at),
      id: String(row.id),
    }));
  } catch {
    // Another look follows, and the claims tell of a database that is not well.
  } finally {
    look.end(found);
  }
  return found.length > 0;
}
