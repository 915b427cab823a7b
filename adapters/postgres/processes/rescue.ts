import { errorText as messageOf } from "../../../ports/error_text.ts";
import { DatabaseUnavailableError, sqlStateOf } from "../../../ports/errors.ts";
import type { JobId } from "../../../ports/job.ts";
import type { RefusedJob, Rescued, RescueError } from "../../../ports/store.ts";
import type { TxRow } from "../../../ports/tx.ts";
import { errorText } from "../jobs/error_text.ts";
import { endJobs, withError } from "../jobs/history.ts";
import { makeWaySql, supersededErrors } from "../jobs/superseded.ts";
import { arrayLiteral, isoSql } from "../sql/sql_text.ts";
import type { Statements } from "../sql/statements.ts";
import { countLeft, forget } from "./unregister.ts";

/** The heartbeat as text: a value to compare, nothing to reckon with. */
export const BEAT_SQL: string = isoSql("heartbeat_at");

/**
 * The heartbeat of a process whose rescue has begun. It can't renew it, so it learns that its runs are others'; until then
 * it claims and starts nothing more.
 */
export const GIVEN_UP = "timestamptz 'epoch'";

/** Whoever renews, or rescues too, holds the row; so does a claim that has begun. */
const LOCK_WORKER = `
  select 1
  from {schema}.worker
  where id = $1::text::uuid and (${BEAT_SQL} = $2::text or heartbeat_at = ${GIVEN_UP})
  for update skip locked`;

const IS_UNCHANGED = `
  select 1
  from {schema}.worker
  where id = $1::text::uuid and (${BEAT_SQL} = $2::text or heartbeat_at = ${GIVEN_UP})`;

/** In the transaction that takes its first jobs away: what is left is taken in later ones. */
const GIVE_UP = `update {schema}.worker set heartbeat_at = ${GIVEN_UP} where id = $1::text::uuid`;

/** There is no index on the owner: it would be written at every claim, and a rescue is rare. So it is read once. */
const RUNNING = `
  select id
  from {schema}.job
  where owner = $1::text::uuid and state = 'running'
  order by id
  limit $2::int`;

const RESCUE = `
  with mine as materialized (
    select id, run, attempt, max_attempts, cancel_requested, kind, unique_key
    from {schema}.job
    where id = any($3::text::bigint[]) and owner = $1::text::uuid and state = 'running'
    order by id
    for update skip locked
  ), started as materialized (
    select distinct marked.id, marked.run
    from {schema}.start_mark cross join unnest(job_ids, runs) as marked (id, run)
    where start_mark.owner = $1::text::uuid
  ), fated as materialized (
    select
      mine.id, mine.kind, mine.unique_key,
      case when started.id is not null then $2::text::jsonb end as error,
      case
        when mine.cancel_requested then 'cancelled'
        when started.id is null then 'released'
        when mine.attempt >= mine.max_attempts then 'discarded'
        else 'retried'
      end as fate
    from mine left join started on started.id = mine.id and started.run = mine.run
  ), met as materialized (
    select
      id, error, fate,
      case when fate in ('released', 'retried') then ${
  makeWaySql("fated", "clock_timestamp()")
} end as superseded_by
    from fated
  ), judged as materialized (
    select id, error, case when superseded_by is null then fate else 'cancelled' end as fate, superseded_by
    from met
  ), moved as (
    update {schema}.job
    set
      state = case when job.attempt - (fate = 'released')::int > 0 then 'retryable' else 'pending' end,
      attempt = job.attempt - (fate = 'released')::int,
      alone = job.alone or fate = 'retried',
      scheduled_at = clock_timestamp(),
      owner = null,
      progress = null,
      errors = ${withError("job", "judged.error")}
    from judged
    where job.id = judged.id and fate in ('released', 'retried')
    returning job.id, job.queue, fate
  ), ended as (
    delete from {schema}.job
    using judged
    where job.id = judged.id and fate in ('cancelled', 'discarded')
    returning job.*, fate as final, null::jsonb as output,
      case
        when superseded_by is null then ${withError("job", "judged.error")}
        else ${supersededErrors("job", "superseded_by", withError("job", "judged.error"))}
      end as final_errors
  ), ${endJobs("ended")}
  select id, queue, fate from moved
  union all
  select id, queue, state from written
  order by id`;

/** The most jobs of one transaction: it holds the process's row, and a claim of it waits. */
const STEP = 500;

/** The most jobs of one call, and how long it goes on when it has to go one by one, in ms: others are lost too. */
const CALL_MAX = 100_000;
const CALL_MS = 2000;

