import type { Depth, DepthFilter, JobFilter, PeriodicRun } from "./inspector.ts";
import type { FailureClass, FinalState, JobDetail, JobId, JobState, JobSummary } from "./job.ts";
import type { CancelResult } from "./jobs.ts";
import type { KeyRule } from "./key_rule.ts";
import type { Tx } from "./tx.ts";
import type { StoredUpkeep, UpkeepReport } from "./upkeep.ts";

/**
 * Where jobs are stored: the interface between the runtime and a database. To write an adapter, implement this one
 * interface, pass it to the runtime, and run the conformance suite. It may grow with a minor version.
 *
 * Every time in it is by the store's own clock. Every method that changes a run is fenced by (id, run): a run that no
 * longer owns the job changes nothing.
 */
export interface Store {
  /** How a handler's own transaction completes its job; null when handlers can't share a transaction with the store. */
  readonly completion: Completion | null;

  /**
   * Checks that the store is usable: it is reachable, its schema has the needed version, and there are enough
   * connections.
   */
  open(): Promise<void>;

  /** Closes all connections. Idempotent. */
  close(): Promise<void>;

  /**
   * Writes jobs, all or none, and returns an id for each, in order. If a transaction is given, writes through it. A
   * unique job whose key is held yields the holder's id. Unless the holder has ended, its row stays locked until the
   * transaction ends, so that what was decided stays true. After a call without a transaction, the runtime signals what
   * is ready; with one, the store signals it at the commit.
   *
   * @throws {RefusedValueError} if the database refused a value; nothing was stored.
   */
  insert(jobs: readonly NewJob[], tx?: Tx): Promise<Inserted[]>;

  /**
   * Writes jobs that are due now and have no unique key, all or none, and signals at their commit that their queues are
   * ready. This saves a round trip compared with signalling afterwards. A store that knows that nobody needs waking
   * need not signal.
   *
   * @throws {RefusedValueError} if the database refused a value; nothing was stored.
   */
  insertAndSignal(jobs: readonly NewJob[]): Promise<Inserted[]>;

  /**
   * Cancels one job, through the transaction if one is given. For a running job, the runtime signals the cancel after a
   * call without a transaction; with one, the store signals it at the commit.
   */
  cancel(id: JobId, tx?: Tx): Promise<CancelResult>;

  /**
   * Claims due jobs of a queue for `owner`, by priority and then oldest first, and increments their run and attempt.
   * The first `free` of them count as started by the claim, except those that run alone, which may have to wait: for
   * these and for all others the runtime calls {@linkcode Store.started} before they start.
   */
  claim(request: ClaimRequest): Promise<Claimed[]>;

  /**
   * Why some jobs of a queue can't be claimed and are therefore skipped, as one error: a new object after each refusal;
   * null when there are none. The store retries each of them after pauses and names it in the log. If absent, no job is
   * ever refused.
   */
  claimFault?(queue: string): Error | null;

  /**
   * The time in ms until the queue's next job falls due that is not due yet; null when there is none. Less if the store
   * wants the queue to be claimed from sooner.
   */
  nextDue(queue: string): Promise<number | null>;

  /**
   * Records that claimed jobs start now, before their handlers do: only a started job spends an attempt if the process
   * dies.
   *
   * @throws {OffTheRecordError} if the process was taken for dead, or has left.
   */
  started(owner: string, runs: readonly RunRef[]): Promise<void>;

  /**
   * Ends runs: moves their jobs to a final state, or back in line. Returns each result, in order. If the store refuses
   * one settlement, it may refuse the whole call; the runtime then sends the others without it.
   */
  settle(settlements: readonly Settlement[]): Promise<Settled[]>;

  /** Stores the progress of runs. */
  progress(entries: readonly ProgressEntry[]): Promise<void>;

  /**
   * Registers this process, under its own id, which is never reused.
   *
   * @throws {ProtocolTooOldError} if a newer program requires a higher protocol.
   * @throws {SchemaVersionError} if a newer program requires that more steps of a part are known.
   */
  register(owner: Owner): Promise<void>;

  /** Records what this process declares, for callers that enqueue without the runtime: from SQL or another language. */
  declare(declared: Declared): Promise<void>;

