import type { Declared, PausedQueue } from "../../ports/store.ts";
import type { PostgresDatabase } from "./database.ts";
import { arrayLiteral, isoSql } from "./sql_text.ts";
import type { Statements } from "./statements.ts";

const DECLARE_QUEUES = `
  insert into {schema}.queue (name)
  select name from unnest($1::text::text[]) as given (name)
  order by name
  on conflict (name) do nothing`;

/** The process that started last is the newest program, so it says how a kind's jobs run. */
const DECLARE_KINDS = `
  insert into {schema}.kind as known (name, queue, max_attempts)
  select name, queue, max_attempts
  from unnest($1::text::text[], $2::text::text[], $3::text::int[]) as given (name, queue, max_attempts)
  order by name
  on conflict (name) do update
  set queue = excluded.queue, max_attempts = excluded.max_attempts
  where (known.queue, known.max_attempts) is distinct from (excluded.queue, excluded.max_attempts)`;

const PAUSE = `
  insert into {schema}.queue as known (name, paused_at)
  values ($1::text, clock_timestamp())
  on conflict (name) do update
  set paused_at = excluded.paused_at
  where known.paused_at is null`;

const RESUME = "update {schema}.queue set paused_at = null where name = $1::text and paused_at is not null";

const PAUSED = `
  select name, ${isoSql("paused_at")} as paused_at
  from {schema}.queue
  where paused_at is not null
  order by name`;

/** By priority, or a queue with many jobs that are not due would be walked through. */
const UNWORKED = `
  select name
  from {schema}.queue as known
  where paused_at is null
    and not exists (select from {schema}.listening where listening.queue = known.name)
    and exists (
      select from generate_series(1, 4) as priorities (priority)
      where exists (
        select from {schema}.job
        where queue = known.name
          and priority = priorities.priority::smallint
          and scheduled_at <= clock_timestamp()
          and state in ('pending', 'retryable')
      )
    )
  order by name`;

/** Tells the SQL function what this process declares. */
export async function declare(database: PostgresDatabase, declared: Declared): Promise<void> {
  const { kinds, queues } = declared;
  await database.query(DECLARE_QUEUES, [arrayLiteral(queues)]);
  await database.query(DECLARE_KINDS, [
    arrayLiteral(kinds.map((kind) => kind.name)),
    arrayLiteral(kinds.map((kind) => kind.queue)),
    arrayLiteral(kinds.map((kind) => kind.maxAttempts)),
  ]);
}

/** From now on nobody claims from this queue. */
export async function pauseQueue(database: Statements, queue: string): Promise<void> {
  await database.query(PAUSE, [queue]);
}

/** From now on it is claimed from again. */
export async function resumeQueue(database: Statements, queue: string): Promise<void> {
  await database.query(RESUME, [queue]);
}

/** The queues that are paused. */
export async function pausedQueues(database: PostgresDatabase): Promise<PausedQueue[]> {
  const rows = await database.query(PAUSED);
  return rows.map((row) => ({ queue: String(row.name), pausedAt: String(row.paused_at) }));
}

/** The queues in which due jobs wait and that no process works. */
export async function unworkedQueues(database: Statements): Promise<string[]> {
  return (await database.query(UNWORKED)).map((row) => String(row.name));
}
