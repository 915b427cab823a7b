import type { JobId } from "../../ports/job.ts";
import type { Claimed, RunRef } from "../../ports/store.ts";
import { endJobs } from "./history.ts";
import { refColumns } from "./sql_text.ts";
import type { Statements } from "./statements.ts";
import { makeWaySql, supersededErrors } from "./superseded.ts";

/** What runs for this process in this queue and was never told to it goes back, uncharged; called off or superseded, it ends. */
const RELEASE = `
  with known as materialized (
    select * from unnest($3::text::bigint[], $4::text::int[]) as known (id, run)
  ), locked as materialized (
    select job.id, job.kind, job.unique_key, job.cancel_requested
    from {schema}.job left join known on known.id = job.id and known.run = job.run
    where job.owner = $1::text::uuid and job.queue = $2::text and job.state = 'running' and known.id is null
    order by job.id
    for update of job skip locked
  ), lost as materialized (
    select
      id, cancel_requested,
      case when not cancel_requested then ${makeWaySql("locked", "clock_timestamp()")} end as superseded_by
    from locked
  ), ended as (
    delete from {schema}.job
    using lost
    where job.id = lost.id and (lost.cancel_requested or superseded_by is not null)
    returning job.*, 'cancelled' as final, null::jsonb as output,
      case
        when lost.cancel_requested then job.errors
        else ${supersededErrors("job", "superseded_by")}
      end as final_errors
  ), ${endJobs("ended")}
  update {schema}.job
  set
    state = case when attempt > 1 then 'retryable' else 'pending' end,
    attempt = attempt - 1,
    scheduled_at = clock_timestamp(),
    owner = null
  from lost
  where job.id = lost.id and not lost.cancel_requested and superseded_by is null`;

/** After a claim whose answer was lost it is released at once, and once more when the server must have noticed. */
const AGAIN_AFTER_MS = 5000;

/**
 * Claims whose answer never came: the connection broke after the statement and before its rows arrived. The jobs
 * would count as running for as long as this process renews its heartbeat, and nobody would run them.
 */
export class LostClaims {
  readonly #database: Statements;
  /** By process and queue, the runs that were told to it. */
  readonly #known: Map<string, Map<string, Map<JobId, RunRef>>> = new Map();
  readonly #releaseAt: Map<string, number[]> = new Map();

  /** Knows of none. */
  constructor(database: Statements) {
    this.#database = database;
  }

  /** Notes jobs whose claim was answered. */
  noteClaimed(owner: string, queue: string, claimed: readonly Claimed[]): void {
    const queues = this.#known.get(owner) ?? new Map<string, Map<JobId, RunRef>>();
    const known = queues.get(queue) ?? new Map<JobId, RunRef>();
    this.#known.set(owner, queues.set(queue, known));
    for (const job of claimed) known.set(job.id, job);
  }

  /** Notes runs that have ended. */
  noteEnded(runs: Iterable<RunRef>): void {
    const all = [...this.#known.values()].flatMap((queues) => [...queues.values()]);
    for (const { id, run } of runs) {
      for (const known of all) if (known.get(id)?.run === run) known.delete(id);
    }
  }

  /** Forgets a process that is off the record. */
  forget(owner: string): void {
    this.#known.delete(owner);
  }

  /** Notes that a claim from a queue failed, perhaps after it took effect. */
  noteLost(queue: string): void {
    const now = performance.now();
    this.#releaseAt.set(queue, [now, now + AGAIN_AFTER_MS]);
  }

  /** Releases what a lost claim took. Not to be called while a claim from this queue is under way. */
  async release(owner: string, queue: string): Promise<void> {
    const times = this.#releaseAt.get(queue);
    if (times === undefined || times[0]! > performance.now()) return;
    const known = this.#known.get(owner)?.get(queue)?.values() ?? [];
    await this.#database.query(RELEASE, [owner, queue, ...refColumns([...known])]);
    if (times.length > 1) this.#releaseAt.set(queue, times.slice(1));
    else this.#releaseAt.delete(queue);
  }
}
