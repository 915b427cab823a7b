import { sqlStateOf } from "../../../ports/errors.ts";
import type { FinalState, JobState } from "../../../ports/job.ts";
import type { RunRef, Settled, Settlement } from "../../../ports/store.ts";
import { ASIDE_SQL } from "../jobs/aside.ts";
import { errorText } from "../jobs/error_text.ts";
import { endFreshJobs, endJobs, withError } from "../jobs/history.ts";
import { makeWaySql, supersededErrors } from "../jobs/superseded.ts";
import { arrayLiteral, refColumns } from "../sql/sql_text.ts";
import type { Statements } from "../sql/statements.ts";

/**
 * Finds and locks the jobs of the given runs, one by one through the primary key: `offset 0` keeps the planner from
 * another way, which statistics of an empty table would make it choose. They come in the order of their ids, so that
 * no two statements wait for each other crosswise, and what someone else holds is left out. The row is then changed
 * by its place, which can't move while it is locked.
 */
const lockedSql = (columns: string) => `
    cross join lateral (
      select ${columns}
      from {schema}.job
      where job.id = given.id and job.run = given.run and job.state = 'running'
      offset 0
      for update skip locked
    ) as job`;

const finishSql = (end: (source: string) => string) => `
  with given as materialized (
    select *
    from unnest($1::text::bigint[], $2::text::int[], $3::text::text[], $4::text::text[], $5::text::text[])
      as given (id, run, final, output, error)
  ), locked as materialized (
    select job.place, given.final, given.output::jsonb as output, given.error::jsonb as error
    from given ${lockedSql("ctid as place")}
  ), ended as (
    delete from {schema}.job
    using locked
    where job.ctid = locked.place
    returning job.*,
      case when job.cancel_requested then 'cancelled' else locked.final end as final,
      case when not job.cancel_requested then locked.output end as output,
      ${withError("job", "locked.error")} as final_errors
  ), ${end("ended")}
  select
    count(*)::int as ended,
    (
      select string_agg(id || ':' || run, ',') from ended where cancel_requested
    ) as cancelled,
    (
      select string_agg(id || ':' || run, ',') from ended
      where (select count(*) from ended) < (select count(*) from given)
    ) as only
  from ended`;

const FINISH = finishSql(endFreshJobs);

/** For when an id is taken in the history, which the server says: to look for it each time would cost every job. */
const FINISH_AND_DISPLACE = finishSql(endJobs);

const BACK_IN_LINE = `
  with given as materialized (
    select *
    from unnest(
      $1::text::bigint[], $2::text::int[], $3::text::text[], $4::text::float8[], $5::text::text[], $6::text::boolean[]
    ) as given (id, run, way, delay_ms, error, alone)
  ), locked as materialized (
    select
      job.place, given.way, given.delay_ms, given.error::jsonb as error, given.alone,
      case when not job.cancel_requested then ${
  makeWaySql("job", "clock_timestamp() + given.delay_ms * interval '1 ms'")
} end as superseded_by
    from given ${lockedSql("ctid as place, id, kind, unique_key, cancel_requested")}
  ), moved as (
    update {schema}.job
    set
      state = case when job.attempt - (way <> 'retry')::int > 0 then 'retryable' else 'pending' end,
      attempt = job.attempt - (way <> 'retry')::int,
      snoozes = job.snoozes + (way = 'snooze')::int,
      undeclared = way = 'put aside',
      alone = locked.alone or (job.alone and way in ('release', 'put aside')),
      scheduled_at = clock_timestamp() +
        case when way = 'put aside' then ${ASIDE_SQL} else locked.delay_ms * interval '1 ms' end,
      owner = null,
      progress = null,
      errors = ${withError("job", "locked.error")}
    from locked
    where job.ctid = locked.place and not job.cancel_requested and superseded_by is null
    returning job.id, job.run, job.state
  ), ended as (
    delete from {schema}.job
    using locked
    where job.ctid = locked.place and (job.cancel_requested or superseded_by is not null)
    returning job.*,
      'cancelled' as final,
      null::jsonb as output,
      case
        when job.cancel_requested then ${withError("job", "locked.error")}
        else ${supersededErrors("job", "superseded_by", withError("job", "locked.error"))}
      end as final_errors
  ), ${endJobs("ended")}
  select id, run, state from moved
  union all
  select id, run, state from written`;

