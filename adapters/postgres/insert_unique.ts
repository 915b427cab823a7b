import type { KeyRule } from "../../ports/key_rule.ts";
import type { Inserted, NewJob } from "../../ports/store.ts";
import type { TxParam, TxRow } from "../../ports/tx.ts";
import { ruleColumns } from "./declared.ts";
import { columnsOf, idOf, type InsertTarget, kindsOf, type RunStatement, wakeParams } from "./insert.ts";
import { keySql } from "./key_sql.ts";
import { silence } from "./silence.ts";
import { arrayLiteral } from "./sql_text.ts";

/**
 * The jobs with their keys. A rule that was declared holds for every program; where none was, this program's own does, and
 * then what the call asks for.
 */
const GIVEN = `
  rules as materialized (
    select name, key_by, key_while, key_within_ms, quiet_ms, at_most_ms
    from {schema}.kind
    where key_while is not null and name = any($8::text::text[])
    union all
    select name, key_by::text[], key_while::text[], key_within_ms, quiet_ms, at_most_ms
    from unnest(
      $9::text::text[], $10::text::text[], $11::text::text[], $12::text::bigint[], $13::text::bigint[],
      $14::text::bigint[]
    ) as own (name, key_by, key_while, key_within_ms, quiet_ms, at_most_ms)
    where not exists (select from {schema}.kind where kind.name = own.name and kind.key_while is not null)
  ), given as materialized (
    select
      given.*, key_while, key_within_ms, quiet_ms, at_most_ms,
      case when rules.name is not null or is_unique then ${keySql("args", "key_by")} end as key,
      greatest(
        case
          when quiet_ms is null then coalesce(run_at::timestamptz, clock_timestamp())
          else clock_timestamp() + quiet_ms * interval '1 ms'
        end,
        clock_timestamp()
      ) as due
    from (
      select ord, kind, queue, priority, max_attempts, args::jsonb as args, run_at, is_unique
      from unnest(
        $1::text::text[], $2::text::text[], $3::text::smallint[], $4::text::int[], $5::text::text[], $6::text::text[],
        $7::text::boolean[]
      ) with ordinality as given (kind, queue, priority, max_attempts, args, run_at, is_unique, ord)
    ) as given
    left join rules on rules.name = given.kind
  )`;

/**
 * Takes the keys, in their order so that no two enqueuers wait for each other crosswise, writes the jobs whose key was
 * free, and finds the holders of the others. `do nothing` leaves a caller's transaction unharmed.
 *
 * Open is left what a holder has to be judged for: all that fall under a rule, one whose holder can't be seen yet, and one
 * that is due before a holder that waits.
 */
const INSERT_UNIQUE = `
  with ${GIVEN}, firsts as materialized (
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
          select from {schema}.job as twin where twin.id = held.job_id and twin.scheduled_at > given.due
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
  with ${GIVEN}, offered as materialized (
    select given.ord, offer.*
    from (select * from given where key is not null order by kind, key, ord) as given
    cross join lateral {schema}.offer_keyed(
      null, kind, key, key_while, key_within_ms, quiet_ms, at_most_ms,
      queue, priority, max_attempts, args, run_at::timestamptz, true
    ) as offer
  ), woken as (
    select pg_notify($15::text, '[["r",' || to_json(queue)::text || ']]')
    from (select distinct woken_queue as queue from offered where woken_queue is not null) as ready
    where ${silence("ready.queue")} is null
  )
  select ord::int as ord, id, not added as existed, false as open, (select count(*) from woken) as woken
  from offered`;

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
  const results: Inserted[] = new Array(jobs.length);
  const rows = await run(INSERT_UNIQUE, [
    ...givenParams(jobs),
    ...(wakes ? wakeParams(target.channel, jobs) : [null, "{}", "{}"]),
    `${target.quotedSchema}.job_id_seq`,
  ]);
  const open = take(rows, jobs.map((_, index) => index), results);
  if (open.length === 0) return results;
  const offered = open.map((index) => jobs[index]!);
  take(await run(OFFER, [...givenParams(offered), target.channel]), open, results);
  return results;
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
