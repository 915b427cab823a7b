import type { JobDetail, JobId, JobState, JobSummary } from "./job.ts";
import type { CancelResult } from "./jobs.ts";
import type { Json } from "./json.ts";
import type { UpkeepOverview } from "./upkeep.ts";

/** Counts for one kind. */
export interface KindOverview {
  /** The kind. */
  readonly kind: string;
  /** Whether this process declares it. A kind may exist only on rows, or only as a declaration. */
  readonly declared: boolean;
  /** How many jobs are in each state. */
  readonly states: Readonly<Record<JobState, number>>;
}

/** How long the oldest due job of a queue and priority has waited. */
export interface WaitingOverview {
  /** The queue. */
  readonly queue: string;
  /** The priority. */
  readonly priority: number;
  /** Age of its oldest due job, in ms. */
  readonly oldestMs: number;
}

/** A queue and its current state. */
export interface QueueOverview {
  /** The queue. */
  readonly queue: string;
  /** How many of its handlers run at once in one process; null when this process doesn't declare it. */
  readonly concurrency: number | null;
  /** When it was paused, ISO 8601; null when it is not paused. */
  readonly pausedAt: string | null;
}

/** A summary of all jobs, queues and upkeep. */
export interface Overview {
  /** Counts for each kind, by name, including declared kinds that never ran. */
  readonly kinds: readonly KindOverview[];
  /** How many jobs are in each state. */
  readonly states: Readonly<Record<JobState, number>>;
  /** Age of the oldest due job, in ms; null when none waits. */
  readonly oldestPendingMs: number | null;
  /** The same for each queue and priority with a due job. Priority is strict, so a starved one shows up here. */
  readonly waiting: readonly WaitingOverview[];
  /** The declared queues and the paused ones, by name. */
  readonly queues: readonly QueueOverview[];
  /** Jobs that were put aside because the processes that claimed them don't declare their kind. */
  readonly undeclared: number;
  /** The size of the tables and their indexes, in bytes; 0 for a runtime in memory. */
  readonly bytes: number;
  /** The upkeep tasks (ticks, purges, rescues) and how they are doing, by task name. */
  readonly upkeep: readonly UpkeepOverview[];
}

/** Selects the jobs to count for a depth. */
export interface DepthFilter {
  /** Only jobs of this kind. */
  readonly kind?: string;
  /** Only jobs in this queue. */
  readonly queue?: string;
}

/** Counts of the jobs that have not ended. Each count is at most {@linkcode DEPTH_COUNTED_MAX}. */
export interface Depth {
  /** Jobs waiting for their first attempt, including those not due yet. */
  readonly pending: number;
  /** Jobs waiting for another attempt. */
  readonly retryable: number;
  /** Claimed jobs. */
  readonly running: number;
  /** Waiting jobs that are due now: the ones that additional workers would take. */
  readonly due: number;
  /** Age of the oldest due job, in ms; null when none waits. */
  readonly oldestDueMs: number | null;
}

/** At most this many jobs, over all states, are counted for a {@linkcode Depth}. */
export const DEPTH_COUNTED_MAX: number = 100_000;

/** Selects the jobs to list. */
export interface JobFilter {
  /** Only jobs of this kind. */
  readonly kind?: string;
  /** Only jobs in this queue. */
  readonly queue?: string;
  /** Only jobs in this state. */
  readonly state?: JobState;
  /** Only jobs whose args contain this object, as defined by jsonb's `@>`. */
  readonly args?: Json;
  /** Only jobs older than this one, for the next page. */
  readonly before?: JobId;
  /** At most this many, 1 to 1,000. Default 50. */
  readonly limit?: number;
}

/** One run of a periodic. */
export interface PeriodicRun {
  /** Its job. */
  readonly jobId: JobId;
  /** When it ended, ISO 8601. */
  readonly finishedAt: string;
  /** How it ended. */
  readonly state: JobState;
  /** What the handler returned; null when it returned nothing. */
  readonly output: Json;
  /** The last error's message; null when the run succeeded. */
  readonly error: string | null;
}

