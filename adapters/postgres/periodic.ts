import type { JobId, JobState } from "../../ports/job.ts";
import type { Json } from "../../ports/json.ts";
import type { Transaction } from "../../ports/database.ts";
import type { PeriodicRun } from "../../ports/inspector.ts";
import type { NewJob, PeriodicRow, TakeTick } from "../../ports/store.ts";
import type { TxRow } from "../../ports/tx.ts";
import type { PostgresDatabase } from "./database.ts";
import { insertJobsIn, type InsertTarget } from "./insert.ts";
import { arrayLiteral, epochMsSql } from "./sql_text.ts";

const MAKE = `
  insert into {schema}.periodic (name)
  select name
  from unnest($1::text::text[]) as given (name)
  where not exists (select from {schema}.periodic where periodic.name = given.name)
  order by name
  on conflict (name) do nothing`;

const READ = `
  select
    periodic.name, ${epochMsSql("last_tick")} as last_tick_ms, job.id as current_job_id, runs::text as runs,
    ${epochMsSql("since")} as since_ms, ${epochMsSql("clock_timestamp()")} as now_ms
  from {schema}.periodic
  left join {schema}.job on job.id = periodic.job_id
  where periodic.name = any($1::text::text[])`;

const LOCK = `
  select ${epochMsSql("last_tick")} as last_tick_ms, job_id
  from {schema}.periodic
  where name = $1::text
  for update`;

const IS_LIVE = "select 1 from {schema}.job where id = $1::text::bigint";

const LINK = `
  update {schema}.periodic
  set job_id = $2::text::bigint,
    last_tick = coalesce(to_timestamp($3::float8 / 1000), last_tick)
  where name = $1::text`;

/** What is stored of periodics; those never seen are made. */
export async function readPeriodics(
  database: PostgresDatabase,
  names: readonly string[],
): Promise<PeriodicRow[]> {
  if (names.length === 0) return [];
  const list = arrayLiteral(names);
  let rows = await database.query(READ, [list]);
  if (rows.length < new Set(names).size) {
    await database.query(MAKE, [list]);
    rows = await database.query(READ, [list]);
  }
  return rows.map((row) => ({
    name: String(row.name),
    lastTickMs: row.last_tick_ms === null ? null : Math.round(Number(row.last_tick_ms)),
    currentJobId: row.current_job_id === null ? null : String(row.current_job_id),
    sinceMs: Number(row.since_ms),
    runs: toRuns(String(row.runs)),
    nowMs: Number(row.now_ms),
  }));
}

/** Takes a tick and enqueues its job in one transaction; null when it was not taken. */
export async function takeTick(
  database: PostgresDatabase,
  target: InsertTarget,
  request: TakeTick,
): Promise<JobId | null> {
  return await database.transaction(async (tx) => {
    const row = await lockPeriodic(tx, request.periodic);
    const lastMs = row.last_tick_ms === null ? null : Math.round(Number(row.last_tick_ms));
    if (lastMs !== request.expectedMs || await liveJob(tx, row) !== null) return null;
    return await enqueueRun(tx, target, request.job, request.periodic, request.tickMs);
  });
}

/** Enqueues one run beside the schedule, or returns the id of the one that waits or runs. */
export async function runPeriodic(
  database: PostgresDatabase,
  target: InsertTarget,
  job: NewJob,
  periodic: string,
): Promise<JobId> {
  return await database.transaction(async (tx) => {
    const row = await lockPeriodic(tx, periodic);
    return await liveJob(tx, row) ?? await enqueueRun(tx, target, job, periodic, null);
  });
}

/**
 * Makes an ended run that is about to come back in line the one that its periodic waits for. Returns the id of another
 * run that waits or runs, and changes nothing then.
 */
export async function linkRun(tx: Transaction, periodic: string, id: JobId): Promise<JobId | null> {
  const live = await liveJob(tx, await lockPeriodic(tx, periodic));
  if (live === null) await tx.unsafe(LINK, [periodic, id, null]);
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

async function enqueueRun(
  tx: Transaction,
  target: InsertTarget,
  job: NewJob,
  periodic: string,
  tickMs: number | null,
): Promise<JobId> {
  const [inserted] = await insertJobsIn(tx, target, [job]);
  await tx.unsafe(LINK, [periodic, inserted!.id, tickMs]);
  return inserted!.id;
}

function toRuns(text: string): PeriodicRun[] {
  const runs: unknown = JSON.parse(text);
  if (!Array.isArray(runs)) return [];
  return runs.map((run: Record<string, unknown>) => ({
    jobId: String(run.jobId),
    finishedAt: String(run.finishedAt),
    state: run.state as JobState,
    output: (run.output ?? null) as Json,
    error: typeof run.error === "string" ? run.error : null,
  }));
}