  /**
   * Stores each kind as the newest registered process that declares it describes it, and returns the names of the kinds
   * that changed. Kinds that no registered process declares are left as they are.
   */
  renewKinds(): Promise<string[]>;

  /** Pauses a queue: from now on, and across restarts, no process claims from it. Claimed jobs are not touched. */
  pauseQueue(queue: string): Promise<void>;

  /** Resumes a queue: from now on it can be claimed from again. */
  resumeQueue(queue: string): Promise<void>;

  /** Unregisters this process. Its jobs must have been settled. */
  unregister(owner: string): Promise<void>;

  /** Renews this process's heartbeat and reads those of all processes. */
  beat(owner: string): Promise<Beat>;

  /**
   * Reads the requests to a process. Signals are only hints, and not everyone who can send one is allowed to make a
   * request.
   */
  requests(owner: string): Promise<Requests>;

  /**
   * Puts back the jobs of a process whose heartbeat still has the value `beat`, and then unregisters the process.
   * Started jobs have spent their attempt; jobs only claimed have not. With many jobs, it may put back some and ask to
   * be called again. Once it has put back one job, the process gets and starts no more jobs, and its heartbeat reports
   * this.
   */
  rescue(owner: string, beat: string, error: RescueError): Promise<Rescued>;

  /** Takes or renews the leader's lease. At most one process holds it at any time, by the store's clock. */
  lead(owner: string, leaseMs: number): Promise<boolean>;

  /** Gives up the lease, if this process holds it. */
  resign(owner: string): Promise<void>;

  /**
   * Returns the stored periodics, all or those named, by name. It creates none. With `runs: false`, their runs are left
   * out.
   */
  periodics(names?: readonly string[], options?: { readonly runs?: boolean }): Promise<StoredPeriodics>;

  /**
   * Returns what registered processes declare, the newest declaration first. Processes that declare the same share one
   * entry.
   */
  declaredPeriodics(): Promise<PeriodicDeclaration[]>;

  /**
   * Stores each planned periodic if it still has the version that was read, and returns the names of those stored.
   * Never waits for locks on them.
   */
  planPeriodics(plans: readonly PeriodicPlan[]): Promise<string[]>;

  /** Returns the periodics whose next tick has come, earliest tick first, without their runs. */
  duePeriodics(request: DueRequest): Promise<DuePeriodics>;

  /**
   * Takes ticks and enqueues their jobs atomically: a call that throws has taken none. A tick is taken together with
   * its job, and only if its periodic still has the version that was read and no run of it is running or due. A run
   * waiting for a later attempt is superseded: it ends cancelled. Returns the ticks taken. Never waits for locks on the
   * periodics.
   */
  takeTicks(ticks: readonly PeriodicTick[]): Promise<TakenTick[]>;

  /**
   * Enqueues one run of a periodic outside its schedule, or returns the id of the run that is running or due. A run
   * waiting for a later attempt is superseded.
   */
  runPeriodic(name: string, job: PeriodicJob): Promise<JobId>;

  /** Pauses a periodic: from now on it has no ticks. */
  pausePeriodic(name: string): Promise<void>;

  /**
   * Resumes a periodic: from now on it has ticks, the next one at `nextTickMs`. Returns false, and changes nothing, if
   * it no longer has the version that was read.
   */
  resumePeriodic(name: string, version: string, nextTickMs: number | null): Promise<boolean>;

  /**
   * Deletes at most `limit` ended jobs that are past their retention, with their unique keys; returning zero means that
   * no more can be deleted now. Jobs that can't be deleted don't block others: they are reported by an error after all
   * others have been deleted, and again each time until they are gone.
   */
  purge(request: Purge): Promise<number>;

  /**
   * Returns where jobs of these kinds were put aside. The next claims that name the kind find all of them. The runtime
   * asks at start and with every heartbeat, in case the signal was lost.
   */
  findAside(kinds: readonly string[]): Promise<Aside[]>;

  /**
   * Records the results of upkeep tasks. A failure adds to the stored ones; a success before it ends those. Never waits
   * for locks: locked records are skipped.
   */
  reportUpkeep(reports: readonly UpkeepReport[]): Promise<void>;

