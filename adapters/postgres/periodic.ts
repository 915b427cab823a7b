import type { JobId, JobState } from "../../ports/job.ts";
import type { Json } from "../../ports/json.ts";
import type { Transaction } from "../../ports/database.ts";
import { TransactionConflictError } from "../../ports/errors.ts";
import type { PeriodicRun } from "../../ports/inspector.ts";
import type { NewJob, PeriodicRow, TakeTick } from "../../ports/store.ts";
import type { TxRow } from "../../ports/tx.ts";
import { arrayLiteral, epochMsSql } from "./sql_text.ts";
import type { Statements } from "./statements.ts";

const MAKE = `
  insert into {schema}.periodic (name)
  select name
  from unnest($1::text::text[]) as given (name)
  where not exists (select from {schema}.periodic where periodic.name = given.name)
  order by name
  on conflict (name) do nothing`;

/** With their newest runs, of the same moment as the rest; without them where nobody asks for them. */
const READ = `
  select
    periodic.name, ${epochMsSql("last_tick")} as last_tick_ms, job.id as current_job_id,
    ${epochMsSql("since")} as since_ms, ${epochMsSql("clock_timestamp()")} as now_ms,
    run.job_id as run_job_id, run.finished_ms, run.state, run.output, run.error
  from {schema}.periodic
  left join {schema}.job on job.id = periodic.job_id
  left join lateral (
    select id, job_id, ${epochMsSql("finished_at")} as finished_ms, state, output::text as output, error
    from {schema}.periodic_run
    where $2::text::boolean and periodic_run.name = periodic.name
    order by id desc
    limit 20
  ) as run on true
  where periodic.name = any($1::text::text[])
  order by periodic.name, run.id desc`;

/** A tick as the runtime knows it: whole ms. */
const LAST_TICK = `round(${epochMsSql("last_tick")}::numeric)::float8`;

/**
 * The row as the statement saw it when it began. A session that has changed it since may have made a run that the statement
 * can't see; then the row has another version.
 */
const SEEN = `
  seen as materialized (
    select name, job_id, xmin as version from {schema}.periodic where name = $1::text
  )`;

const INSERT_AND_LINK = `
  insert into {schema}.job (kind, queue, priority, max_attempts, args, scheduled_at)
    select $2::text, $3::text, $4::text::smallint, $5::text::int, $6::text::jsonb, clock_timestamp()
    from free`;

/** One statement, so that a process that is frozen holds no lock. A row that somebody holds is left for the next look. */
const TAKE_TICK = `
  with ${SEEN}, free as materialized (
    select periodic.name
    from {schema}.periodic
    join seen on seen.name = periodic.name
    where periodic.xmin = seen.version
      and ${LAST_TICK} is not distinct from $7::float8
      and not exists (select from {schema}.job where job.id = seen.job_id)
    for update of periodic skip locked
  ), inserted as (
    ${INSERT_AND_LINK}
    returning id
  ), linked as (
    update {schema}.periodic
    set job_id = inserted.id, last_tick = to_timestamp($8::float8 / 1000)
    from inserted
    where name = $1::text
  )
  select id from inserted`;

const RUN = `
  with ${SEEN}, locked as materialized (
    select periodic.name, seen.job_id
    from {schema}.periodic
    join seen on seen.name = periodic.name
    where periodic.xmin = seen.version
    for update of periodic
  ), live as materialized (
    select job.id from {schema}.job join locked on job.id = locked.job_id
  ), free as materialized (
    select name from locked where not exists (select from live)
  ), inserted as (
    ${INSERT_AND_LINK}
    returning id
  ), linked as (
    update {schema}.periodic
    set job_id = inserted.id
    from inserted
    where name = $1::text
  )
  select id from live
  union all
  select id from inserted`;

const RESET = `
  update {schema}.periodic
  set last_tick = to_timestamp($3::float8 / 1000), since = least(since, clock_timestamp())
  where name = (
    select name
    from {schema}.periodic
    where name = $1::text and ${LAST_TICK} is not distinct from $2::float8
    for update skip locked
  )
  returning name`;

const LOCK = "select job_id from {schema}.periodic where name = $1::text for update";

const IS_LIVE = "select 1 from {schema}.job where id = $1::text::bigint";

