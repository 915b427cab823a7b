import type { KeyRule } from "../../../ports/key_rule.ts";
import type { Inserted, NewJob } from "../../../ports/store.ts";
import type { TxParam, TxRow } from "../../../ports/tx.ts";
import { arrayLiteral } from "../sql/sql_text.ts";
import type { RunStatement } from "../sql/statements.ts";
import { silence } from "../wakes/silence.ts";
import { ruleColumns } from "./declared.ts";
import { GIVEN_JOBS } from "./given_jobs.ts";
import { columnsOf, idOf, type InsertTarget, kindsOf, wakeParams } from "./insert_columns.ts";
import { keySql } from "./key_sql.ts";

/**
 * Takes the keys, in their order so that no two enqueuers wait for each other crosswise, writes the jobs whose key was
 * free, and finds the holders of the others. `do nothing` leaves a caller's transaction unharmed.
 *
 * Open is left what a holder has to be judged for: all that fall under a rule, one whose holder can't be seen yet, and one
 * that is due before a holder that waits, or in another queue.
 */
const INSERT_UNIQUE = `
  with ${GIVEN_JOBS}, firsts as materialized (
    select distinct on (kind, key) kind, key, ord
    from given
    where key is not null
    order by kind, key, ord
  ), taken as (
    insert into {schema}.job_key (kind, key, job_id)
    select kind, key, nextval($18::text::regclass)
    from firsts
    order by kind, key
    on conflict (kind, key) do nothing
    returning kind, key, job_id
  ), wanted as (
    select given.*, taken.job_id as id
    from given join firsts using (kind, key, ord) join taken using (kind, key)
    union all
    select given.*, nextval($18::text::regclass)
    from given
    where key is null
  ), inserted as (
    insert into {schema}.job (
      id, kind, queue, priority, max_attempts, args, unique_key, scheduled_at, rules_applied
    )
    select id, kind, queue, priority, max_attempts, args, key, greatest(due, clock_timestamp()), true
    from wanted
  ), woken as (
    select pg_notify($15::text, signals.payload)
    from (
      select distinct queue from wanted where due <= clock_timestamp() or quiet_ms is not null
    ) as ready
    join unnest($16::text::text[], $17::text::text[]) as signals (queue, payload) using (queue)
    where $15::text is not null
      and ${silence("ready.queue")} is null
  )
  select
    given.ord::int as ord,
    coalesce(wanted.id, taken.job_id, held.job_id) as id,
    wanted.id is null as existed,
    wanted.id is null and (
      given.key_while is not null
      or coalesce(taken.job_id, held.job_id) is null
      or case
        when taken.job_id is null then exists (
          select
          from {schema}.job as twin
          where twin.id = held.job_id and (twin.scheduled_at > given.due or twin.queue <> given.queue)
        )
        else exists (select from given as other where other.run_at is not null)
      end
    ) as open,
    (select count(*) from woken) as woken
  from given
  left join wanted using (ord)
  left join taken on taken.kind = given.kind and taken.key = given.key
  left join {schema}.job_key as held on held.kind = given.kind and held.key = given.key
  order by given.ord`;

/** Offers jobs one after the other, in the order of their keys. */
const OFFER = `
  select ord, id, existed, false as open, woken
  from {schema}.offer_many(
    $1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text,
    $9::text, $10::text, $11::text, $12::text, $13::text, $14::text, $15::text, $16::text::boolean
  )`;

/** The same for one job, as most calls enqueue one. */
const OFFER_ONE = `
  select
    offer.id, not offer.added as existed,
    case
      when offer.woken_queue is not null and ($13::text::boolean or not offer.added)
      then coalesce(
        ${silence("offer.woken_queue")},
        pg_notify($12::text, '[["r",' || to_json(offer.woken_queue)::text || ']]')::text
      )
    end as woken
  from (select $5::text::jsonb as args) as given
  left join {schema}.kind as known on known.name = $1::text and known.key_while is not null
  cross join lateral (
    select
      case when known.name is null then $7::text::text[] else known.key_by end as key_by,
      case when known.name is null then $8::text::text[] else known.key_while end as key_while,
      case when known.name is null then $9::text::bigint else known.key_within_ms end as key_within_ms,
      case when known.name is null then $10::text::bigint else known.quiet_ms end as quiet_ms,
      case when known.name is null then $11::text::bigint else known.at_most_ms end as at_most_ms
  ) as rule
  cross join lateral {schema}.offer_keyed(
    null, $1::text, ${keySql("given.args", "rule.key_by")},
    rule.key_while, rule.key_within_ms, rule.quiet_ms, rule.at_most_ms,
    $2::text, $3::text::int, $4::text::int, given.args, $6::text::timestamptz, true
  ) as offer`;

