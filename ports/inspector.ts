import type { JobDetail, JobId, JobState, JobSummary } from "./job.ts";
import type { CancelResult } from "./jobs.ts";
import type { Json } from "./json.ts";
import type { UpkeepOverview } from "./upkeep.ts";

/** Counts of one kind. */
export interface KindOverview {
  /** The kind. */
  readonly kind: string;
  /** Whether this process declares it. A kind can be on rows only, or declared only. */
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

/** A queue and whether it is worked. */
export interface QueueOverview {
  /** The queue. */
  readonly queue: string;
  /** How many of its handlers run at once in one process; null where this process does not declare it. */
  readonly concurrency: number | null;
  /** Since when it is paused, ISO 8601; null when it is not. */
  readonly pausedAt: string | null;
}

/** The whole at a glance. */
export interface Overview {
  /** Counts of each kind, declared ones that never ran included, by name. */
  readonly kinds: readonly KindOverview[];
  /** How many jobs are in each state. */
  readonly states: Readonly<Record<JobState, number>>;
  /** Age of the oldest due job, in ms; null when none waits. */
  readonly oldestPendingMs: number | null;
  /** The same per queue and priority, where one waits: priority is strict, so a starved one shows here. */
  readonly waiting: readonly WaitingOverview[];
  /** The declared queues, and those that are paused, by name. */
  readonly queues: readonly QueueOverview[];
  /** Jobs that were put aside because no process that claimed them declares their kind. */
  readonly undeclared: number;
  /** The size of the tables and their indexes, in bytes; 0 where nothing is stored. */
  readonly bytes: number;
  /** The work beside the jobs (ticks, purges, rescues) and how it goes, by the tasks' names. */
  readonly upkeep: readonly UpkeepOverview[];
}

/** Which jobs a depth counts. */
export interface DepthFilter {
  /** Of this kind. */
  readonly kind?: string;
  /** Of this queue. */
  readonly queue?: string;
}

/** The jobs that have not ended, in figures. Each of them is at most {@linkcode DEPTH_COUNTED_MAX}. */
export interface Depth {
  /** Jobs that wait for their first attempt, those that are not due yet among them. */
  readonly pending: number;
  /** Jobs that wait for another attempt. */
  readonly retryable: number;
  /** Jobs that were claimed. */
  readonly running: number;
  /** Those of the waiting ones that are due now: what more workers would take. */
  readonly due: number;
  /** Age of the oldest due job, in ms; null when none waits. */
  readonly oldestDueMs: number | null;
}

/** So many jobs are counted for a {@linkcode Depth} at most, all states together. */
export const DEPTH_COUNTED_MAX: number = 100_000;

/** Which jobs a list holds. */
export interface JobFilter {
  /** Of this kind. */
  readonly kind?: string;
  /** Of this queue. */
  readonly queue?: string;
  /** In this state. */
  readonly state?: JobState;
  /** Whose args contain this object (as jsonb's `@>` means it). */
  readonly args?: Json;
  /** Older than this job, for the next page. */
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
  /** What the handler returned; null when there is nothing. */
  readonly output: Json;
  /** The last error's message; null when it went well. */
  readonly error: string | null;
}

/** A periodic and what is known of its runs. */
export interface PeriodicStatus {
  /** Its name. */
  readonly name: string;
  /** The kind of its jobs. */
  readonly kind: string;
  /** `every 60000 ms` or the cron expression with its zone: the schedule that holds in the fleet. */
  readonly schedule: string;
  /** When it is next due, ISO 8601; null when it is not, for it is paused or its time never comes. */
  readonly nextRunAt: string | null;
  /** Since when it is paused, ISO 8601; null when it is not. */
  readonly pausedAt: string | null;
  /** The tick that was last taken, ISO 8601; null before the first. */
  readonly lastTickAt: string | null;
  /** The job that waits or runs now; null when none does. */
  readonly currentJobId: JobId | null;
  /** The last run that ended; null before the first. */
  readonly lastRun: PeriodicRun | null;
  /** The last 20 runs, newest first. */
  readonly runs: readonly PeriodicRun[];
}

/** Looks at jobs and mends them. */
export interface Inspector {
  /**
   * Counts, ages and sizes; of one kind when one is named. It counts all that has ended too, some 2 s per million rows: ask
   * for the {@linkcode Inspector.depth} where it is asked often.
   */
  overview(kind?: string): Promise<Overview>;

  /**
   * How many jobs wait and run: for metrics, and for whoever starts workers by the backlog. It does not look at what has ended,
   * so it can be asked several times a second.
   */
  depth(filter?: DepthFilter): Promise<Depth>;

  /** Jobs, newest first, with a preview of their args. */
  list(filter?: JobFilter): Promise<JobSummary[]>;

  /** One job whole; null when there is none. */
  get(id: JobId): Promise<JobDetail | null>;

  /**
   * Puts a job that is not running back in line, due now, its errors kept, with at least one more attempt.
   *
   * @throws {JobNotFoundError} there is none.
   * @throws {JobRunningError} it runs.
   * @throws {UniqueConflictError} a newer job holds its unique key, or is the periodic's run that waits or runs now.
   */
  retry(id: JobId): Promise<void>;

  /**
   * Makes jobs due now that wait for their time: for whoever knows that what they wait for is there. Their attempts stay as they
   * are, and so do jobs that are due already, run, have ended, or that another transaction holds. Resolves to how many it
   * brought forward.
   *
   * @throws {InvalidOptionError} an id is none, or there are more than 10,000.
   */
  bringForward(ids: readonly JobId[]): Promise<number>;

  /** Calls a job off. */
  cancel(id: JobId): Promise<CancelResult>;

  /**
   * Pauses a queue, durably and for the whole fleet: from now on none of its jobs is claimed, and what was claimed ahead
   * goes back in line, within a heartbeat at the latest. Jobs that run go on, and jobs can be enqueued. Idempotent.
   *
   * @throws {UndeclaredQueueError} the queue table does not hold it.
   */
  pauseQueue(queue: string): Promise<void>;

  /**
   * Resumes a paused queue. Idempotent.
   *
   * @throws {UndeclaredQueueError} the queue table does not hold it.
   */
  resumeQueue(queue: string): Promise<void>;

  /** The declared periodics, by name. */
  periodic(): Promise<PeriodicStatus[]>;

  /**
   * Makes one run now, beside the schedule, also of a paused one. When one runs already, or is due, that one's id is
   * returned; one that waits for another attempt is superseded.
   *
   * @throws {UndeclaredPeriodicError} the name is not declared.
   */
  runPeriodic(name: string): Promise<JobId>;

  /**
   * Pauses a periodic, durably and for the whole fleet: it has no ticks until it is resumed. A run that waits or runs
   * goes on. Idempotent.
   *
   * @throws {UndeclaredPeriodicError} the name is not declared.
   */
  pausePeriodic(name: string): Promise<void>;

  /**
   * Resumes a paused periodic. Its ticks count from now: those that have passed are not made up for. Idempotent.
   *
   * @throws {UndeclaredPeriodicError} the name is not declared.
   */
  resumePeriodic(name: string): Promise<void>;
}
