import type { LogFields } from "./log.ts";

/** Options for declaring an upkeep task. */
export interface UpkeepTaskOptions {
  /**
   * The longest normal interval between runs, in ms. A task that was not done for much longer is overdue. `Infinity`:
   * it runs only when there is something to do.
   */
  readonly everyMs: number;
  /**
   * `fleet`: one process does the task for all, so a success anywhere ends a failure elsewhere. `process`: every
   * process does its own. Default `fleet`.
   */
  readonly scope?: "fleet" | "process";
  /** The log message for a failure: `old deliveries not deleted, trying again`. */
  readonly failing: string;
  /** Extra fields for that log line, for example the queue. */
  readonly fields?: LogFields;
}

/** Recurring background work that nobody waits for. Without a record, it could fail for days unnoticed. */
export interface UpkeepTask {
  /** Runs the work once and records the result. Errors are logged and rethrown. */
  run<T>(work: () => Promise<T>): Promise<T>;

  /** Records a success. Cheap enough to call for every claim. */
  succeeded(): void;

  /**
   * Records a failure, and logs it with how often and for how long the task has failed: the first failure, then at
   * intervals that grow from a minute to an hour. With `told`, the caller has already logged it.
   */
  failed(error: unknown, options?: { readonly told?: boolean }): void;
}

/** Declares the upkeep tasks of a process. */
export interface Upkeep {
  /** Returns the task with this name. The first call declares it; later calls return the same object. */
  task(name: string, options: UpkeepTaskOptions): UpkeepTask;
}

/** An upkeep task's status over all processes. */
export interface UpkeepOverview {
  /** Its name: `purge jobs`. */
  readonly task: string;
  /** When it last succeeded in any process, ISO 8601; null when unknown. */
  readonly lastSuccessAt: string | null;
  /** When it last failed, ISO 8601; null when unknown. */
  readonly lastErrorAt: string | null;
  /** Why it last failed; null when unknown. Kept after the task works again. */
  readonly lastError: string | null;
  /** The name of the process in which it last failed: where to read the log. */
  readonly lastErrorIn: string | null;
  /** When its current series of failures began, ISO 8601; null while it works. */
  readonly failingSince: string | null;
  /** How long it has been failing, in ms; 0 while it works. */
  readonly failingForMs: number;
  /** How often it has failed since its last success; with several processes, the highest number. 0 while it works. */
  readonly failuresInARow: number;
  /** Whether it has neither failed nor succeeded for much longer than it should take: nobody is doing it. */
  readonly overdue: boolean;
}

/** One process's report on a task since its last report. */
export interface UpkeepReport {
  /** The task. */
  readonly task: string;
  /** The process's id for a task that every process does for itself; null for one done for the whole fleet. */
  readonly owner: string | null;
  /** The process's name, for people. */
  readonly process: string;
  /** How long ago the last success was, in ms; null when there was none. */
  readonly successAgoMs: number | null;
  /** The failures since the last success or the last report; null when there were none. */
  readonly failed: {
    /** How many. */
    readonly count: number;
    /** How long ago the first was, in ms. */
    readonly firstAgoMs: number;
    /** How long ago the last was, in ms. */
    readonly lastAgoMs: number;
    /** The error of the last failure. */
    readonly error: string;
  } | null;
}

/** A task's stored record. Times are ms since the epoch, by the store's clock. */
export interface UpkeepRow {
  /** The task. */
  readonly task: string;
  /** As in {@linkcode UpkeepReport}. */
  readonly owner: string | null;
  /** The last success; null when there was none. */
  readonly lastSuccessMs: number | null;
  /** The last failure; null when there was none. */
  readonly lastErrorMs: number | null;
  /** Why it last failed. */
  readonly lastError: string | null;
  /** The process in which it last failed. */
  readonly lastErrorIn: string | null;
  /** The first failure since the last success; null while it works. */
  readonly failingSinceMs: number | null;
  /** How many failures there were since the last success. */
  readonly failuresInARow: number;
}

/** The stored records of all tasks. */
export interface StoredUpkeep {
  /** The store's clock, ms since the epoch. */
  readonly nowMs: number;
  /** The tasks' records, excluding those of processes that are gone. */
  readonly rows: readonly UpkeepRow[];
}
