import type { Transaction } from "../../../ports/database.ts";
import { TransactionConflictError } from "../../../ports/errors.ts";
import type { JobId } from "../../../ports/job.ts";
import {
  type DuePeriodics,
  type DueRequest,
  type PeriodicDeclaration,
  type PeriodicJob,
  type PeriodicPlan,
  type PeriodicTick,
  type StoredPeriodics,
  SUPERSEDED,
  type TakenTick,
} from "../../../ports/store.ts";
import type { TxRow } from "../../../ports/tx.ts";
import { inBatches } from "../../../shared/batches.ts";
import { endJobs, withError } from "../jobs/history.ts";
import { arrayLiteral, epochMsSql } from "../sql/sql_text.ts";
import type { Statements } from "../sql/statements.ts";
import { PERIODIC_COLUMNS, tickMsSql, toDeclaration, toPeriodics } from "./periodic_row.ts";

const MAKE = `
  insert into {schema}.periodic (name)
  values ($1::text)
  on conflict (name) do nothing`;

/** All rows of the clock, which there is one of, with each of these periodics. */
const readSql = (periodics: string) => `
  select clock.now_ms, ${PERIODIC_COLUMNS}
  from (select ${epochMsSql("clock_timestamp()")} as now_ms) as clock
  left join ${periodics} as periodic on true
  order by periodic.name`;

/** The same with their newest runs, of the same moment as the rest, and as one value: 20 rows of each would take long. */
const readRunsSql = (periodics: string) => `
  select
    clock.now_ms, ${PERIODIC_COLUMNS},
    (
      select json_agg(json_build_array(job_id::text, finished_ms, state, output, error) order by id desc)::text
      from (
        select id, job_id, ${epochMsSql("finished_at")} as finished_ms, state, output, error
        from {schema}.periodic_run
        where periodic_run.name = periodic.name
        order by id desc
        limit 20
      ) as run
    ) as runs
  from (select ${epochMsSql("clock_timestamp()")} as now_ms) as clock
  left join ${periodics} as periodic on true
  order by periodic.name`;

const ALL = "{schema}.periodic";

/** Each by its key: an array of names would be searched again for each row, and 10,000 of both take half a minute. */
const NAMED = `(
    select stored.*
    from unnest($1::text::text[]) as given (name) cross join lateral (
      select *, xmin from {schema}.periodic where periodic.name = given.name offset 0
    ) as stored
  )`;

const READ = readSql(ALL);
const READ_NAMED = readSql(NAMED);
const READ_RUNS = readRunsSql(ALL);
const READ_NAMED_RUNS = readRunsSql(NAMED);

const DECLARED = `
  select periodics::text as periodics, max(${tickMsSql("started_at")}) as at_ms
  from {schema}.worker
  where periodics is not null
  group by worker.periodics
  order by at_ms desc`;

/** Whole ms as an instant. */
const instantSql = (ms: string) => `to_timestamp(${ms} / 1000)`;

const PLAN = `
  with given as materialized (
    select *
    from json_to_recordset($1::text::json) as given (
      name text, version text, kind text, queue text, priority smallint, max_attempts int, args text, every_ms bigint,
      cron text, timezone text, declared_ms float8, is_declared boolean, next_tick_ms float8, counts_anew boolean
    )
  ), free as materialized (
    select given.*
    from {schema}.periodic
    join given on given.name = periodic.name
    where periodic.xmin::text = given.version
    order by periodic.name
    for update of periodic skip locked
  ), changed as (
    update {schema}.periodic
    set
      source = 'code', kind = free.kind, queue = free.queue, priority = free.priority, max_attempts = free.max_attempts,
      args = free.args::jsonb, every_ms = free.every_ms, cron = free.cron, timezone = free.timezone,
      declared_at = ${instantSql("free.declared_ms")},
      undeclared_at = case when not is_declared then coalesce(periodic.undeclared_at, clock_timestamp()) end,
      next_tick = ${instantSql("next_tick_ms")},
      since = case when counts_anew then clock_timestamp() else periodic.since end
    from free
    where periodic.name = free.name
    returning periodic.name
  ), made as (
    insert into {schema}.periodic (
      name, source, kind, queue, priority, max_attempts, args, every_ms, cron, timezone, declared_at, next_tick
    )
    select
      name, 'code', kind, queue, priority, max_attempts, args::jsonb, every_ms, cron, timezone,
      ${instantSql("declared_ms")}, ${instantSql("next_tick_ms")}
    from given
    where version is null
    order by name
    on conflict (name) do nothing
    returning name
  )
  select name from changed
  union all
  select name from made`;

const DUE = `
  with clock as materialized (
    select clock_timestamp() as at
  ), due as materialized (
    select name
    from {schema}.periodic
    where next_tick <= (select at from clock)
      and (next_tick, name) > (${instantSql("$1::text::float8")}, $2::text)
      and kind is not null
    order by next_tick, name
    limit $3::text::int
  )
  select told.now_ms, told.coming_ms, found.*
  from (
    select
      ${epochMsSql("at")} as now_ms,
      (
        select ${tickMsSql("next_tick")}
        from {schema}.periodic
        where next_tick > (select at from clock)
        order by next_tick
        limit 1
      ) as coming_ms
    from clock
  ) as told
  left join (
    select ${PERIODIC_COLUMNS}
    from due cross join lateral (
      select *, xmin from {schema}.periodic where periodic.name = due.name offset 0
    ) as periodic
  ) as found on true
  order by found.next_tick_ms, found.name`;