  /**
   * Returns the stored records of upkeep tasks, excluding those from processes that are gone or have been silent for 5
   * minutes.
   */
  upkeep(): Promise<StoredUpkeep>;

  /** Returns the queues, by name, that have waiting due jobs, are not paused, and that no registered process works. */
  unworked(): Promise<string[]>;

  /** Counts jobs that have not ended, without reading those that have. The filter is already validated. */
  depth(filter: DepthFilter): Promise<Depth>;

  /** Returns counts and ages, over all kinds or one. */
  counts(kind?: string): Promise<Counts>;

  /** Lists jobs, newest first. The filter is already validated. */
  list(filter: JobFilter & { readonly limit: number }): Promise<JobSummary[]>;

  /** Returns a job in full; null when there is none. */
  get(id: JobId): Promise<JobDetail | null>;

  /** Puts a job back in line and returns its queue. Throws as described for {@linkcode Inspector.retry}. */
  retry(id: JobId): Promise<string>;

  /**
   * Makes waiting jobs due now, except jobs that were put aside, are locked, or that the store refuses to change.
   * Returns the queue of each changed job.
   */
  bringForward(ids: readonly JobId[]): Promise<string[]>;

  /** Returns which of these jobs have ended, and which are missing, all as of one moment. */
  finals(ids: readonly JobId[]): Promise<Finals>;

  /**
   * Sends messages to every process on this store, including this one. They may be lost. A store that knows that a
   * process is claiming from a queue without pause need not signal that the queue is ready.
   */
  signal(messages: readonly Signal[]): Promise<void>;

  /** Subscribes to signals. */
  subscribe(observer: SignalObserver): Promise<SignalSubscription>;
}

/**
 * The texts of statements to run through a handler's own `Tx`. One completes a job, the other names the open
 * transaction.
 */
export interface Completion {
  /**
   * Completes a job. Its placeholders are $1 the id, $2 the run, $3 the output as JSON text or null. A returned row
   * means it took effect.
   */
  readonly text: string;
  /** Names the open transaction in its column `id`. Another transaction, or none, has a different name. */
  readonly transaction: string;
}

/** A job to write. Already validated. */
export interface NewJob {
  /** A declared kind. */
  readonly kind: string;
  /** A declared queue. */
  readonly queue: string;
  /** The args as JSON text. */
  readonly args: string;
  /** 1 to 4. */
  readonly priority: number;
  /** At least 1. */
  readonly maxAttempts: number;
  /** The earliest time to run, ISO 8601; null is now. */
  readonly runAt: string | null;
  /** Whether kind and args form a unique key, if no rule has been declared for the kind. */
  readonly unique: boolean;
  /**
   * This program's unique rule for the kind. If rules were {@linkcode Store.declare | declared}, the last one applies
   * instead.
   */
  readonly rule?: KeyRule;
}

/** A job that was written, or the existing job that holds its unique key. */
export interface Inserted {
  /** The id. */
  readonly id: JobId;
  /** Whether the job already existed. */
  readonly existed: boolean;
}

/** What to claim. */
export interface ClaimRequest {
  /** The claiming process. */
  readonly owner: string;
  /** The queue to claim from. */
  readonly queue: string;
  /** At most this many jobs. */
  readonly limit: number;
  /** This many, counted from the first, start at once, except those that run alone. */
  readonly free: number;
  /**
   * Also claim jobs of this kind that were put aside: by priority among the others, and within a priority first, in the
   * order in which they were put aside. Default: none.
   */
  readonly aside?: string;
}

/** Jobs that were put aside because the processes that claimed them don't declare their kind. */
export interface Aside {
  /** Their queue. */
  readonly queue: string;
  /** Their kind. */
  readonly kind: string;
}

/** A claimed job. */
export interface Claimed {
  /** The id. */
  readonly id: JobId;
  /** The number of this claim. */
  readonly run: number;
  /** The kind, possibly one that this process doesn't declare. */
  readonly kind: string;
  /** The attempt's number. */
  readonly attempt: number;
  /** How many attempts the job has. */
  readonly maxAttempts: number;
  /** The args as JSON text. */
  readonly args: string;
  /** Whether it must run alone. */
  readonly alone: boolean;
}