/**
 * Up to so many jobs are offered one after the other; of more, those whose key is free are written together, which is half
 * the work, but whose plan is made anew at each use in a caller's session.
 */
const OFFERED_MAX = 20;

/**
 * Writes jobs some of which may be unique. The caller's transaction is never aborted in READ COMMITTED; in REPEATABLE
 * READ a key that a concurrent transaction took is a {@linkcode TransactionConflictError}.
 *
 * @param wakes whether the statement wakes the queues; otherwise it is left to the caller. A queue whose job is moved
 * forward is always woken.
 */
export async function insertUnique(
  run: RunStatement,
  target: InsertTarget,
  jobs: readonly NewJob[],
  wakes: boolean,
): Promise<Inserted[]> {
  const [first] = jobs;
  if (jobs.length === 1 && first!.unique) return [await offerOne(run, target, first!, wakes)];
  const results: Inserted[] = new Array(jobs.length);
  const all = jobs.map((_, index) => index);
  const open = jobs.length <= OFFERED_MAX
    ? all
    : take(await takeFree(run, target, jobs, wakes), all, results);
  if (open.length > 0) {
    const offered = open.map((index) => jobs[index]!);
    take(await run(OFFER, [...givenParams(offered), target.channel, String(wakes)]), open, results);
  }
  return results;
}

function takeFree(
  run: RunStatement,
  target: InsertTarget,
  jobs: readonly NewJob[],
  wakes: boolean,
): Promise<readonly TxRow[]> {
  return run(INSERT_UNIQUE, [
    ...givenParams(jobs),
    ...(wakes ? wakeParams(target.channel, jobs) : [null, "{}", "{}"]),
    `${target.quotedSchema}.job_id_seq`,
  ]);
}

async function offerOne(
  run: RunStatement,
  target: InsertTarget,
  { kind, queue, priority, maxAttempts, args, runAt, rule }: NewJob,
  wakes: boolean,
): Promise<Inserted> {
  const texts = (values: readonly string[] | null | undefined) =>
    values == null ? null : arrayLiteral(values);
  const [row] = await run(OFFER_ONE, [
    kind,
    queue,
    String(priority),
    String(maxAttempts),
    args,
    runAt,
    texts(rule?.by),
    texts(rule?.while),
    rule?.withinMs?.toString() ?? null,
    rule?.debounce?.quietMs.toString() ?? null,
    rule?.debounce?.atMostMs.toString() ?? null,
    target.channel,
    String(wakes),
  ]);
  return { id: idOf(row!), existed: row!.existed === true };
}

function givenParams(jobs: readonly NewJob[]): TxParam[] {
  const rules = new Map<string, KeyRule>();
  for (const { kind, rule } of jobs) if (rule !== undefined) rules.set(kind, rule);
  return [
    ...columnsOf(jobs),
    arrayLiteral(jobs.map((job) => job.unique)),
    arrayLiteral(kindsOf(jobs)),
    arrayLiteral(rules.keys()),
    ...ruleColumns([...rules.values()]),
  ];
}

/** Notes what a statement found, and returns what it has left open. */
function take(rows: readonly TxRow[], asked: readonly number[], results: Inserted[]): number[] {
  const open: number[] = [];
  for (const row of rows) {
    const index = asked[Number(row.ord) - 1]!;
    if (row.open === true) open.push(index);
    else results[index] = { id: idOf(row), existed: row.existed === true };
  }
  return open;
}
