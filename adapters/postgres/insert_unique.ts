import { TransactionConflictError } from "../../ports/errors.ts";
import type { Inserted, NewJob } from "../../ports/store.ts";
import type { TxRow } from "../../ports/tx.ts";
import { columnsOf, idOf, type InsertTarget, type RunStatement, wakeParams } from "./insert.ts";
import { silence } from "./silence.ts";
import { arrayLiteral } from "./sql_text.ts";

/**
 * Takes the keys, in their order so that no two enqueuers wait for each other crosswise, writes the jobs whose key was
 * free, and finds the holders of the others. `do nothing` leaves a caller's transaction unharmed.
 *
 * The key is made of jsonb's text, in which the order of keys is jsonb's own, and here, so that every producer that
 * can write SQL agrees.
 */
const INSERT_UNIQUE = `
  with given as materialized (
    select
      ord, kind, queue, priority, max_attempts, args::jsonb as args, run_at,
      case when is_unique then sha256(convert_to((args::jsonb)::text, 'UTF8')) end as key
    from unnest(
      $1::text::text[], $2::text::text[], $3::text::smallint[], $4::text::int[], $5::text::text[], $6::text::text[],
      $10::text::boolean[]
    ) with ordinality as given (kind, queue, priority, max_attempts, args, run_at, is_unique, ord)
  ), firsts as materialized (
    select distinct on (kind, key) kind, key, ord
    from given
    where key is not null
    order by kind, key, ord
  ), taken as (
    insert into {schema}.job_key (kind, key, job_id)
    select kind, key, nextval($11::text::regclass)
    from firsts
    order by kind, key
    on conflict (kind, key) do nothing
    returning kind, key, job_id
  ), wanted as (
    select given.*, taken.job_id as id
    from given join firsts using (kind, key, ord) join taken using (kind, key)
    union all
    select given.*, nextval($11::text::regclass)
    from given
    where key is null
  ), inserted as (
    insert into {schema}.job (id, kind, queue, priority, max_attempts, args, unique_key, scheduled_at)
    select
      id, kind, queue, priority, max_attempts, args, key,
      greatest(coalesce(run_at::timestamptz, clock_timestamp()), clock_timestamp())
    from wanted
    returning id, queue, scheduled_at
  ), woken as (
    select pg_notify($7::text, signals.payload)
    from (select distinct queue from inserted where scheduled_at <= clock_timestamp()) as due
    join unnest($8::text::text[], $9::text::text[]) as signals (queue, payload) using (queue)
    where $7::text is not null
      and ${silence("due.queue")} is null
  )
  select
    given.ord::int as ord,
    coalesce(wanted.id, taken.job_id, held.job_id) as id,
    wanted.id is null as existed,
    (select count(*) from woken) as woken
  from given
  left join wanted using (ord)
  left join taken on taken.kind = given.kind and taken.key = given.key
  left join {schema}.job_key as held on held.kind = given.kind and held.key = given.key
  order by given.ord`;

/** A holder that commits after the statement's snapshot is seen by the next one; more than a few in a row is a storm. */
const TRIES_MAX = 50;

/**
 * Writes jobs some of which are unique. The caller's transaction is never aborted in READ COMMITTED; in REPEATABLE
 * READ a key that a concurrent transaction took is a {@linkcode TransactionConflictError}.
 *
 * @param wakes whether the statement wakes the queues; otherwise it is left to the caller.
 */
export async function insertUnique(
  run: RunStatement,
  target: InsertTarget,
  jobs: readonly NewJob[],
  wakes: boolean,
): Promise<Inserted[]> {
  const results: (Inserted | undefined)[] = new Array(jobs.length);
  let open = jobs.map((_, index) => index);
  for (let tries = 0; tries < TRIES_MAX && open.length > 0; tries++) {
    const batch = open.map((index) => jobs[index]!);
    const wake = wakes ? wakeParams(target.channel, batch) : [null, "{}", "{}"];
    const rows = await run(INSERT_UNIQUE, [
      ...columnsOf(batch),
      ...wake,
      arrayLiteral(batch.map((job) => job.unique)),
      `${target.quotedSchema}.job_id_seq`,
    ]);
    open = take(rows, open, results);
  }
  if (open.length > 0) {
    throw new TransactionConflictError("40001", {
      cause: new Error(
        `The unique key of a job of kind ${jobs[open[0]!]!.kind} changed hands ${TRIES_MAX} times`,
      ),
    });
  }
  return results as Inserted[];
}

/** Notes what a statement found, and returns those whose holder was not to be seen yet. */
function take(rows: readonly TxRow[], open: readonly number[], results: (Inserted | undefined)[]): number[] {
  const unseen: number[] = [];
  for (const row of rows) {
    const index = open[Number(row.ord) - 1]!;
    if (row.id === null) unseen.push(index);
    else results[index] = { id: idOf(row), existed: row.existed === true };
  }
  return unseen;
}