/** Identifies one run of one job. */
export interface RunRef {
  /** The job. */
  readonly id: JobId;
  /** The claim. */
  readonly run: number;
}

/** The end of one run. The claim already counted the attempt. */
export type Settlement =
  | RunRef & {
    /** The final state. If a cancel was requested, the job becomes `cancelled` instead. */
    readonly to: FinalState;
    /** The output as JSON text. */
    readonly output: string | null;
    /** The error of this attempt. */
    readonly error: SettledError | null;
  }
  | RunRef & {
    /**
     * Back in line, or aside until a claim names its kind or a person puts it back. If a cancel was requested, the job
     * becomes `cancelled` instead.
     */
    readonly to: "retry" | "snooze" | "release" | "put aside";
    /** The delay in ms until it is due; 0 when it is put aside. */
    readonly delayMs: number;
    /** The error of this attempt, for a retry. */
    readonly error: SettledError | null;
    /** Whether its next run must be alone. */
    readonly alone: boolean;
  };

/** An attempt's error to store. The store adds the attempt's number and the time. */
export interface SettledError {
  /** The class of failure. */
  readonly class: FailureClass;
  /** The message, already cut to length. */
  readonly message: string;
  /** The stack, already cut to length. */
  readonly stack?: string;
}

/** The error of a periodic's run that was waiting for a later attempt when the next run began. */
export const SUPERSEDED: SettledError = {
  class: "superseded",
  message: "The next run of the periodic began while this one waited for another attempt",
};

/**
 * The result of a settlement: the job's state now; `fenced` when the run no longer owns the job, so nothing was
 * changed; `locked` when another transaction holds the row: try again later.
 */
export type Settled = JobState | "fenced" | "locked";

/** The progress of a run. */
export interface ProgressEntry extends RunRef {
  /** From 0 to 1. */
  readonly done: number;
  /** The note. */
  readonly note: string | null;
}

/** A process. */
export interface Owner {
  /** A random UUID, new at every start. */
  readonly id: string;
  /** A name for people: host and process id. */
  readonly name: string;
  /** The queues that it works. */
  readonly queues: readonly string[];
  /** The protocol that it speaks. Default: this program's. */
  readonly protocol?: number;
  /** The parts whose tables it uses, and the version that it knows of each. Default none. */
  readonly parts?: Readonly<Record<string, number>>;
  /** The periodics that it declares. Default none. */
  readonly periodics?: readonly DeclaredPeriodic[];
  /** The kinds that it declares, except those of periodics. Default none. */
  readonly kinds?: readonly DeclaredKind[];
}

/** What a process declares that is relevant for enqueuing. */
export interface Declared {
  /** Its kinds, except those of periodics. */
  readonly kinds: readonly DeclaredKind[];
  /** Its queues. */
  readonly queues: readonly string[];
}

/** A kind's declaration, as far as enqueuing needs it. */
export interface DeclaredKind {
  /** Its name. */
  readonly name: string;
  /** The queue of its jobs. */
  readonly queue: string;
  /** How many attempts they have. */
  readonly maxAttempts: number;
  /** Its unique rule. Absent means none. */
  readonly rule?: KeyRule;
}

/** A paused queue. */
export interface PausedQueue {
  /** Its name. */
  readonly queue: string;
  /** When it was paused, ISO 8601. */
  readonly pausedAt: string;
}

/** Requests to a process. */
export interface Requests {
  /** Its running jobs to cancel. */
  readonly cancelRequested: readonly JobId[];
  /** All paused queues. */
  readonly pausedQueues: readonly string[];
}

/** The answer to a heartbeat. It includes the requests, in case a signal was lost. */
export interface Beat extends Requests {
  /** False when this process was rescued in the meantime: it must start no more jobs and register again. */
  readonly alive: boolean;
  /** What other programs require that this one lacks, for people: it gets no more jobs. Otherwise null. */
  readonly outdatedBy: string | null;
  /** The store's clock, ms since the epoch. */
  readonly nowMs: number;
  /** Every process with the value of its last heartbeat, which changes with each heartbeat. */
  readonly owners: readonly { readonly id: string; readonly beat: string }[];
}

/** The error recorded for a started job whose process died. */
export interface RescueError {
  /** The message, for people. */
  readonly message: string;
}

