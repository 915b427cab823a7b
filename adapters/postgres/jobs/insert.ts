import type { Inserted, NewJob } from "../../../ports/store.ts";
import type { Tx, TxParam, TxRow } from "../../../ports/tx.ts";
import { inBatches } from "../../../shared/batches.ts";
import { translateError } from "../connection/translate_error.ts";
import { arrayLiteral } from "../sql/sql_text.ts";
import type { RunStatement } from "../sql/statements.ts";
import { readySignal } from "../wakes/signals.ts";
import { silence } from "../wakes/silence.ts";
import { columnsOf, idOf, type InsertTarget, kindsOf, wakeParams } from "./insert_columns.ts";
import { insertUnique } from "./insert_unique.ts";

/**
 * Another program may have declared what a kind does with twins. Then nothing is inserted, and the job goes where that is
 * heeded.
 */
const UNRULED = (kind: string) => `
    not exists (select from {schema}.kind where key_while is not null and name = ${kind})`;

/**
 * Never due before the clock's time: a claimer starts its scan at the last job that it claimed, and what falls behind
 * that is found later only.
 */
const insertRows = (kinds: string) => `
  insert into {schema}.job (kind, queue, priority, max_attempts, args, scheduled_at, rules_applied)
  select
    kind, queue, priority, max_attempts, args::jsonb,
    greatest(coalesce(run_at::timestamptz, clock_timestamp()), clock_timestamp()), true
  from unnest(
    $1::text::text[], $2::text::text[], $3::text::smallint[], $4::text::int[], $5::text::text[], $6::text::text[]
  ) with ordinality as given (kind, queue, priority, max_attempts, args, run_at, ord)
  where ${UNRULED(`any(${kinds}::text::text[])`)}
  order by ord`;

const INSERT = `${insertRows("$7")} returning id`;

/**
 * The same for jobs that differ in their args alone and are due now, as those of a burst mostly are: half the work. A single
 * array is read in its order, and sorting by it took a tenth of the statement.
 */
const INSERT_ALIKE = `
  insert into {schema}.job (kind, queue, priority, max_attempts, args, scheduled_at, rules_applied)
  select $1::text, $2::text, $3::text::smallint, $4::text::int, args::jsonb, clock_timestamp(), true
  from unnest($5::text::text[]) as given (args)
  where ${UNRULED("$1::text")}
  returning id`;

const INSERT_ALIKE_AND_WAKE = `
  with inserted as (${INSERT_ALIKE}
  ), woken as (
    select coalesce(${silence("$2::text")}, pg_notify($6::text, $7::text)::text) as woken
  )
  select id, (select woken from woken) as woken
  from inserted`;

/** The same for jobs that differ, and wakes the queues of what is due now, except those for which nobody needs to be woken. */
const INSERT_AND_WAKE = `
  with inserted as (
    ${insertRows("$10")} returning id, queue, scheduled_at
  ), woken as (
    select pg_notify($7::text, signals.payload)
    from (select distinct queue from inserted where scheduled_at <= clock_timestamp()) as due
    join unnest($8::text::text[], $9::text::text[]) as signals (queue, payload) using (queue)
    where ${silence("due.queue")} is null
  )
  select id, (select count(*) from woken) as woken
  from inserted`;

/**
 * One job, as most calls enqueue one. Its plan is kept, where a plan over `unnest` is made anew at each use in a caller's
 * session, which costs more than the insert itself.
 */
const INSERT_ONE = `
  insert into {schema}.job (kind, queue, priority, max_attempts, args, scheduled_at, rules_applied)
  select
    $1::text, $2::text, $3::text::smallint, $4::text::int, $5::text::jsonb,
    greatest(coalesce($6::text::timestamptz, clock_timestamp()), clock_timestamp()), true
  where ${UNRULED("$1::text")}
  returning id`;

/** The same for one that is due now, and wakes its queue. */
const INSERT_ONE_AND_NOTIFY = `${INSERT_ONE}, pg_notify($7::text, $8::text)::text as woken`;

/** The same, and wakes its queue if somebody needs to be woken. Not every driver can read the void that pg_notify returns. */
const INSERT_ONE_AND_WAKE = `${INSERT_ONE},
    coalesce(
      case when scheduled_at > clock_timestamp() then 'later' end,
      ${silence("job.queue")},
      pg_notify($7::text, $8::text)::text
    ) as woken`;

/** Jobs were not inserted, for a kind of theirs has rules that this program does not know: {@linkcode insertUnique} does. */
export class RuledKind extends Error {
  /** The name of the class. */
  override readonly name = "RuledKind";
}

/**
 * Writes jobs that have no unique key, all or none. Whoever calls wakes the queues after it.
 *
 * @throws {RuledKind} none of them is unique for this program, and one is for another: nothing was written.
 */
export async function insertJobs(
  run: RunStatement,
  jobs: readonly NewJob[],
): Promise<Inserted[]> {
  if (jobs.length === 0) return [];
  if (!areAlike(jobs)) {
    return toInserted(await run(INSERT, [...columnsOf(jobs), arrayLiteral(kindsOf(jobs))]));
  }
  return toInserted(await run(INSERT_ALIKE, alikeColumnsOf(jobs)));
}

