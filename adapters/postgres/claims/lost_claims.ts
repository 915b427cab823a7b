import { errorText } from "../../../ports/error_text.ts";
import { sqlStateOf } from "../../../ports/errors.ts";
import type { JobId } from "../../../ports/job.ts";
import type { Log } from "../../../ports/log.ts";
import type { Claimed, RunRef } from "../../../ports/store.ts";
import { inHalves } from "../../../shared/in_halves.ts";
import { isRefusal } from "../../../shared/outage.ts";
import { endJobs } from "../jobs/history.ts";
import { makeWaySql, supersededErrors } from "../jobs/superseded.ts";
import { arrayLiteral, refColumns } from "../sql/sql_text.ts";
import type { Statements } from "../sql/statements.ts";

/** What was told to this process. */
const KNOWN = `
  with known as materialized (
    select * from unnest($3::text::bigint[], $4::text::int[]) as known (id, run)
  )`;

/** What runs for this process in this queue and was never told to it. */
function lost(and = ""): string {
  return `
    select job.id, job.kind, job.unique_key, job.cancel_requested
    from {schema}.job left join known on known.id = job.id and known.run = job.run
    where job.owner = $1::text::uuid and job.queue = $2::text and job.state = 'running' and known.id is null${and}
    order by job.id
    for update of job skip locked`;
}

/** It goes back, uncharged; called off or superseded, it ends. */
function release(and = ""): string {
  return `${KNOWN}, locked as materialized (${lost(and)}
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
}

const LOST = KNOWN + lost();
const RELEASE = release();
const RELEASE_THESE = release(" and job.id = any($5::text::bigint[])");

/** After a claim whose answer was lost it is released at once, and once more when the server must have noticed. */
const AGAIN_AFTER_MS = 5000;

/** What the database refuses to release is tried again after so long, in ms. */
const REFUSED_AGAIN_MS = 60_000;

/**
 * Claims whose answer never came: the connection broke after the statement and before its rows arrived. The jobs
 * would count as running for as long as this process renews its heartbeat, and nobody would run them.
 */
export class LostClaims {
  readonly #database: Statements;
  readonly #log: Log;
  /** By process and queue, the runs that were told to it. */
  readonly #known: Map<string, Map<string, Map<JobId, RunRef>>> = new Map();
  readonly #releaseAt: Map<string, number[]> = new Map();

  /** Knows of none. */
  constructor(database: Statements, log: Log) {
    this.#database = database;
    this.#log = log;
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
    const params = [owner, queue, ...refColumns([...known])];
    const left = await this.#release(params);
    if (left) this.#releaseAt.set(queue, [performance.now() + REFUSED_AGAIN_MS]);
    else if (times.length > 1) this.#releaseAt.set(queue, times.slice(1));
    else this.#releaseAt.delete(queue);
  }

  /** True: the database refuses to release some. */
  async #release(params: readonly string[]): Promise<boolean> {
    try {
      await this.#database.query(RELEASE, params);
      return false;
    } catch (error) {
      if (!isRefusal(error)) throw error;
    }
    const ids = (await this.#database.query(LOST, params)).map((row) => String(row.id));
    const { refused } = await inHalves(ids, async (part) => {
      await this.#database.query(RELEASE_THESE, [...params, arrayLiteral(part)]);
      return part.length;
    }).catch((error: unknown) => {
      if (!isRefusal(error)) throw error;
      return { refused: [{ item: ids[0]!, error }] };
    });
    if (refused.length === 0) return false;
    const [{ item, error }] = refused as [{ item: JobId; error: unknown }];
    this.#log.error("the database refuses to release a job whose claim was lost, it is tried again", {
      jobId: item,
      sqlState: sqlStateOf(error) ?? "none",
      inMs: REFUSED_AGAIN_MS,
      refused: refused.length,
      error: errorText(error),
    });
    return true;
  }
}