/** The result of a rescue. */
export interface Rescued {
  /** Jobs back in line, with an attempt spent. */
  readonly retried: readonly JobId[];
  /** Jobs discarded: it was their last attempt. */
  readonly discarded: readonly JobId[];
  /** Jobs back in line without spending an attempt: claimed, not started. */
  readonly released: readonly JobId[];
  /** Jobs cancelled, because a cancel had been requested. */
  readonly cancelled: readonly JobId[];
  /** Jobs that the store refused to put back. They are unchanged and held up nothing else. Absent means none. */
  readonly refused?: readonly RefusedJob[];
  /** Whether everything is done and the process unregistered; otherwise call again. */
  readonly complete: boolean;
  /** The queues that have jobs again. */
  readonly queues: readonly string[];
}

/** A job that the store refused to change. */
export interface RefusedJob {
  /** The job. */
  readonly id: JobId;
  /** The store's error message. */
  readonly error: string;
  /** Its SQLSTATE, if it has one. */
  readonly sqlState: string | null;
}

/** When a periodic ticks. */
export type PeriodicSchedule =
  | { readonly every: number }
  | { readonly cron: string; readonly timezone: string };

/** What a tick enqueues. Already validated. */
export type PeriodicJob = Pick<NewJob, "kind" | "queue" | "priority" | "maxAttempts" | "args">;

/** A schedule and what its ticks enqueue. */
export interface PeriodicSpec {
  /** When it ticks. */
  readonly schedule: PeriodicSchedule;
  /** What a tick enqueues. */
  readonly job: PeriodicJob;
}

/** A periodic as a process declares it. */
export interface DeclaredPeriodic extends PeriodicSpec {
  /** Its name. */
  readonly name: string;
  /** Whether it runs as soon as it is first declared. */
  readonly runAtStart: boolean;
}

/** The periodics that one process declares, or several processes declare identically. */
export interface PeriodicDeclaration {
  /** When the newest of those processes registered, whole ms since the epoch. */
  readonly atMs: number;
  /** Its periodics. */
  readonly periodics: readonly DeclaredPeriodic[];
}

/**
 * A stored periodic. Instants are ms since the epoch; they may be any value that someone wrote, including infinities.
 */
export interface PeriodicRow {
  /** Its name. */
  readonly name: string;
  /** Changes with every change of the periodic. */
  readonly version: string;
  /** The schedule and job; null if it was never declared to a program that stores it. */
  readonly spec: PeriodicSpec | null;
  /** When the spec was last declared; null if there is none. */
  readonly declaredMs: number | null;
  /** When it stopped being declared by any process; null while one declares it. */
  readonly undeclaredMs: number | null;
  /** When it was paused; null when it is not paused. */
  readonly pausedMs: number | null;
  /** Its next tick; null when it has none. */
  readonly nextTickMs: number | null;
  /** The last tick taken; null before the first. */
  readonly lastTickMs: number | null;
  /** The time from which its ticks count. */
  readonly sinceMs: number;
  /** The job that is waiting or running. */
  readonly currentJobId: JobId | null;
  /** The runs that ended, newest first, at most 20. */
  readonly runs: readonly PeriodicRun[];
}

/** The stored periodics. */
export interface StoredPeriodics {
  /** The store's clock, ms since the epoch. */
  readonly nowMs: number;
  /** Their rows. */
  readonly rows: readonly PeriodicRow[];
}

/** A planned change of a periodic. */
export interface PeriodicPlan {
  /** Its name. */
  readonly name: string;
  /** The version that was read; null creates the periodic, unless it exists. */
  readonly version: string | null;
  /** Its schedule and what its ticks enqueue. */
  readonly spec: PeriodicSpec;
  /** When the spec was declared, whole ms since the epoch. */
  readonly declaredMs: number;
  /** False records that no process declares it any more. */
  readonly isDeclared: boolean;
  /** Its next tick, whole ms since the epoch; null when it has none. */
  readonly nextTickMs: number | null;
  /** Whether its ticks count from now. */
  readonly countsAnew: boolean;
}

/** A position in the order of next ticks. */
export interface TickPlace {
  /** A next tick, ms since the epoch. */
  readonly tickMs: number;
  /** A periodic's name; empty sorts before all others with that tick. */
  readonly name: string;
}

