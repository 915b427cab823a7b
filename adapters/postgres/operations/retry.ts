import type { Transaction } from "../../../ports/database.ts";
import { JobNotFoundError, JobRunningError, UniqueConflictError } from "../../../ports/errors.ts";
import { PERIODIC_PREFIX } from "../../../ports/limits.ts";
import type { TxRow } from "../../../ports/tx.ts";
import { linkRun } from "../periodics/periodic.ts";
import { isJobId } from "../sql/sql_text.ts";
import type { Statements } from "../sql/statements.ts";

const LOCK_LIVE = "select state, queue from {schema}.job where id = $1::text::bigint for update";

const DUE_NOW = `
  update {schema}.job
  set state = 'pending', scheduled_at = clock_timestamp(), undeclared = false,
    max_attempts = greatest(max_attempts, attempt + 1)
  where id = $1::text::bigint`;

/** One that was enqueued by an older program says so by its kind alone. */
const READ_PERIODIC = `
  select coalesce(
    periodic,
    case when starts_with(kind, '${PERIODIC_PREFIX}') then substr(kind, length('${PERIODIC_PREFIX}') + 1) end
  ) as periodic
  from {schema}.job_history
  where id = $1::text::bigint`;

const LOCK_ENDED = `
  select kind, encode(unique_key, 'hex') as key
  from {schema}.job_history
  where id = $1::text::bigint
  for update`;

const TAKE_KEY = `
  select offer.id
  from (select) as one
  left join {schema}.kind as known on known.name = $2::text
  cross join lateral {schema}.offer_keyed(
    $1::text::bigint, $2::text, decode($3::text, 'hex'),
    known.key_while, known.key_within_ms, null, null, null, null, null, null, null, false
  ) as offer`;

const BRING_BACK = `
  with ended as (
    delete from {schema}.job_history where id = $1::text::bigint returning *
  ), unprogressed as (
    delete from {schema}.job_progress where job_id = $1::text::bigint
  )
  insert into {schema}.job (
    id, kind, queue, state, priority, scheduled_at, enqueued_at, claimed_at, attempt, max_attempts, run, snoozes,
    alone, args, unique_key, errors, periodic, rules_applied
  )
  select
    id, kind, queue, 'pending', priority, clock_timestamp(), enqueued_at, claimed_at, attempt,
    greatest(max_attempts, attempt + 1), run, snoozes, alone, args, unique_key, errors, periodic, true
  from ended
  returning queue`;

const TRIES = 5;

/**
 * Puts a job that does not run back in line, and returns its queue.
 *
 * @throws {JobNotFoundError} there is none.
 * @throws {JobRunningError} it runs.
 * @throws {UniqueConflictError} another job holds its unique key and keeps it out, or is the run of its periodic.
 */
export async function retryJob(database: Statements, id: string): Promise<string> {
  if (!isJobId(id)) throw new JobNotFoundError(id);
  return await database.transaction(async (tx) => {
    // It can move from one table to the other between two looks.
    for (let tries = 0; tries < TRIES; tries++) {
      const queue = await retryLive(tx, id) ?? await retryEnded(tx, id);
      if (queue !== null) return queue;
    }
    throw new JobNotFoundError(id);
  });
}

async function retryLive(tx: Transaction, id: string): Promise<string | null> {
  const [job] = await tx.unsafe(LOCK_LIVE, [id]);
  if (job === undefined) return null;
  if (job.state === "running") throw new JobRunningError(id);
  await tx.unsafe(DUE_NOW, [id]);
  return String(job.queue);
}

async function retryEnded(tx: Transaction, id: string): Promise<string | null> {
  // Under the lock of the periodic, so that no tick is taken meanwhile.
  await linkPeriodic(tx, id);
  const [job] = await tx.unsafe(LOCK_ENDED, [id]);
  if (job === undefined) return null;
  if (job.key !== null) await takeKey(tx, id, job);
  const [back] = await tx.unsafe(BRING_BACK, [id]);
  return String(back?.queue);
}

async function linkPeriodic(tx: Transaction, id: string): Promise<void> {
  const periodic = (await tx.unsafe(READ_PERIODIC, [id]))[0]?.periodic ?? null;
  if (periodic === null) return;
  const live = await linkRun(tx, String(periodic), id);
  if (live !== null && live !== id) throw new UniqueConflictError(id, live);
}

async function takeKey(tx: Transaction, id: string, job: TxRow): Promise<void> {
  const [offer] = await tx.unsafe(TAKE_KEY, [id, String(job.kind), String(job.key)]);
  const holder = String(offer?.id);
  if (holder !== id) throw new UniqueConflictError(id, holder);
}
