import type { JobId } from "../../../ports/job.ts";
import { inHalves } from "../../../shared/in_halves.ts";
import { arrayLiteral, isJobId } from "../sql/sql_text.ts";
import type { Statements } from "../sql/statements.ts";

/** Set to the clock's time, as by whatever makes a job ready. It waits for no lock: who is left out comes at its own time. */
const BRING_FORWARD = `
  update {schema}.job
  set scheduled_at = clock_timestamp()
  from (
    select id
    from {schema}.job
    where id = any($1::text::bigint[])
      and state in ('pending', 'retryable')
      and not undeclared
      and scheduled_at > clock_timestamp()
    order by id
    for update skip locked
  ) as waits
  where job.id = waits.id
  returning job.queue`;

/**
 * Makes jobs that wait due now. Returns the queue of each. One whose change the database refuses comes at its own time too.
 *
 * @throws every change was refused.
 */
export async function bringForward(database: Statements, ids: readonly JobId[]): Promise<string[]> {
  const queues: string[] = [];
  const { done, refused } = await inHalves(ids.filter(isJobId), async (part) => {
    const rows = await database.query(BRING_FORWARD, [arrayLiteral(part)]);
    queues.push(...rows.map((row) => String(row.queue)));
    return part.length;
  });
  if (done === 0 && refused.length > 0) throw refused[0]!.error;
  return queues;
}
