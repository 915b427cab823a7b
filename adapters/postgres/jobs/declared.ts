import type { KeyRule } from "../../../ports/key_rule.ts";
import type { Declared, DeclaredKind, PausedQueue } from "../../../ports/store.ts";
import type { PostgresDatabase } from "../connection/database.ts";
import { arrayLiteral, isoSql } from "../sql/sql_text.ts";
import type { Statements } from "../sql/statements.ts";

const DECLARE_QUEUES = `
  insert into {schema}.queue (name)
  select name from unnest($1::text::text[]) as given (name)
  order by name
  on conflict (name) do nothing`;

/** Stores kinds that are not stored so. */
const storeKindsSql = (given: string) => `
  insert into {schema}.kind as known (
    name, queue, max_attempts, key_by, key_while, key_within_ms, quiet_ms, at_most_ms
  )
  select name, queue, max_attempts, key_by::text[], key_while::text[], key_within_ms, quiet_ms, at_most_ms
  from ${given}
  order by name
  on conflict (name) do update
  set queue = excluded.queue, max_attempts = excluded.max_attempts, key_by = excluded.key_by,
    key_while = excluded.key_while, key_within_ms = excluded.key_within_ms, quiet_ms = excluded.quiet_ms,
    at_most_ms = excluded.at_most_ms
  where row(known.*) is distinct from row(excluded.*)
  returning name`;

/** The process that started last is the newest program, so it says how a kind's jobs run and what it does with twins. */
const DECLARE_KINDS = storeKindsSql(`
  unnest(
    $1::text::text[], $2::text::text[], $3::text::int[],
    $4::text::text[], $5::text::text[], $6::text::bigint[], $7::text::bigint[], $8::text::bigint[]
  ) as given (name, queue, max_attempts, key_by, key_while, key_within_ms, quiet_ms, at_most_ms)`);

/**
 * What an older program declares is not on its row, and what is stored may be that. So while one lives, nothing is taken for
 * undeclared. Programs that are alike are read once. Only what differs is written, or each look would lock every kind.
 */
const RENEW_KINDS = storeKindsSql(`(
    select *
    from (
      select distinct on (kind.name) kind.*
      from (
        select kinds, max(started_at) as started_at from {schema}.worker group by kinds
      ) as program cross join jsonb_to_recordset(program.kinds) as kind (
        name text, queue text, max_attempts int, key_by text[], key_while text[], key_within_ms bigint,
        quiet_ms bigint, at_most_ms bigint
      )
      order by kind.name, program.started_at desc
    ) as newest
    where not exists (select from {schema}.worker where kinds is null)
    except
    select name, queue, max_attempts, key_by, key_while, key_within_ms, quiet_ms, at_most_ms
    from {schema}.kind
  ) as given`);

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

/**
 * A queue that only enqueuing programs declare is known by its jobs alone, so the names are read from those, one step of the
 * index for each. By priority, or a queue with many jobs that are not due would be walked through.
 */
const UNWORKED = `
  with recursive waiting (name) as (
    (
      select queue
      from {schema}.job
      where state in ('pending', 'retryable')
      order by queue
      limit 1
    )
    union all
    select (
      select queue
      from {schema}.job
      where queue > waiting.name and state in ('pending', 'retryable')
      order by queue
      limit 1
    )
    from waiting
    where waiting.name is not null
  )
  select name
  from waiting
  where name is not null
    and not exists (select from {schema}.queue where queue.name = waiting.name and paused_at is not null)
    and not exists (select from {schema}.listening where listening.queue = waiting.name)
    and exists (
      select from generate_series(1, 4) as priorities (priority)
      where exists (
        select from {schema}.job
        where queue = waiting.name
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
    ...ruleColumns(kinds.map((kind) => kind.rule)),
  ]);
}

/** Stores of each kind what the newest process on the record says of it; returns the names of those that changed. */
export async function renewKinds(database: Statements): Promise<string[]> {
  return (await database.query(RENEW_KINDS)).map((row) => String(row.name));
}

/** What a process declares of kinds, for the record of processes: as the columns of the kinds. */
export function kindsText(kinds: readonly DeclaredKind[]): string {
  return JSON.stringify(kinds.map(({ name, queue, maxAttempts, rule }) => ({
    name,
    queue,
    max_attempts: maxAttempts,
    key_by: rule?.by,
    key_while: rule?.while,
    key_within_ms: rule?.withinMs,
    quiet_ms: rule?.debounce?.quietMs,
    at_most_ms: rule?.debounce?.atMostMs,
  })));
}

/** Rules as columns: paths, states, how long a completed job counts, quiet and latest time, in ms. */
export function ruleColumns(rules: readonly (KeyRule | undefined)[]): string[] {
  const texts = (values: readonly string[] | null | undefined) =>
    values == null ? null : arrayLiteral(values);
  return [
    arrayLiteral(rules.map((rule) => texts(rule?.by))),
    arrayLiteral(rules.map((rule) => texts(rule?.while))),
    arrayLiteral(rules.map((rule) => rule?.withinMs ?? null)),
    arrayLiteral(rules.map((rule) => rule?.debounce?.quietMs ?? null)),
    arrayLiteral(rules.map((rule) => rule?.debounce?.atMostMs ?? null)),
  ];
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
