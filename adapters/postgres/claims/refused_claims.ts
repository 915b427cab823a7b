import { errorText } from "../../../ports/error_text.ts";
import { sqlStateOf } from "../../../ports/errors.ts";
import type { JobId } from "../../../ports/job.ts";
import type { Log } from "../../../ports/log.ts";
import { LineAllowance } from "../../../shared/line_allowance.ts";
import { arrayLiteral } from "../sql/sql_text.ts";

/** The first and the longest pause before the claim of a refused job is tried again, in ms; in between it doubles. */
const PAUSE_MS_MIN = 1000;
const PAUSE_MS_MAX = 60_000;
/** The least time between two tries of any, in ms. */
const TRY_EVERY_MS = 1000;
/** The most jobs of a queue that are remembered: each claim has to name them. */
const JOBS_MAX = 10_000;
/** How many the fault names. */
const NAMED_MAX = 10;
/** Each is told of at its first refusal and then every 10 min; of many, 5 at once and then one every 10 s. */
const SAY_AGAIN_MS = 600_000;
const SAY_BURST = 5;
const SAY_EVERY_MS = 10_000;

/** A job that waits. */
export interface DueJob {
  /** Its id. */
  readonly id: JobId;
  /** Its kind. */
  readonly kind: string;
}

interface Refusal {
  readonly job: DueJob;
  readonly error: unknown;
  readonly pauseMs: number;
  readonly dueAt: number;
  readonly saidAt: number;
}

/**
 * The jobs of one queue whose claim the database refuses, by a trigger or a constraint or a counter at its end. Claims are
 * made around them. Each is tried again after a pause that doubles from 1 s to 1 min; when one gets through, the cause may be
 * gone, so the others are tried at once.
 */
export class RefusedClaims {
  readonly #queue: string;
  readonly #log: Log;
  readonly #lines = new LineAllowance(SAY_BURST, SAY_EVERY_MS);
  readonly #jobs = new Map<JobId, Refusal>();
  #tryAt = 0;
  /** The ids as an array literal, and the fault; both undefined when jobs have come or gone. */
  #ids: string | undefined;
  #fault: Error | undefined;

  /** Holds none yet. */
  constructor(queue: string, log: Log) {
    this.#queue = queue;
    this.#log = log;
  }

  /** How many there are. */
  get size(): number {
    return this.#jobs.size;
  }

  /** Their ids as an array literal; null when there are none. */
  get ids(): string | null {
    return this.#jobs.size === 0 ? null : this.#ids ??= arrayLiteral(this.#jobs.keys());
  }

  /** What all of them together are, as one fault, another object after each refusal; null when there are none. */
  get fault(): Error | null {
    return this.#jobs.size === 0 ? null : this.#fault ??= this.#makeFault();
  }

  /** In how many ms one is to be tried again; null when there are none. */
  dueMs(): number | null {
    if (this.#jobs.size === 0) return null;
    let dueAt = Infinity;
    for (const refusal of this.#jobs.values()) dueAt = Math.min(dueAt, refusal.dueAt);
    return Math.max(0, Math.max(dueAt, this.#tryAt) - performance.now());
  }

  /** Those that are to be tried again now, at most so many, the longest due first. The others have to wait for a while. */
  takeDue(limit: number): DueJob[] {
    const now = performance.now();
    if (this.#jobs.size === 0 || now < this.#tryAt) return [];
    this.#tryAt = now + TRY_EVERY_MS;
    return [...this.#jobs.values()]
      .filter(({ dueAt }) => dueAt <= now)
      .sort((one, other) => one.dueAt - other.dueAt)
      .slice(0, limit)
      .map(({ job }) => job);
  }

  /** The claim of a job by itself was refused. False: there are too many to remember one more. */
  add(job: DueJob, error: unknown): boolean {
    const before = this.#jobs.get(job.id);
    if (before === undefined && this.#jobs.size >= JOBS_MAX) return false;
    const pauseMs = before === undefined ? PAUSE_MS_MIN : Math.min(before.pauseMs * 2, PAUSE_MS_MAX);
    const now = performance.now();
    const isSaid = now - (before?.saidAt ?? -Infinity) >= SAY_AGAIN_MS && this.#say(job, error, pauseMs);
    const saidAt = isSaid ? now : before?.saidAt ?? -Infinity;
    this.#jobs.set(job.id, { job, error, pauseMs, dueAt: now + pauseMs, saidAt });
    this.#changed();
    return true;
  }

  /** These are refused no more: they were claimed, or are not there to be claimed. */
  delete(jobs: readonly DueJob[]): void {
    for (const { id } of jobs) if (this.#jobs.delete(id)) this.#changed();
  }

  /** One got through: the others are tried at once. */
  retryAll(): void {
    const now = this.#tryAt = performance.now();
    for (const [id, refusal] of this.#jobs) this.#jobs.set(id, { ...refusal, dueAt: now });
  }

  #changed(): void {
    this.#ids = undefined;
    this.#fault = undefined;
  }

  #makeFault(): Error {
    const named = [...this.#jobs.values()].slice(0, NAMED_MAX)
      .map(({ job, error }) => `job ${job.id} (${job.kind}): ${errorText(error)}`);
    const more = this.#jobs.size - named.length;
    return new Error(named.join("; ") + (more > 0 ? `; and ${more} more` : ""));
  }

  /** True: the line was written. */
  #say({ id, kind }: DueJob, error: unknown, inMs: number): boolean {
    const notLogged = this.#lines.take();
    if (notLogged === null) return false;
    this.#log.error("the database refuses the claim of a job, it is tried again and the others go on", {
      jobId: id,
      kind,
      queue: this.#queue,
      sqlState: sqlStateOf(error) ?? "none",
      inMs,
      remedy: "mend what refuses it (a trigger, a constraint, a number at its end), or cancel the job",
      notLogged,
      error: errorText(error),
    });
    return true;
  }
}
