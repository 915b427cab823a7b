import type { JobId, JobState } from "./job.ts";
import type { JsonInput } from "./json.ts";
import type { Tx } from "./tx.ts";

/** How one job is enqueued. */
export interface EnqueueOptions {
  /** Not before this instant. Default at once; an instant in the past is at once. Not for a kind with `debounce`. */
  readonly runAt?: Date;
  /**
   * While a job of this kind with these args (key order does not matter) is pending, running, retryable, or completed
   * and not yet purged, nothing is added and that job's id is returned; one that has never run is moved forward to an
   * earlier due time. What comes while it runs is not looked at: a kind's `unique` can let it in. A rule that the kind
   * declares takes the place of this one. Default false.
   */
  readonly uniqueByArgs?: boolean;
  /** Another queue than the kind's. */
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

/** What an offer came to. */
export interface Offered {
  /** The job that was added, or the twin that kept it out. */
  readonly id: JobId;
  /** Whether it was added. */
  readonly added: boolean;
}

/** What a cancel did. */
export interface CancelResult {
  /**
   * - `cancelled`: it waited, and never runs
   * - `requested`: it runs; it gets its signal and ends cancelled
   * - `final`: it had ended, and stays as it is
   * - `gone`: there is no such job (any more)
   */
  readonly result: "cancelled" | "requested" | "final" | "gone";
  /** The state that the job is in now; null when it is gone. */
  readonly state: JobState | null;
}

/** Puts work in line. */
export interface Jobs {
  /**
   * A copy that works inside the caller's open transaction: a job exists if and only if it commits.
   * The original is left as it was.
   */
  with(tx: Tx): Jobs;

  /**
   * Enqueues one job and resolves to its id, once it has committed (or, with a transaction, once it is written).
   *
   * @throws {UndeclaredKindError} the kind is not declared.
   * @throws {InvalidOptionError} an option is out of its range, or the kind is a periodic's: `runPeriodic` runs it.
   * @throws {InvalidJsonError} the args are not JSON; nothing was sent.
   * @throws {InvalidArgsError} the args do not fit the kind's schema; nothing was sent.
   * @throws {ArgsSchemaError} the kind's schema threw; nothing was sent.
   * @throws {MissingKeyMemberError} the args lack what the kind's unique key is made of; nothing was sent.
   * @throws {TooLargeError} the args are above 1 MiB; nothing was sent.
   * @throws {TransactionConflictError} in REPEATABLE READ, when a concurrent transaction took the unique key.
   */
  enqueue(kind: string, args?: JsonInput, options?: EnqueueOptions): Promise<JobId>;

  /** As {@linkcode Jobs.enqueue}, and tells whether the job was added or a twin kept it out. */
  offer(kind: string, args?: JsonInput, options?: EnqueueOptions): Promise<Offered>;

  /** Enqueues many jobs, all or none, in one statement; the ids are in the order of the requests. */
  enqueueMany(requests: readonly EnqueueRequest[]): Promise<JobId[]>;

  /** Calls a job off. Inside a transaction it takes effect at the commit. */
  cancel(id: JobId): Promise<CancelResult>;
}