/** Rescues the jobs of processes that are lost, in steps. */
export class Rescuer {
  readonly #database: Statements;
  /** By process, the jobs that the database refused to put back: these come last. */
  readonly #refused: Map<string, Set<JobId>> = new Map();

  /** Knows of nobody. */
  constructor(database: Statements) {
    this.#database = database;
  }

  /**
   * Puts back jobs of a process whose heartbeat still has the value `beat`, and forgets it when none is left. A step that
   * the database refuses goes job by job; what is refused then is named, and left.
   */
  async rescue(owner: string, beat: string, error: RescueError): Promise<Rescued> {
    const deadline = performance.now() + CALL_MS;
    const call = { owner, beat, stored: errorText({ class: "worker lost", message: error.message }) };
    const rows: TxRow[] = [];
    const refused: RefusedJob[] = [];
    for (const step of await this.#steps(owner)) {
      if (performance.now() > deadline) return toRescued(rows, refused, false);
      const done = await this.#step(call, step, refused, deadline);
      if (done === null) return toRescued(rows, refused, !await this.#isUnchanged(owner, beat));
      rows.push(...done);
    }
    return toRescued(rows, refused, await this.#forget(owner, beat));
  }

  /** What runs for a process, in steps; what was refused before comes at the end. */
  async #steps(owner: string): Promise<JobId[][]> {
    const rows = await this.#database.query(RUNNING, [owner, CALL_MAX]);
    const ids = rows.map((row) => String(row.id));
    const before = this.#refused.get(owner) ?? new Set();
    const ordered = [...ids.filter((id) => !before.has(id)), ...ids.filter((id) => before.has(id))];
    return Array.from(
      { length: Math.ceil(ordered.length / STEP) },
      (_, index) => ordered.slice(index * STEP, (index + 1) * STEP),
    );
  }

  /** Null: the process has renewed, or somebody else holds its row. */
  async #step(
    call: Call,
    ids: readonly JobId[],
    refused: RefusedJob[],
    deadline: number,
  ): Promise<TxRow[] | null> {
    try {
      return await this.#put(call, ids);
    } catch (error) {
      if (sqlStateOf(error) === null || error instanceof DatabaseUnavailableError) throw error;
      if (ids.length === 1) {
        const known = this.#refused.get(call.owner) ?? new Set();
        this.#refused.set(call.owner, known.add(ids[0]!));
        refused.push({ id: ids[0]!, error: messageOf(error), sqlState: sqlStateOf(error) });
        return [];
      }
    }
    const rows: TxRow[] = [];
    const half = ids.length >> 1;
    for (const part of [ids.slice(0, half), ids.slice(half)]) {
      if (performance.now() > deadline) break;
      const done = await this.#step(call, part, refused, deadline);
      if (done === null) return null;
      rows.push(...done);
    }
    return rows;
  }

  #put({ owner, beat, stored }: Call, ids: readonly JobId[]): Promise<TxRow[] | null> {
    return this.#database.transaction(async (tx) => {
      if ((await tx.unsafe(LOCK_WORKER, [owner, beat])).length === 0) return null;
      const rows = [...await tx.unsafe(RESCUE, [owner, stored, arrayLiteral(ids)])];
      if (rows.length > 0) await tx.unsafe(GIVE_UP, [owner]);
      return rows;
    });
  }

  async #isUnchanged(owner: string, beat: string): Promise<boolean> {
    return (await this.#database.query(IS_UNCHANGED, [owner, beat])).length > 0;
  }

  /** Whether nothing is left to do for a process: none of its jobs runs, or it has renewed. */
  #forget(owner: string, beat: string): Promise<boolean> {
    return this.#database.transaction(async (tx) => {
      if ((await tx.unsafe(LOCK_WORKER, [owner, beat])).length === 0) {
        return (await tx.unsafe(IS_UNCHANGED, [owner, beat])).length === 0;
      }
      if (await countLeft(tx, owner) > 0) return false;
      await forget(tx, owner);
      this.#refused.delete(owner);
      return true;
    });
  }
}

interface Call {
  readonly owner: string;
  readonly beat: string;
  readonly stored: string | null;
}

function toRescued(rows: readonly TxRow[], refused: readonly RefusedJob[], complete: boolean): Rescued {
  const of = (fate: string): JobId[] => rows.filter((row) => row.fate === fate).map((row) => String(row.id));
  const inLine = rows.filter((row) => row.fate === "retried" || row.fate === "released");
  return {
    retried: of("retried"),
    discarded: of("discarded"),
    released: of("released"),
    cancelled: of("cancelled"),
    refused,
    complete,
    queues: [...new Set(inLine.map((row) => String(row.queue)))],
  };
}