function alikeColumnsOf(jobs: readonly NewJob[]): TxParam[] {
  const { kind, queue, priority, maxAttempts } = jobs[0]!;
  return [kind, queue, String(priority), String(maxAttempts), arrayLiteral(jobs.map((job) => job.args))];
}

function areAlike(jobs: readonly NewJob[]): boolean {
  const first = jobs[0]!;
  return jobs.every((job) =>
    job.runAt === null && job.kind === first.kind && job.queue === first.queue &&
    job.priority === first.priority && job.maxAttempts === first.maxAttempts
  );
}

/** Writes jobs through a caller's transaction and wakes their queues at its commit. */
export async function insertJobsIn(
  tx: Tx,
  target: InsertTarget,
  jobs: readonly NewJob[],
): Promise<Inserted[]> {
  const run = runIn(tx, target);
  return await eachBatch(jobs, (batch) => insertBatchIn(run, target, batch));
}

/** Writes jobs in as many statements as they need, one after the other. */
export async function eachBatch(
  jobs: readonly NewJob[],
  insert: (batch: readonly NewJob[]) => Promise<Inserted[]>,
): Promise<Inserted[]> {
  const batches = jobBatches(jobs);
  if (batches.length === 1) return await insert(jobs);
  const inserted: Inserted[] = [];
  for (const batch of batches) for (const each of await insert(batch)) inserted.push(each);
  return inserted;
}

/** Jobs as they fit into statements. */
export function jobBatches(jobs: readonly NewJob[]): (readonly NewJob[])[] {
  return inBatches(jobs, ({ kind, queue, args }) => kind.length + queue.length + args.length);
}

async function insertBatchIn(
  run: RunStatement,
  target: InsertTarget,
  jobs: readonly NewJob[],
): Promise<Inserted[]> {
  if (jobs.some((job) => job.unique)) return await insertUnique(run, target, jobs, !target.silent.isMute);
  try {
    return await insertAndWake(run, target, jobs);
  } catch (error) {
    if (!(error instanceof RuledKind)) throw error;
    return await insertUnique(run, target, jobs, !target.silent.isMute);
  }
}

/**
 * Writes jobs that have no unique key, and wakes their queues at the commit unless nobody needs to be woken.
 *
 * @throws {RuledKind} one of them has one for another program: nothing was written.
 */
export async function insertAndWake(
  run: RunStatement,
  target: InsertTarget,
  jobs: readonly NewJob[],
): Promise<Inserted[]> {
  if (jobs.length === 1) return [await insertOneAndWake(run, target, jobs[0]!)];
  if (jobs.every(({ queue }) => target.silent.has(queue))) return await insertJobs(run, jobs);
  if (!areAlike(jobs)) {
    return toInserted(
      await run(INSERT_AND_WAKE, [
        ...columnsOf(jobs),
        ...wakeParams(target.channel, jobs),
        arrayLiteral(kindsOf(jobs)),
      ]),
    );
  }
  const { queue } = jobs[0]!;
  const rows = await run(INSERT_ALIKE_AND_WAKE, [
    ...alikeColumnsOf(jobs),
    target.channel,
    readySignal(queue),
  ]);
  const inserted = toInserted(rows);
  target.silent.note(queue, rows[0]?.woken !== "");
  return inserted;
}

async function insertOneAndWake(
  run: RunStatement,
  target: InsertTarget,
  { kind, queue, priority, maxAttempts, args, runAt }: NewJob,
): Promise<Inserted> {
  const columns = [kind, queue, String(priority), String(maxAttempts), args, runAt];
  if (target.silent.has(queue)) return toInserted(await run(INSERT_ONE, columns))[0]!;
  const wake = [...columns, target.channel, readySignal(queue)];
  if (runAt === null && target.silent.hasNot(queue)) {
    return toInserted(await run(INSERT_ONE_AND_NOTIFY, wake))[0]!;
  }
  const rows = await run(INSERT_ONE_AND_WAKE, wake);
  const [inserted] = toInserted(rows);
  const woken = rows[0]?.woken;
  if (woken !== "later") target.silent.note(queue, woken !== "");
  return inserted!;
}

/**
 * Runs statements through a caller's transaction, whose driver's errors become those of the ports. They are prepared:
 * postgres.js makes two round trips of a statement that is not, and the server parses and plans it each time, which
 * halves the rate of a short transaction.
 */
export function runIn(tx: Tx, { statement }: InsertTarget): RunStatement {
  return async (text, params) => {
    try {
      return await tx.unsafe(statement(text), params, { prepare: true });
    } catch (error) {
      throw translateError(error);
    }
  };
}

function toInserted(rows: readonly TxRow[]): Inserted[] {
  if (rows.length === 0) throw new RuledKind();
  // The rows are inserted in the order of the request and numbered as they are, so the ids come in that order.
  return rows.map((row) => ({ id: idOf(row), existed: false }));
}
