import type { JobFilter } from "../../../ports/inspector.ts";
import type {
  AttemptError,
  JobDetail,
  JobId,
  JobProgress,
  JobState,
  JobSummary,
} from "../../../ports/job.ts";
import type { Json } from "../../../ports/json.ts";
import { ARGS_PREVIEW_LENGTH } from "../../../ports/limits.ts";
import type { Final, Finals } from "../../../ports/store.ts";
import type { TxRow } from "../../../ports/tx.ts";
import { isTooDeep, unsafeNumbers } from "../../../shared/json_text.ts";
import type { PostgresDatabase } from "../connection/database.ts";
import { SHOWN_SCHEDULED_AT } from "../jobs/aside.ts";
import { arrayLiteral, isJobId, isoSql } from "../sql/sql_text.ts";

/** The columns that both tables have. */
const SHARED = `
  id, kind, queue, state, priority, attempt, max_attempts, run, snoozes, alone,
  enqueued_at, claimed_at, args, errors, progress, unique_key`;

const SUMMARY = `
  id, kind, queue, state, priority, attempt, max_attempts, snoozes,
  ${isoSql("enqueued_at")} as enqueued_at, ${isoSql("scheduled_at")} as scheduled_at,
  ${isoSql("claimed_at")} as claimed_at, ${isoSql("finished_at")} as finished_at,
  left(args::text, ${ARGS_PREVIEW_LENGTH}) as args_preview`;

const FILTER = `
  ($1::text is null or kind = $1::text)
    and ($2::text is null or queue = $2::text)
    and ($3::text is null or state = $3::text)
    and ($4::text is null or args @> $4::text::jsonb)
    and ($5::text is null or id < $5::text::bigint)`;

/** Each table gives its newest, so that neither is read further than the limit; the preview is made of those only. */
const LIST = `
  with newest as materialized (
    select * from (
      (select ${SHARED}, ${SHOWN_SCHEDULED_AT} as scheduled_at, null::timestamptz as finished_at
        from {schema}.job
        where ${FILTER}
        order by id desc
        limit $6::int)
      union all
      (select ${SHARED}, scheduled_at, finished_at
        from {schema}.job_history
        where ${FILTER}
        order by id desc
        limit $6::int)
    ) as both_tables
    order by id desc
    limit $6::int
  )
  select ${SUMMARY}
  from newest
  order by id desc`;

const GET = `
  select
    ${SUMMARY}, run, alone, cancel_requested, unique_key is not null as is_unique,
    args::text as args, errors::text as errors, output::text as output,
    coalesce(
      -- A program of an older version writes it into the job's row.
      (select told.progress from {schema}.job_progress as told where told.job_id = job.id and told.run = job.run),
      progress
    )::text as progress
  from (
    select
      ${SHARED}, ${SHOWN_SCHEDULED_AT} as scheduled_at, null::timestamptz as finished_at, cancel_requested,
      null::jsonb as output
    from {schema}.job
    where id = $1::text::bigint
    union all
    select ${SHARED}, scheduled_at, finished_at, false, output
    from {schema}.job_history
    where id = $1::text::bigint
  ) as job`;

/**
 * A job that has not ended is the one that is meant, even if an older one of its id has. The tables are read in one snapshot.
 *
 * A snapshot ends behind the last transaction that has ended, and open ones may lie beyond. `age()` counts up to the number
 * that is given out next.
 */
const FINALS = `
  select
    asked.id, ended.state, ended.output::text as output, ended.errors -> -1 ->> 'message' as error,
    pg_snapshot_xmax(pg_current_snapshot())::text::bigint + age(pg_snapshot_xmax(pg_current_snapshot())::xid) as next
  from unnest($1::text::bigint[]) as asked (id)
  left join {schema}.job_history as ended on ended.id = asked.id
  where not exists (select from {schema}.job where job.id = asked.id)`;

/**
 * The oldest open transaction that has written to the table of jobs, prepared ones included: it holds a lock on the table until
 * it ends. No other one can bring a job, however long it stays open.
 */
const OLDEST_WRITER = `
  select
    pg_snapshot_xmax(pg_current_snapshot())::text::bigint + age(pg_snapshot_xmax(pg_current_snapshot())::xid)
      - coalesce(max(age(writer.transactionid)), 0) as oldest
  from pg_catalog.pg_locks as held
  join pg_catalog.pg_locks as writer on writer.virtualtransaction = held.virtualtransaction
  where held.locktype = 'relation'
    and held.mode = 'RowExclusiveLock'
    and held.granted
    and held.database = (select oid from pg_catalog.pg_database where datname = current_database())
    and held.relation = (
      select c.oid
      from pg_catalog.pg_class as c join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
      where n.nspname = $1::text and c.relname = 'job'
    )
    and writer.locktype = 'transactionid'
    and writer.mode = 'ExclusiveLock'
    and writer.granted`;