/** Which due periodics to read. */
export interface DueRequest {
  /** Only those after this position; null reads from the beginning. */
  readonly after: TickPlace | null;
  /** At most this many. */
  readonly limit: number;
}

/** The due periodics. */
export interface DuePeriodics extends StoredPeriodics {
  /** The earliest tick in the future, ms since the epoch; null when there is none. */
  readonly comingMs: number | null;
}

/** A tick to take. */
export interface PeriodicTick {
  /** The periodic. */
  readonly name: string;
  /** The version that was read. */
  readonly version: string;
  /** The tick to take, whole ms since the epoch. */
  readonly tickMs: number;
  /** The one after it; null when there is none. */
  readonly nextTickMs: number | null;
}

/** A tick that was taken. */
export interface TakenTick {
  /** The periodic. */
  readonly name: string;
  /** Its job. */
  readonly jobId: JobId;
  /** The queue of the job. */
  readonly queue: string;
}

/** The retention and limit of one purge. */
export interface Purge {
  /** Deletes completed jobs older than this, in ms. */
  readonly completedMs: number;
  /** Deletes discarded and cancelled jobs older than this, in ms. */
  readonly othersMs: number;
  /** At most this many rows. */
  readonly limit: number;
}

/** The result of {@linkcode Store.counts}. */
export interface Counts {
  /** Jobs per kind and state; zero counts may be left out. */
  readonly states: readonly { readonly kind: string; readonly state: JobState; readonly count: number }[];
  /** The age of the oldest due job per queue and priority, in ms. */
  readonly waiting: readonly {
    readonly queue: string;
    readonly priority: number;
    readonly oldestMs: number;
  }[];
  /** Jobs put aside as undeclared. */
  readonly undeclared: number;
  /** The size of the tables and indexes, in bytes. */
  readonly bytes: number;
  /** The paused queues, by name. */
  readonly paused: readonly PausedQueue[];
}

/** A job that has ended. */
export interface Final {
  /** The job. */
  readonly id: JobId;
  /** How it ended. */
  readonly state: FinalState;
  /** The output as JSON text. */
  readonly output: string | null;
  /** The last error's message. */
  readonly error: string | null;
}

/** Which of the requested jobs have ended, and which are missing. The others are waiting or running. */
export interface Finals {
  /** Jobs that have ended. */
  readonly ended: readonly Final[];
  /** Jobs that are missing. */
  readonly missing: readonly Missing[];
}

/**
 * A job that is missing. An open transaction may still bring it. Transactions are numbered. Every transaction open at
 * the time of this query has a number below `next`. None below `oldest` can bring a job any more: it has ended, or
 * writes no jobs. So a job is gone when a query finds it missing with an `oldest` that has reached the `next` of the
 * same or an earlier query.
 */
export interface Missing {
  /** The job. */
  readonly id: JobId;
  /** The number of the oldest open transaction that may bring it; `next` or more when there is none. */
  readonly oldest: number;
  /** The number that the next transaction will get. */
  readonly next: number;
}

/** A message between processes. It is only a hint: polling finds what a lost message announced. */
export type Signal =
  | { readonly type: "ready"; readonly queue: string }
  | { readonly type: "aside"; readonly queue: string; readonly kind: string }
  | { readonly type: "pause"; readonly queue: string }
  | { readonly type: "resume"; readonly queue: string }
  | { readonly type: "cancel"; readonly id: JobId }
  | { readonly type: "wait"; readonly id: JobId }
  | { readonly type: "final"; readonly id: JobId };

/** Notified by a subscription to signals. */
export interface SignalObserver {
  /** A signal arrived. */
  signal(signal: Signal): void;
  /**
   * Listening has started, or restarted after a gap; or a statement succeeds after the store could not be reached,
   * whether or not the store can listen. Check for work yourself: whatever pauses because of failures continues at
   * once.
   */
  ready(): void;
}

/** A subscription to signals. */
export interface SignalSubscription {
  /** Whether signals can arrive at all. False behind a transaction pooler; then only polling finds work. */
  readonly listening: boolean;
  /** Ends the subscription. */
  close(): Promise<void>;
}