const LINK = "update {schema}.periodic set job_id = $2::text::bigint where name = $1::text";

const TRIES = 5;

/** What is stored of periodics; those never seen are made. */
export async function readPeriodics(
  database: Statements,
  names: readonly string[],
  withRuns: boolean,
): Promise<PeriodicRow[]> {
  if (names.length === 0) return [];
  const params = [arrayLiteral(names), String(withRuns)];
  // Of each periodic one row a run, or a single one without any.
  const read = async () => Map.groupBy(await database.query(READ, params), ({ name }) => String(name));
  let found = await read();
  if (found.size < new Set(names).size) {
    await database.query(MAKE, [params[0]!]);
    found = await read();
  }
  return [...found].map(([name, rows]) => ({
    name,
    lastTickMs: rows[0]!.last_tick_ms === null ? null : Math.round(Number(rows[0]!.last_tick_ms)),
    currentJobId: rows[0]!.current_job_id === null ? null : String(rows[0]!.current_job_id),
    sinceMs: Number(rows[0]!.since_ms),
    runs: rows.filter(({ run_job_id: id }) => id !== null).map(toRun),
    nowMs: Number(rows[0]!.now_ms),
  }));
}

/** Takes a tick and enqueues its job; null when it was not taken. */
export async function takeTick(database: Statements, request: TakeTick): Promise<JobId | null> {
  const { periodic, job, expectedMs, tickMs } = request;
  const [row] = await database.query(TAKE_TICK, [periodic, ...columnsOf(job), expectedMs, tickMs]);
  return row === undefined ? null : String(row.id);
}

/** Puts the last tick back to one that can be. False when it is another by now, or somebody holds the row. */
export async function resetTick(
  database: Statements,
  periodic: string,
  expectedMs: number | null,
  tickMs: number,
): Promise<boolean> {
  return (await database.query(RESET, [periodic, expectedMs, tickMs])).length > 0;
}

/** Enqueues one run beside the schedule, or returns the id of the one that waits or runs. */
export async function runPeriodic(database: Statements, job: NewJob, periodic: string): Promise<JobId> {
  for (let tries = 0; tries < TRIES; tries++) {
    const [row] = await database.query(RUN, [periodic, ...columnsOf(job)]);
    if (row !== undefined) return String(row.id);
    // Nobody has looked at it yet, or it was changed while the statement waited for it.
    await database.query(MAKE, [arrayLiteral([periodic])]);
  }
  throw new TransactionConflictError("40001", { cause: new Error("The periodic changed each time") });
}

/**
 * Makes an ended run that is about to come back in line the one that its periodic waits for. Returns the id of another
 * run that waits or runs, and changes nothing then.
 */
export async function linkRun(tx: Transaction, periodic: string, id: JobId): Promise<JobId | null> {
  const live = await liveJob(tx, await lockPeriodic(tx, periodic));
  if (live === null) await tx.unsafe(LINK, [periodic, id]);
  return live;
}

async function lockPeriodic(tx: Transaction, name: string): Promise<TxRow> {
  const found = (await tx.unsafe(LOCK, [name]))[0];
  if (found !== undefined) return found;
  await tx.unsafe(MAKE, [arrayLiteral([name])]);
  return (await tx.unsafe(LOCK, [name]))[0]!;
}

async function liveJob(tx: Transaction, periodic: TxRow): Promise<JobId | null> {
  if (periodic.job_id === null) return null;
  const id = String(periodic.job_id);
  return (await tx.unsafe(IS_LIVE, [id])).length > 0 ? id : null;
}

function columnsOf({ kind, queue, priority, maxAttempts, args }: NewJob): string[] {
  return [kind, queue, String(priority), String(maxAttempts), args];
}

function toRun({ run_job_id, finished_ms, state, output, error }: TxRow): PeriodicRun {
  const finishedMs = Number(finished_ms);
  return {
    jobId: String(run_job_id),
    finishedAt: new Date(Math.abs(finishedMs) <= 8.64e15 ? finishedMs : 0).toISOString(),
    state: state as JobState,
    output: output === null ? null : JSON.parse(String(output)) as Json,
    error: error === null ? null : String(error),
  };
}