const STILL_RUNNING = `
  select job.id, job.run
  from unnest($1::text::bigint[], $2::text::int[]) as given (id, run)
  join {schema}.job on job.id = given.id and job.run = given.run
  where job.state = 'running'`;

const UNIQUE_VIOLATION = "23505";

type Ending = Extract<Settlement, { to: FinalState }>;
type Returning = Exclude<Settlement, Ending>;

/** Ends runs: to a final state, or back in line. Tells what became of each, in order. */
export async function settle(
  database: Statements,
  settlements: readonly Settlement[],
): Promise<Settled[]> {
  const ordered = settlements.toSorted(byId);
  const endings = ordered.filter(isEnding);
  const returning = ordered.filter((one): one is Returning => !isEnding(one));
  const ended = endings.length > 0 ? await finish(database, endings) : NONE;
  const returned = returning.length > 0 ? await backInLine(database, returning) : NONE;
  const states = settlements.map((one): Settled =>
    (isEnding(one) ? endedState(ended, one) : returned.changed.get(keyOf(one))) ?? "fenced"
  );
  return states.includes("fenced") ? await tellLocked(database, settlements, states) : states;
}

/** What a statement did: to all that it was given, but for those that are named, or only to those. */
interface Done {
  readonly all: boolean;
  readonly changed: ReadonlyMap<string, JobState>;
}

const NONE: Done = { all: false, changed: new Map() };

/** Nearly always all end as asked, which is told in one row, for a row each would cost as much as a tenth of the rest. */
async function finish(database: Statements, endings: readonly Ending[]): Promise<Done> {
  const params = [
    ...refColumns(endings),
    arrayLiteral(endings.map((one) => one.to)),
    arrayLiteral(endings.map((one) => one.output)),
    arrayLiteral(endings.map((one) => errorText(one.error))),
  ];
  const [row] = await database.query(FINISH, params).catch((error) => {
    if (sqlStateOf(error) !== UNIQUE_VIOLATION) throw error;
    return database.query(FINISH_AND_DISPLACE, params);
  });
  const cancelled = keysOf(row?.cancelled).map((key): [string, JobState] => [key, "cancelled"]);
  if (row?.only === null) return { all: row.ended === endings.length, changed: new Map(cancelled) };
  const asked = new Map(endings.map((one) => [keyOf(one), one.to]));
  const only = keysOf(row?.only).map((key): [string, JobState] => [key, asked.get(key)!]);
  return { all: false, changed: new Map([...only, ...cancelled]) };
}

function endedState({ all, changed }: Done, one: Ending): JobState | undefined {
  if (all && changed.size === 0) return one.to;
  return changed.get(keyOf(one)) ?? (all ? one.to : undefined);
}

async function backInLine(database: Statements, returning: readonly Returning[]): Promise<Done> {
  const rows = await database.query(BACK_IN_LINE, [
    ...refColumns(returning),
    arrayLiteral(returning.map((one) => one.to)),
    arrayLiteral(returning.map((one) => Math.max(0, one.delayMs))),
    arrayLiteral(returning.map((one) => errorText(one.error))),
    arrayLiteral(returning.map((one) => one.alone)),
  ]);
  return { all: false, changed: new Map(rows.map((row) => [`${row.id}:${row.run}`, row.state as JobState])) };
}

/** What still runs, and was not settled, is held by another transaction; what does not was fenced off. */
async function tellLocked(
  database: Statements,
  settlements: readonly Settlement[],
  states: readonly Settled[],
): Promise<Settled[]> {
  const left = settlements.filter((_, index) => states[index] === "fenced");
  const rows = await database.query(STILL_RUNNING, refColumns(left));
  const running = new Set(rows.map((row) => `${row.id}:${row.run}`));
  return states.map((state, index) =>
    state === "fenced" && running.has(keyOf(settlements[index]!)) ? "locked" : state
  );
}

function isEnding(one: Settlement): one is Ending {
  return one.to === "completed" || one.to === "discarded" || one.to === "cancelled";
}

function byId(one: RunRef, other: RunRef): number {
  return one.id.length - other.id.length || (one.id < other.id ? -1 : one.id > other.id ? 1 : 0);
}

function keyOf(run: RunRef): string {
  return `${run.id}:${run.run}`;
}

function keysOf(list: unknown): string[] {
  return typeof list === "string" ? list.split(",") : [];
}
