import type { ArgsSchema } from "./args_schema.ts";
import type { Backoff } from "./backoff.ts";
import type { Handler } from "./handler.ts";
import type { Json } from "./json.ts";
import type { DebounceRule, UniqueRule } from "./key_rule.ts";
import type { Permissions } from "./permissions.ts";

/**
 * One kind of job: a name and how its jobs run. Data, handed over at construction.
 *
 * @example
 * ```ts
 * import type { Kind } from "@millrace/millrace";
 * const mail: Kind = {
 *   name: "order.mail",
 *   queue: "default",
 *   maxAttempts: 5,
 *   timeout: 30_000,
 *   handler: new URL("./order_mail.ts", import.meta.url),
 * };
 * ```
 */
export interface Kind {
  /** Unique, stable (it is stored on rows), at most 128 characters. `periodic:` is reserved. */
  readonly name: string;
  /**
   * What the args must be: a schema of any Standard Schema library. Others are refused at enqueue. Its handler module
   * checks again with {@linkcode handlerOf}; {@linkcode defineKind} makes the compiler know all of it.
   */
  readonly args?: ArgsSchema;
  /** A queue of the queue table. */
  readonly queue: string;
  /** How many tries a job has, 1 to 1,000,000. */
  readonly maxAttempts: number;
  /** The limit of one attempt, in ms, counted from the handler's start; above 0 and at most 10 years. */
  readonly timeout: number;
  /** The delay after a failed attempt, in ms. Default {@linkcode DefaultBackoff}; +-10 % jitter is added. */
  readonly backoff?: Backoff;
  /**
   * A module specifier (string or URL) whose default export runs in a worker thread; a relative path counts from
   * the working directory. Or a function, run in the main thread: for light work that is trusted.
   */
  readonly handler: Handler | string | URL;
  /** A thread of the runtime's own process, or one in a host process. Default `thread`. */
  readonly isolation?: "thread" | "process";
  /** Runs the kind in a host process with these permissions, and only these. */
  readonly permissions?: Permissions;
  /** Runs each job alone in a host process that is killed above this much memory, in bytes. At least 64 MiB. */
  readonly memory?: number;
  /** A thread for each job of this kind alone, for handlers that compute. Default false. */
  readonly ownThread?: boolean;
  /**
   * Whether its discarded jobs are among the alerts, and a discard by the handler is a warning in the log. False where
   * whoever discards them keeps account of it, and no person needs to look at the jobs. Default true.
   */
  readonly discardAlert?: boolean;
  /** Keeps twins out: jobs with the same args, or the same in some of them. Default none are kept out. */
  readonly unique?: UniqueRule;
  /** Gathers calls for the same thing in one job that waits until they pause. Default each call is a job. */
  readonly debounce?: DebounceRule;
  /** For kinds that mostly wait for others: how their runs leave their slots. Default none does. */
  readonly beside?: Beside;
}

/**
 * Lets the runs of a kind leave their slots of the queue, so that those which take long hold up nobody behind them. What
 * finds no room beside the queue keeps its slot to the end.
 */
export interface Beside {
  /** A run that has taken so long leaves its slot to the next job and goes on beside the queue, in ms, 0 to 2^31 - 1. */
  readonly afterMs: number;
  /** How many runs of the kind go on beside the queue at once in one process, 1 to 10,000. */
  readonly most: number;
}

/** One line of the queue table. */
export interface Queue {
  /** Unique, stable (it is stored on rows), at most 128 characters. `maintenance` exists by itself. */
  readonly name: string;
  /** How many handlers of this queue run at once in one process, 1 to 10,000. */
  readonly concurrency: number;
}

/**
 * Work that the fleet does at fixed times: each tick enqueues one job, however many processes there are.
 *
 * @example
 * ```ts
 * import type { Periodic } from "@millrace/millrace";
 * const periodics: Periodic[] = [
 *   { name: "sweep", every: 60_000, handler: () => {} },
 *   { name: "report", cron: "0 7 * * MON-FRI", timezone: "Europe/Vienna", kind: "report.build", args: { days: 1 } },
 * ];
 * ```
 */
export type Periodic = (PeriodicEvery | PeriodicCron) & (PeriodicHandler | PeriodicKind);

/** What every periodic has. */
export interface PeriodicBase {
  /** Unique, stable (it is stored), at most 118 characters. */
  readonly name: string;
  /** Whether it also runs as soon as it is first declared; otherwise it waits for its first tick. Default false. */
  readonly runAtStart?: boolean;
  /** The queue of its jobs. Default that of its kind; `maintenance` where it has a handler of its own. */
  readonly queue?: string;
  /** The priority of its jobs, 1 (first) to 4, as of {@linkcode EnqueueOptions}. Default 2. */
  readonly priority?: 1 | 2 | 3 | 4;
}

/** Ticks at multiples of a period since 1970-01-01T00:00:00Z. */
export interface PeriodicEvery extends PeriodicBase {
  /** The period in ms, from 100 to 10 years. */
  readonly every: number;
}

/** Ticks at the times of a cron expression in a time zone. */
export interface PeriodicCron extends PeriodicBase {
  /** Five fields, six with seconds first, or a nickname such as `@daily`. */
  readonly cron: string;
  /** An IANA name such as `Europe/Vienna`, or `UTC`. Always said: the host's zone is never used. */
  readonly timezone: string;
}

/** A tick enqueues a job of a declared kind, with that kind's attempts, timeout and backoff. */
export interface PeriodicKind {
  /** The name of a declared kind. */
  readonly kind: string;
  /**
   * The args of its jobs, which must fit the kind's schema and have what its unique key is made of. Default null, which the
   * handler sees as `{}`. A schema whose check is asynchronous is asked by the handler alone.
   */
  readonly args?: Json;
}

/** A short form: the periodic is a kind of its own, `periodic:NAME`, whose jobs have no args. */
export interface PeriodicHandler extends
  Pick<
    Kind,
    "handler" | "backoff" | "isolation" | "permissions" | "memory" | "ownThread" | "discardAlert"
  > {
  /** How many tries a run has, 1 to 1,000,000. Default 1: the next tick is the retry. */
  readonly maxAttempts?: number;
  /** The limit of one attempt, in ms; above 0 and at most 10 years. Default 10 minutes. */
  readonly timeout?: number;
}
