import type { FinalState, JobState } from "../../ports/job.ts";
import type { RunRef, Settlement, SettleResult } from "../../ports/store.ts";
import type { TxRow } from "../../ports/tx.ts";
import { errorText } from "./error_text.ts";
import { intoHistory, releaseKeys, withError } from "./history.ts";
import { arrayLiteral } from "./sql_text.ts";
import type { Statements } from "./statements.ts";

/**
 * Finds and locks the jobs of the given runs, one by one through the primary key: `offset 0` keeps the planner from
 * another way, which statistics of an empty table would make it choose. They come in the order of their ids, so that
 * no two statements wait for each other crosswise, and what someone else holds is left out. The row is then changed
 * by its place, which can't move while it is locked.
 */
const LOCKED = `
    cross join lateral (
      select ctid as place
      from {schema}.job
      where job.id = given.id and job.run = given.run and job.state = 'running'
      offset 0
      for update skip locked
    ) as job`;

const FINISH = `
  with given as materialized (
    select *
    from unnest($1::text::bigint[], $2::text::int[], $3::text::text[], $4::text::text[], $5::text::text[])
      as given (id, run, final, output, error)
  ), locked as materialized (
    select job.place, given.final, given.output::jsonb as output, given.error::jsonb as error
    from given ${LOCKED}
  ), ended as (
    delete from {schema}.job
    using locked
    where job.ctid = locked.place
    returning job.*,
      case when job.cancel_requested then 'cancelled' else locked.final end as final,
      case when not job.cancel_requested then locked.output end as output,
      ${withError("job", "locked.error")} as final_errors
  ), written as (
    ${intoHistory("ended")}
  ), released as (
    ${releaseKeys("ended")}
  )
  select id, run, state from written`;

const BACK_IN_LINE = `
  with given as materialized (
    select *
    from unnest(
      $1::text::bigint[], $2::text::int[], $3::text::text[], $4::text::float8[], $5::text::text[], $6::text::boolean[]
    ) as given (id, run, way, delay_ms, error, alone)
  ), locked as materialized (
    select job.place, given.way, given.delay_ms, given.error::jsonb as error, given.alone
    from given ${LOCKED}
  ), moved as (
    update {schema}.job
    set
      state = case when job.attempt - (way <> 'retry')::int > 0 then 'retryable' else 'pending' end,
      attempt = job.attempt - (way <> 'retry')::int,
      snoozes = job.snoozes + (way = 'snooze')::int,
      undeclared = way = 'put aside',
      alone = locked.alone or (job.alone and way in ('release', 'put aside')),
      scheduled_at = clock_timestamp() + locked.delay_ms * interval '1 ms',
      owner = null,
      progress = case when way = 'retry' then null else job.progress end,
      errors = ${withError("job", "locked.error")}
    from locked
    where job.ctid = locked.place and not job.cancel_requested
    returning job.id, job.run, job.state
  ), ended as (
    delete from {schema}.job
    using locked
    where job.ctid = locked.place and job.cancel_requested
    returning job.*,
      'cancelled' as final,
      null::jsonb as output,
      ${withError("job", "locked.error")} as final_errors
  ), written as (
    ${intoHistory("ended")}
  ), released as (
    ${releaseKeys("ended")}
  )
  select id, run, state from moved
  union all
  select id, run, state from written`;

const STILL_RUNNING = `
  select job.id, job.run
  from unnest($1::text::bigint[], $2::text::int[]) as given (id, run)
  join {schema}.job on job.id = given.id and job.run = given.run
  where job.state = 'running'`;

type Ending = Extract<Settlement, { to: FinalState }>;
type Returning = Exclude<Settlement, Ending>;

/** Ends runs: to a final state, or back in line. */
export async function settle(
  database: Statements,
  settlements: readonly Settlement[],
): Promise<SettleResult> {
  const ordered = settlements.toSorted(byId);
  const endings = ordered.filter(isEnding);
  const returning = ordered.filter((one): one is Returning => !isEnding(one));
  const rows: TxRow[] = [];
  if (endings.length > 0) {
    rows.push(
      ...await database.query(FINISH, [
        ...refColumns(endings),
        arrayLiteral(endings.map((one) => one.to)),
        arrayLiteral(endings.map((one) => one.output)),
        arrayLiteral(endings.map((one) => errorText(one.error))),
      ]),
    );
  }
  if (returning.length > 0) {
    rows.push(
      ...await database.query(BACK_IN_LINE, [
        ...refColumns(returning),
        arrayLiteral(returning.map((one) => one.to)),
        arrayLiteral(returning.map((one) => Math.max(0, one.delayMs))),
        arrayLiteral(returning.map((one) => errorText(one.error))),
        arrayLiteral(returning.map((one) => one.alone)),
      ]),
    );
  }
  const settled = rows.map((row) => ({
    id: String(row.id),
    run: Number(row.run),
    state: row.state as JobState,
  }));
  if (settled.length === settlements.length) return { settled, locked: [] };
  const done = new Set(settled.map(keyOf));
  const left = settlements.filter((one) => !done.has(keyOf(one)));
  // What still runs, and was not settled, is held by another transaction; what does not was fenced off.
  const running = await database.query(STILL_RUNNING, refColumns(left));
  return { settled, locked: running.map((row) => ({ id: String(row.id), run: Number(row.run) })) };
}

function isEnding(one: Settlement): one is Ending {
  return one.to === "completed" || one.to === "discarded" || one.to === "cancelled";
}

function byId(one: RunRef, other: RunRef): number {
  return one.id.length - other.id.length || (one.id < other.id ? -1 : one.id > other.id ? 1 : 0);
}

function refColumns(runs: readonly RunRef[]): [string, string] {
  return [arrayLiteral(runs.map((run) => run.id)), arrayLiteral(runs.map((run) => run.run))];
}

function keyOf(run: RunRef): string {
  return `${run.id}:${run.run}`;
}