/**
 * A run that waits for a later attempt is in nobody's way: it ends, once it is locked. One that somebody else holds counts as
 * one that is. \`offset 0\` keeps the planner from another way than by the id, which statistics of an empty table would make
 * it choose.
 */
const waitingSql = (id: string) => `
    select job.ctid as place
    from {schema}.job
    where job.id = ${id} and job.run > 0 and job.state <> 'running' and not job.undeclared
      and job.scheduled_at > clock_timestamp()
    offset 0
    for update skip locked`;

/** Ends the runs in \`free\` that are superseded. Whoever makes the next runs counts \`written\`, to begin after that. */
const supersedeSql = (error: string) => `
  superseded as (
    delete from {schema}.job
    using free
    where job.ctid = free.superseded
    returning job.*,
      'cancelled' as final,
      null::jsonb as output,
      ${withError("job", error)} as final_errors
  ), ${endJobs("superseded")}`;

const NEXT_JOB_ID = "nextval($name${schema}.job_id_seq$name$::regclass)";

/**
 * One statement, so that a process that is frozen holds no lock. A row that somebody holds is left for the next look, and so
 * is one that was changed since it was read: that may have made a run that the statement can't see. Nothing is joined but
 * by a key or a place: 500 rows by 500 would take as long as all else together, and statistics lag behind.
 */
const TAKE_TICKS = `
  with given as materialized (
    select *
    from unnest($1::text::text[], $2::text::text[], $3::text::float8[], $4::text::float8[])
      as given (name, version, tick_ms, next_tick_ms)
  ), seen as materialized (
    select given.*, periodic.live_id
    from given cross join lateral (
      select (select id from {schema}.job where job.id = periodic.job_id) as live_id
      from {schema}.periodic
      where periodic.name = given.name and periodic.xmin::text = given.version
      offset 0
    ) as periodic
  ), ready as materialized (
    select seen.*, waiting.place as superseded
    from seen left join lateral (${waitingSql("seen.live_id")}
    ) as waiting on true
    where seen.live_id is null or waiting.place is not null
  ), free as materialized (
    select
      periodic.*, ready.tick_ms, ready.next_tick_ms, ready.superseded,
      ${NEXT_JOB_ID} as job_id
    from ready cross join lateral (
      select ctid as place, name, kind, queue, priority, max_attempts, args
      from {schema}.periodic
      where periodic.name = ready.name
        and periodic.xmin::text = ready.version
        and periodic.kind is not null
        and periodic.paused_at is null
      offset 0
      for update skip locked
    ) as periodic
  ), ${supersedeSql("$5::text::jsonb")}, inserted as (
    insert into {schema}.job (id, kind, queue, priority, max_attempts, args, scheduled_at, periodic)
    select job_id, kind, queue, priority, max_attempts, args, clock_timestamp(), name
    from free cross join (select count(*) from written) as ended
    returning id, queue, periodic
  ), linked as (
    update {schema}.periodic
    set
      job_id = free.job_id,
      last_tick = ${instantSql("free.tick_ms")},
      next_tick = ${instantSql("free.next_tick_ms")}
    from free
    where periodic.ctid = free.place
  )
  select id, queue, periodic from inserted`;

const RUN = `
  with seen as materialized (
    select name, xmin as version, (select id from {schema}.job where job.id = periodic.job_id) as live_id
    from {schema}.periodic
    where name = $1::text
  ), locked as materialized (
    select periodic.name, seen.live_id
    from {schema}.periodic
    join seen on seen.name = periodic.name
    where periodic.xmin = seen.version
    for update of periodic
  ), free as materialized (
    select locked.name, waiting.place as superseded
    from locked left join lateral (${waitingSql("locked.live_id")}
    ) as waiting on true
    where locked.live_id is null or waiting.place is not null
  ), ${supersedeSql("$7::text::jsonb")}, inserted as (
    insert into {schema}.job (kind, queue, priority, max_attempts, args, scheduled_at, periodic)
    select
      $2::text, $3::text, $4::text::smallint, $5::text::int, $6::text::jsonb, clock_timestamp(), name
    from free cross join (select count(*) from written) as ended
    returning id
  ), linked as (
    update {schema}.periodic
    set job_id = inserted.id
    from inserted
    where name = $1::text
  )
  select id from inserted
  union all
  select live_id from locked where not exists (select from free)`;

const PAUSE = `
  insert into {schema}.periodic (name, paused_at)
  values ($1::text, clock_timestamp())
  on conflict (name) do update
  set paused_at = excluded.paused_at, next_tick = null
  where periodic.paused_at is null`;

const RESUME = `
  update {schema}.periodic
  set paused_at = null, next_tick = ${instantSql("$3::text::float8")}, since = clock_timestamp()
  where name = $1::text and xmin::text = $2::text
  returning name`;

