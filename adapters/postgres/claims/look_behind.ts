import { placeSql } from "../sql/sql_text.ts";
import type { Statements } from "../sql/statements.ts";
import type { Look, Placed } from "./claim_positions.ts";

/** The first job of one priority that could be claimed up to a position. One that is being claimed is not meant. */
function branch(priority: number, at: string, id: string, except: string): string {
  return `
    select * from (
      select ${priority} as priority, scheduled_at, id
      from {schema}.job
      where queue = $1::text
        and priority = ${priority}
        and state in ('pending', 'retryable')
        and (scheduled_at, id) <= (${at}::text::timestamptz, ${id}::text::bigint)${except}
      order by scheduled_at, id
      limit 1
      for update skip locked
    ) as priority_${priority}`;
}

function look(except: string): string {
  return `
  select priority, ${placeSql("scheduled_at")} as at, id
  from (
    ${branch(1, "$2", "$3", except)}
    union all
    ${branch(2, "$4", "$5", except)}
    union all
    ${branch(3, "$6", "$7", except)}
    union all
    ${branch(4, "$8", "$9", except)}
  ) as found`;
}

const LOOK = look("");
const LOOK_AROUND = look(`
        and id <> all($10::text::bigint[])`);

/**
 * Looks for claimable jobs behind the positions of a queue, other than those of an array literal. True: there are some.
 */
export async function lookBehind(
  database: Statements,
  queue: string,
  look: Look,
  except: string | null,
): Promise<boolean> {
  let found: Placed[] = [];
  try {
    const params = [queue, ...look.upTo.flatMap(({ at, id }) => [at, id])];
    const rows = except === null
      ? await database.query(LOOK, params)
      : await database.query(LOOK_AROUND, [...params, except]);
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