/** A periodic and its recent runs. */
export interface PeriodicStatus {
  /** Its name. */
  readonly name: string;
  /** The kind of its jobs. */
  readonly kind: string;
  /** The fleet's current schedule: `every 60000 ms`, or the cron expression with its time zone. */
  readonly schedule: string;
  /** When it is next due, ISO 8601; null when it is paused or its time never comes. */
  readonly nextRunAt: string | null;
  /** When it was paused, ISO 8601; null when it is not paused. */
  readonly pausedAt: string | null;
  /** The last tick taken, ISO 8601; null before the first. */
  readonly lastTickAt: string | null;
  /** The job that is waiting or running now; null when there is none. */
  readonly currentJobId: JobId | null;
  /** The last run that ended; null before the first. */
  readonly lastRun: PeriodicRun | null;
  /** The last 20 runs, newest first. */
  readonly runs: readonly PeriodicRun[];
}

/** Inspects and repairs jobs. */
export interface Inspector {
  /**
   * Returns counts, ages and sizes, for one kind if `kind` is given. It also counts every ended job, at roughly 2 s per
   * million rows; for frequent calls use {@linkcode Inspector.depth}.
   */
  overview(kind?: string): Promise<Overview>;

  /**
   * Counts waiting and running jobs, for metrics and for scaling workers by backlog. It ignores ended jobs, so it can
   * be called several times a second.
   */
  depth(filter?: DepthFilter): Promise<Depth>;

  /** Lists jobs, newest first, with a preview of their args. */
  list(filter?: JobFilter): Promise<JobSummary[]>;

  /** Returns a job in full; null when there is none. */
  get(id: JobId): Promise<JobDetail | null>;

  /**
   * Puts a job that is not running back in line, due now, with at least one more attempt. Its errors are kept.
   *
   * @throws {JobNotFoundError} if there is no such job.
   * @throws {JobRunningError} if it is running.
   * @throws {UniqueConflictError} if a newer job holds its unique key, or is the periodic's waiting or running run.
   */
  retry(id: JobId): Promise<void>;

  /**
   * Makes scheduled and retryable jobs due now, for a caller who knows that what they wait for is there. Their attempts
   * are unchanged. Jobs that are already due, running, ended, or held by another transaction stay as they are. Resolves
   * to how many jobs were brought forward.
   *
   * @throws {InvalidOptionError} if an id is invalid, or there are more than 10,000.
   */
  bringForward(ids: readonly JobId[]): Promise<number>;

  /** Cancels a job. */
  cancel(id: JobId): Promise<CancelResult>;

  /**
   * Pauses a queue, durably and for the whole fleet: none of its jobs is claimed from now on, and jobs claimed ahead go
   * back in line within a heartbeat. Running jobs continue, and jobs can still be enqueued. Idempotent.
   *
   * @throws {UndeclaredQueueError} if the queue is not in the queue table.
   */
  pauseQueue(queue: string): Promise<void>;

  /**
   * Resumes a paused queue. Idempotent.
   *
   * @throws {UndeclaredQueueError} if the queue is not in the queue table.
   */
  resumeQueue(queue: string): Promise<void>;

  /** Returns the declared periodics, by name. */
  periodic(): Promise<PeriodicStatus[]>;

  /**
   * Starts one run now, outside the schedule, even if the periodic is paused. If a run is already running or due, that
   * one's id is returned; a run waiting for another attempt is superseded.
   *
   * @throws {UndeclaredPeriodicError} if the periodic is not declared.
   */
  runPeriodic(name: string): Promise<JobId>;

  /**
   * Pauses a periodic, durably and for the whole fleet: it has no ticks until it is resumed. A waiting or running run
   * continues. Idempotent.
   *
   * @throws {UndeclaredPeriodicError} if the periodic is not declared.
   */
  pausePeriodic(name: string): Promise<void>;

  /**
   * Resumes a paused periodic. Its ticks count from now: missed ticks are not made up. Idempotent.
   *
   * @throws {UndeclaredPeriodicError} if the periodic is not declared.
   */
  resumePeriodic(name: string): Promise<void>;
}