const LOCK = "select job_id from {schema}.periodic where name = $1::text for update";

const IS_LIVE = "select 1 from {schema}.job where id = $1::text::bigint";

const LINK = "update {schema}.periodic set job_id = $2::text::bigint where name = $1::text";

const TRIES = 5;

const SUPERSEDED_TEXT = JSON.stringify(SUPERSEDED);

/** What is stored of periodics, all or those that are named. */
export async function readPeriodics(
  database: Statements,
  names: readonly string[] | undefined,
  withRuns: boolean,
): Promise<StoredPeriodics> {
  const rows = names === undefined
    ? await database.query(withRuns ? READ_RUNS : READ)
    : await database.query(withRuns ? READ_NAMED_RUNS : READ_NAMED, [arrayLiteral(names)]);
  return toPeriodics(rows);
}

/** What the processes on the record declare, the newest first. */
export async function declaredPeriodics(database: Statements): Promise<PeriodicDeclaration[]> {
  return (await database.query(DECLARED)).map(toDeclaration);
}

/** Stores what periodics are; returns the names of those that were stored. */
export async function planPeriodics(database: Statements, plans: readonly PeriodicPlan[]): Promise<string[]> {
  const names: string[] = [];
  for (const batch of inBatches(plans, ({ name, spec }) => name.length + spec.job.args.length)) {
    const rows = await database.query(PLAN, [JSON.stringify(batch.map(columnsOfPlan))]);
    names.push(...rows.map((row) => String(row.name)));
  }
  return names;
}

/** The periodics whose next tick has come. */
export async function duePeriodics(
  database: Statements,
  { after, limit }: DueRequest,
): Promise<DuePeriodics> {
  const { tickMs, name } = after ?? { tickMs: -Infinity, name: "" };
  const rows = await database.query(DUE, [String(tickMs), name, String(limit)]);
  const comingMs = rows[0]!.coming_ms;
  return { ...toPeriodics(rows), comingMs: comingMs === null ? null : Number(comingMs) };
}

/** Takes ticks and enqueues their jobs; tells which were taken. */
export async function takeTicks(database: Statements, ticks: readonly PeriodicTick[]): Promise<TakenTick[]> {
  const rows = await database.query(TAKE_TICKS, [
    arrayLiteral(ticks.map(({ name }) => name)),
    arrayLiteral(ticks.map(({ version }) => version)),
    arrayLiteral(ticks.map(({ tickMs }) => tickMs)),
    arrayLiteral(ticks.map(({ nextTickMs }) => nextTickMs)),
    SUPERSEDED_TEXT,
  ]);
  return rows.map(({ id, queue, periodic }) => ({
    name: String(periodic),
    jobId: String(id),
    queue: String(queue),
  }));
}

/** Enqueues one run beside the schedule, or returns the id of the one that runs or is due. */
export async function runPeriodic(database: Statements, name: string, job: PeriodicJob): Promise<JobId> {
  const { kind, queue, priority, maxAttempts, args } = job;
  const params = [name, kind, queue, String(priority), String(maxAttempts), args, SUPERSEDED_TEXT];
  for (let tries = 0; tries < TRIES; tries++) {
    const [row] = await database.query(RUN, params);
    if (row !== undefined) return String(row.id);
    // It has no row yet, or the row was changed while the statement waited for it.
    await database.query(MAKE, [name]);
  }
  throw new TransactionConflictError("40001", { cause: new Error("The periodic changed each time") });
}

/** From now on a periodic has no ticks. */
export async function pausePeriodic(database: Statements, name: string): Promise<void> {
  await database.query(PAUSE, [name]);
}

/** From now on it has ticks again. False when it is of another version by now. */
export async function resumePeriodic(
  database: Statements,
  name: string,
  version: string,
  nextTickMs: number | null,
): Promise<boolean> {
  const nextTick = nextTickMs === null ? null : String(nextTickMs);
  return (await database.query(RESUME, [name, version, nextTick])).length > 0;
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
  await tx.unsafe(MAKE, [name]);
  return (await tx.unsafe(LOCK, [name]))[0]!;
}

async function liveJob(tx: Transaction, periodic: TxRow): Promise<JobId | null> {
  if (periodic.job_id === null) return null;
  const id = String(periodic.job_id);
  return (await tx.unsafe(IS_LIVE, [id])).length > 0 ? id : null;
}

function columnsOfPlan(plan: PeriodicPlan): Record<string, unknown> {
  const { name, version, spec: { schedule, job }, declaredMs, isDeclared, nextTickMs, countsAnew } = plan;
  return {
    name,
    version,
    kind: job.kind,
    queue: job.queue,
    priority: job.priority,
    max_attempts: job.maxAttempts,
    args: job.args,
    every_ms: "every" in schedule ? schedule.every : null,
    cron: "cron" in schedule ? schedule.cron : null,
    timezone: "cron" in schedule ? schedule.timezone : null,
    declared_ms: declaredMs,
    is_declared: isDeclared,
    next_tick_ms: nextTickMs,
    counts_anew: countsAnew,
  };
}