/** Jobs, newest first. */
export async function listJobs(
  database: PostgresDatabase,
  filter: JobFilter & { readonly limit: number },
): Promise<JobSummary[]> {
  // An id that no job can have is older than every job or newer than none: there is no next page.
  if (filter.before !== undefined && !isJobId(filter.before)) return [];
  const rows = await database.query(LIST, [
    filter.kind ?? null,
    filter.queue ?? null,
    filter.state ?? null,
    filter.args === undefined ? null : JSON.stringify(filter.args),
    filter.before ?? null,
    filter.limit,
  ]);
  return rows.map(toSummary);
}

/** One job whole; null when there is none. */
export async function getJob(database: PostgresDatabase, id: JobId): Promise<JobDetail | null> {
  if (!isJobId(id)) return null;
  const [row] = await database.query(GET, [id]);
  return row === undefined ? null : toDetail(row);
}

/** Which of these jobs have ended, and which are not there. */
export async function readFinals(database: PostgresDatabase, ids: readonly JobId[]): Promise<Finals> {
  const possible = ids.filter(isJobId);
  // No transaction can bring a job of an id that none can have.
  const impossible = ids.filter((id) => !isJobId(id)).map((id) => ({ id, oldest: 0, next: 0 }));
  const { ended, absent } = await look(database, possible);
  if (absent.length === 0) return { ended, missing: impossible };
  const [row] = await database.query(OLDEST_WRITER, [database.schema]);
  const oldest = Number(row?.oldest);
  // Who has ended by then may have done so after the first look.
  const again = await look(database, absent.map(({ id }) => id));
  const nextOf = new Map(absent.map(({ id, next }) => [id, next]));
  return {
    ended: [...ended, ...again.ended],
    missing: [...impossible, ...again.absent.map(({ id }) => ({ id, oldest, next: nextOf.get(id)! }))],
  };
}

/** A job that is in neither table, and the number of the next transaction. */
interface Absent {
  readonly id: JobId;
  readonly next: number;
}

async function look(
  database: PostgresDatabase,
  ids: readonly JobId[],
): Promise<{ ended: Final[]; absent: Absent[] }> {
  const ended: Final[] = [];
  const absent: Absent[] = [];
  const rows = ids.length === 0 ? [] : await database.query(FINALS, [arrayLiteral(ids)]);
  for (const row of rows) {
    const id = String(row.id);
    if (row.state === null) absent.push({ id, next: Number(row.next) });
    else ended.push(toFinal(id, row));
  }
  return { ended, absent };
}

function toFinal(id: JobId, row: TxRow): Final {
  return {
    id,
    state: row.state as Final["state"],
    output: row.output === null ? null : String(row.output),
    error: row.error === null ? null : String(row.error),
  };
}

function toSummary(row: TxRow): JobSummary {
  return {
    id: String(row.id),
    kind: String(row.kind),
    queue: String(row.queue),
    state: row.state as JobState,
    priority: Number(row.priority),
    attempt: Number(row.attempt),
    maxAttempts: Number(row.max_attempts),
    snoozes: Number(row.snoozes),
    enqueuedAt: String(row.enqueued_at),
    scheduledAt: String(row.scheduled_at),
    claimedAt: row.claimed_at === null ? null : String(row.claimed_at),
    finishedAt: row.finished_at === null ? null : String(row.finished_at),
    argsPreview: String(row.args_preview),
  };
}

function toDetail(row: TxRow): JobDetail {
  const argsText = String(row.args);
  const isReadable = !isTooDeep(argsText);
  return {
    ...toSummary(row),
    run: Number(row.run),
    args: parse(argsText),
    argsText,
    unsafeNumbers: (isReadable ? unsafeNumbers(argsText, "args") : []).map(({ path, digits }) => ({
      path,
      digits,
    })),
    output: parse(row.output),
    errors: toErrors(parse(row.errors)),
    progress: toProgress(parse(row.progress)),
    cancelRequested: row.cancel_requested === true,
    alone: row.alone === true,
    unique: row.is_unique === true,
  };
}

function parse(text: unknown): Json {
  return typeof text === "string" && !isTooDeep(text) ? JSON.parse(text) : null;
}

/** What somebody's SQL has left there is told as far as it goes: one odd row must not spoil a page. */
function toErrors(stored: Json): AttemptError[] {
  if (stored === null) return [];
  return (Array.isArray(stored) ? stored : [stored]).map((error: Json) => {
    const { attempt, at, class: of, message, stack } = fieldsOf(error);
    return {
      attempt: typeof attempt === "number" ? attempt : 0,
      at: typeof at === "string" ? at : "",
      class: (typeof of === "string" ? of : "error") as AttemptError["class"],
      message: typeof message === "string" ? message : JSON.stringify(error),
      ...(typeof stack === "string" ? { stack } : {}),
    };
  });
}

function toProgress(stored: Json): JobProgress | null {
  const { done, note } = fieldsOf(stored);
  if (typeof done !== "number") return null;
  return { done, ...(typeof note === "string" ? { note } : {}) };
}

function fieldsOf(value: Json): Readonly<Record<string, Json | undefined>> {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? value as Readonly<Record<string, Json>> : {};
}
