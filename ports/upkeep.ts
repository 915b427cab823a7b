import type { LogFields } from "./log.ts";

/** How an upkeep task is declared. */
export interface UpkeepTaskOptions {
  /**
   * How often it is done at least while all is well, in ms. One that was not done for much longer is overdue. `Infinity`: it is
   * done when there is something to do.
   */
  readonly everyMs: number;
  /**
   * `fleet`: one process does it for all, so a success anywhere ends a failure elsewhere. `process`: every process does it
   * for itself. Default `fleet`.
   */
  readonly scope?: "fleet" | "process";
  /** What the log says when it fails: `old deliveries not deleted, trying again`. */
  readonly failing: string;
  /** What else the log says then: of which queue it is. */
  readonly fields?: LogFields;
}

/**
 * Work beside the jobs that is done again and again and that nobody waits for: without a record nobody would see that it
 * has been failing for days.
 */
export interface UpkeepTask {
  /** Does it once, and records how it went. What it throws is logged and thrown on. */
  run<T>(work: () => Promise<T>): Promise<T>;

  /** Records a success. Cheap enough for every claim. */
  succeeded(): void;

  /**
   * Records a failure, and logs it: the first one, then at pauses that grow from a minute to an hour, with how often it has
   * failed and for how long. With `told` the caller has logged it.
   */
  failed(error: unknown, options?: { readonly told?: boolean }): void;
}

/** Declares the upkeep tasks of a process. */
export interface Upkeep {
  /** The task of this name: the same object at each call, declared by the first. */
  task(name: string, options: UpkeepTaskOptions): UpkeepTask;
}

/** How an upkeep task goes over all processes. */
export interface UpkeepOverview {
  /** Its name: `purge jobs`. */
  readonly task: string;
  /** When it last went well anywhere, ISO 8601; null when that is not known. */
  readonly lastSuccessAt: string | null;
  /** When it last failed, ISO 8601; null when that is not known. */
  readonly lastErrorAt: string | null;
  /** Why it failed last; null when that is not known. It stays when the task works again. */
  readonly lastError: string | null;
  /** The process in which it failed last, by its name: where to read the log. */
  readonly lastErrorIn: string | null;
  /** Since when it has failed without a success, ISO 8601; null while it works. */
  readonly failingSince: string | null;
  /** For how long it has, in ms; 0 while it works. */
  readonly failingForMs: number;
  /** How often it has failed since its last success; of several processes, the most. 0 while it works. */
  readonly failuresInARow: number;
  /** Whether it has neither failed nor gone well for much longer than it should take: nobody does it. */
  readonly overdue: boolean;
}

/** What one process reports of a task since its last report. */
export interface UpkeepReport {
  /** The task. */
  readonly task: string;
  /** The process's id for a task that every process does for itself; null for one that is done for all. */
  readonly owner: string | null;
  /** The process's name, for people. */
  readonly process: string;
  /** How long ago the last success was, in ms; null when there was none. */
  readonly successAgoMs: number | null;
  /** What failed since the last success, or since the last report; null when nothing did. */
  readonly failed: {
    /** How often. */
    readonly count: number;
    /** How long ago the first was, in ms. */
    readonly firstAgoMs: number;
    /** How long ago the last was, in ms. */
    readonly lastAgoMs: number;
    /** Why. */
    readonly error: string;
  } | null;
}

/** What is stored of a task. Times are ms since the epoch, of the store's clock. */
export interface UpkeepRow {
  /** The task. */
  readonly task: string;
  /** As in {@linkcode UpkeepReport}. */
  readonly owner: string | null;
  /** The last success; null when there was none. */
  readonly lastSuccessMs: number | null;
  /** The last failure; null when there was none. */
  readonly lastErrorMs: number | null;
  /** Why it failed last. */
  readonly lastError: string | null;
  /** The process that it failed in. */
  readonly lastErrorIn: string | null;
  /** The first failure since the last success; null while it works. */
  readonly failingSinceMs: number | null;
  /** How many there were. */
  readonly failuresInARow: number;
}

/** What is stored of all tasks. */
export interface StoredUpkeep {
  /** The store's clock, ms since the epoch. */
  readonly nowMs: number;
  /** The tasks, without those of processes that are gone. */
  readonly rows: readonly UpkeepRow[];
}
