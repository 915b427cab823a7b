import { type Depth, DEPTH_COUNTED_MAX, type DepthFilter } from "../../../ports/inspector.ts";
import type { JobState } from "../../../ports/job.ts";
import type { Counts } from "../../../ports/store.ts";
import type { PostgresDatabase } from "../connection/database.ts";
import { pausedQueues } from "../jobs/declared.ts";
import { epochMsSql } from "../sql/sql_text.ts";
import type { Statements } from "../sql/statements.ts";

const STATES = `
  select kind, state, count(*)::float8 as count
  from {schema}.job
  where $1::text is null or kind = $1::text
  group by kind, state
  union all
  select kind, state, count(*)::float8
  from {schema}.job_history
  where $1::text is null or kind = $1::text
  group by kind, state`;

/** No further than the bound, or a large backlog would make it dear. */
const DEPTH = `
  select
    (count(*) filter (where state = 'pending'))::float8 as pending,
    (count(*) filter (where state = 'retryable'))::float8 as retryable,
    (count(*) filter (where state = 'running'))::float8 as running,
    (count(*) filter (where is_due))::float8 as due,
    ${epochMsSql("clock_timestamp()")} - ${epochMsSql("min(due_at) filter (where is_due)")} as oldest_due_ms,
    count(*) = ${DEPTH_COUNTED_MAX} as is_capped
  from (
    select
      state, greatest(scheduled_at, enqueued_at) as due_at,
      state <> 'running' and not undeclared and scheduled_at <= clock_timestamp() as is_due
    from {schema}.job
    where ($1::text is null or kind = $1::text) and ($2::text is null or queue = $2::text)
    limit ${DEPTH_COUNTED_MAX}
  ) as counted`;

/** Goes from queue to queue and from priority to priority through the ready index, one row each. */
const WAITING = `
  with recursive line as (
    (select queue, priority, scheduled_at, enqueued_at
      from {schema}.job
      where state in ('pending', 'retryable')
      order by queue, priority, scheduled_at, id
      limit 1)
    union all
    select following.*
    from line cross join lateral (
      select queue, priority, scheduled_at, enqueued_at
      from {schema}.job
      where state in ('pending', 'retryable') and (queue, priority) > (line.queue, line.priority)
      order by queue, priority, scheduled_at, id
      limit 1
    ) as following
  )
  select queue, priority, ${epochMsSql("clock_timestamp()")} - ${
  epochMsSql("greatest(scheduled_at, enqueued_at)")
} as oldest_ms
  from line
  where scheduled_at <= clock_timestamp()`;

const WAITING_OF_KIND = `
  select
    queue, priority,
    ${epochMsSql("clock_timestamp()")} - ${
  epochMsSql("min(greatest(scheduled_at, enqueued_at))")
} as oldest_ms
  from {schema}.job
  where state in ('pending', 'retryable') and kind = $1::text and scheduled_at <= clock_timestamp()
  group by queue, priority`;

const UNDECLARED = `
  select count(*)::float8 as count
  from {schema}.job
  where undeclared and state in ('pending', 'retryable') and ($1::text is null or kind = $1::text)`;

const BYTES = `
  select coalesce(sum(pg_total_relation_size(c.oid)), 0)::float8 as bytes
  from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
  where n.nspname = $1::text and c.relkind = 'r'`;

/**
 * What fell due since the last claim began counts too. Not what has been due for longer: that is held by a transaction
 * and is to be claimed when it ends, or was claimed and would have to be walked over.
 */
const NEXT_DUE = `
  select greatest(0, ${epochMsSql("min(scheduled_at)")} - ${epochMsSql("clock_timestamp()")}) as due_ms
  from (values (1), (2), (3), (4)) as line (priority)
  cross join lateral (
    select scheduled_at
    from {schema}.job
    where queue = $1::text
      and priority = line.priority
      and state in ('pending', 'retryable')
      and scheduled_at > statement_timestamp() - $2::float8 * interval '1 ms'
    order by scheduled_at, id
    limit 1
  ) as earliest
  having count(*) > 0`;

/** Counts what has not ended. */
export async function depthOf(database: Statements, filter: DepthFilter): Promise<Depth> {
  const { kind, queue } = filter;
  const [row] = await database.query(DEPTH, [kind ?? null, queue ?? null]);
  const isCounted = row?.is_capped !== true;
  const inLineMs = row?.oldest_due_ms === null ? null : ageMs(row?.oldest_due_ms);
  return {
    pending: Number(row?.pending),
    retryable: Number(row?.retryable),
    running: Number(row?.running),
    due: Number(row?.due),
    oldestDueMs: isCounted ? inLineMs : await oldestDueMs(database, filter),
  };
}

/** Of all, where more wait than are counted. */
async function oldestDueMs(database: Statements, { kind, queue }: DepthFilter): Promise<number | null> {
  const waiting = await readWaiting(database, kind);
  const ages = waiting.filter((each) => queue === undefined || each.queue === queue).map((each) =>
    each.oldestMs
  );
  return ages.length === 0 ? null : Math.max(...ages);
}

async function readWaiting(database: Statements, kind: string | undefined): Promise<Counts["waiting"]> {
  const rows = kind === undefined
    ? await database.query(WAITING)
    : await database.query(WAITING_OF_KIND, [kind]);
  return rows.map((row) => ({
    queue: String(row.queue),
    priority: Number(row.priority),
    oldestMs: ageMs(row.oldest_ms),
  }));
}

function ageMs(ms: unknown): number {
  return Math.min(Math.max(0, Number(ms)), Number.MAX_SAFE_INTEGER);
}

/** Counts and ages, over all kinds or one. */
export async function countJobs(database: PostgresDatabase, kind?: string): Promise<Counts> {
  const of = kind ?? null;
  const [states, waiting, undeclared, bytes] = [
    await database.query(STATES, [of]),
    await readWaiting(database, kind),
    await database.query(UNDECLARED, [of]),
    await database.query(BYTES, [database.schema]),
  ];
  return {
    states: states.map((row) => ({
      kind: String(row.kind),
      state: row.state as JobState,
      count: Number(row.count),
    })),
    waiting,
    undeclared: Number(undeclared[0]?.count),
    bytes: Number(bytes[0]?.bytes),
    paused: await pausedQueues(database),
  };
}

/**
 * In how many ms the next job of a queue falls due that was not due yet so many ms ago; 0 when it is now, null when
 * there is none.
 */
export async function nextDue(database: Statements, queue: string, agoMs: number): Promise<number | null> {
  const [row] = await database.query(NEXT_DUE, [queue, agoMs]);
  return row === undefined ? null : Number(row.due_ms);
}
