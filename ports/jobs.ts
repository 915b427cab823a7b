import type { JobId, JobState } from "./job.ts";
import type { JsonInput } from "./json.ts";
import type { Tx } from "./tx.ts";

/** Options for enqueuing one job. */
export interface EnqueueOptions {
  /**
   * The earliest time to run. Default immediately; a time in the past also means immediately. Not allowed for a kind
   * with `debounce`.
   */
  readonly runAt?: Date;
  /**
   * While a job of this kind with these args (key order doesn't matter) is pending, running, retryable, or completed
   * and not yet purged, nothing is added and that job's id is returned; if it has never run, it moves forward to an
   * earlier due time. A job that arrives while its twin runs is then not added; use the kind's `unique` to allow it. A
   * rule that the kind declares replaces this option. Default false.
   */
  readonly uniqueByArgs?: boolean;
  /** A queue to use instead of the kind's. */
  readonly queue?: string;
  /** 1 (first) to 4, strict: a lower number always goes first within its queue. Default 2. */
  readonly priority?: 1 | 2 | 3 | 4;
}

/** One entry of {@linkcode Jobs.enqueueMany}. */
export interface EnqueueRequest extends EnqueueOptions {
  /** A declared kind. */
  readonly kind: string;
  /** Its args. Default null, which the handler sees as `{}`. */
  readonly args?: JsonInput;
}

/** The result of an offer. */
export interface Offered {
  /** The job that was added, or the existing twin that prevented it. */
  readonly id: JobId;
  /** Whether it was added. */
  readonly added: boolean;
}

/** The result of a cancel. */
export interface CancelResult {
  /**
   * - `cancelled`: it was waiting, and never runs
   * - `requested`: it is running; its signal aborts, and it ends cancelled
   * - `final`: it had already ended, and stays as it is
   * - `gone`: the job doesn't exist, or no longer does
   */
  readonly result: "cancelled" | "requested" | "final" | "gone";
  /** The job's state now; null when it is gone. */
  readonly state: JobState | null;
}

/** Enqueues and cancels jobs. */
export interface Jobs {
  /**
   * Returns a copy that works inside the caller's open transaction: a job exists if and only if the transaction
   * commits. The original is unchanged.
   */
  with(tx: Tx): Jobs;

  /**
   * Enqueues one job and resolves to its id, once it has committed (or, with a transaction, once it is written).
   *
   * @throws {UndeclaredKindError} if the kind is not declared.
   * @throws {InvalidOptionError} if an option is out of range, or the kind belongs to a periodic: use `runPeriodic` to
   * run it.
   * @throws {InvalidJsonError} if the args are not JSON; nothing was sent.
   * @throws {InvalidArgsError} if the args do not match the kind's schema; nothing was sent.
   * @throws {ArgsSchemaError} if the kind's schema threw; nothing was sent.
   * @throws {MissingKeyMemberError} if the args lack a member of the kind's unique key; nothing was sent.
   * @throws {TooLargeError} if the args exceed 1 MiB; nothing was sent.
   * @throws {TransactionConflictError} in REPEATABLE READ, if a concurrent transaction took the unique key.
   */
  enqueue(kind: string, args?: JsonInput, options?: EnqueueOptions): Promise<JobId>;

  /** Like {@linkcode Jobs.enqueue}, and also reports whether the job was added or a twin prevented it. */
  offer(kind: string, args?: JsonInput, options?: EnqueueOptions): Promise<Offered>;

  /** Enqueues many jobs, all or none, in one statement. The ids are in the order of the requests. */
  enqueueMany(requests: readonly EnqueueRequest[]): Promise<JobId[]>;

  /** Cancels a job. Inside a transaction, the cancel takes effect at the commit. */
  cancel(id: JobId): Promise<CancelResult>;
}
