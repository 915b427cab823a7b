import type { Depth, DepthFilter, JobFilter, PeriodicRun } from "./inspector.ts";
import type { FailureClass, FinalState, JobDetail, JobId, JobState, JobSummary } from "./job.ts";
import type { CancelResult } from "./jobs.ts";
import type { KeyRule } from "./key_rule.ts";
import type { Tx } from "./tx.ts";
import type { StoredUpkeep, UpkeepReport } from "./upkeep.ts";

/**
 * Where jobs are kept: the seam between the runtime and a database. An author of an adapter implements this one
 * interface, hands it to the runtime, and runs the conformance suite. It may grow with a minor version.
 *
 * Every time in it is the store's own clock. Every method that changes a run is fenced by (id, run): a run that is no
 * longer the job's changes nothing.
 */
export interface Store {
  /** How a handler's own transaction completes its job; null where handlers have no transaction with the store. */
  readonly completion: Completion | null;

  /** Checks that the store can be used: reachable, schema at the needed version, enough connections. */
  open(): Promise<void>;

  /** Ends all connections. Idempotent. */
  close(): Promise<void>;

  /**
   * Writes jobs, all or none, and returns an id for each, in order. With a transaction it is written through it. A
   * unique job whose key is held yields the holder's id, whose row is locked until the transaction ends, unless it has
   * ended: what was judged stays true. The runtime signals what is ready after a call without
   * transaction; with one the store does it itself, at the commit.
   *
   * @throws {RefusedValueError} the database refused a value; nothing was stored.
   */
  insert(jobs: readonly NewJob[], tx?: Tx): Promise<Inserted[]>;

  /**
   * Writes jobs that are due now and have no unique key, all or none, and signals at their commit that their queues are
   * ready: a trip less on the way to the handler than to signal afterwards. A store that knows that nobody needs to be woken
   * need not signal.
   *
   * @throws {RefusedValueError} the database refused a value; nothing was stored.
   */
  insertAndSignal(jobs: readonly NewJob[]): Promise<Inserted[]>;

  /**
   * Calls one job off; through the transaction when there is one. For a running job the runtime signals the cancel
   * after a call without transaction; with one the store does it itself, at the commit.
   */
  cancel(id: JobId, tx?: Tx): Promise<CancelResult>;

  /**
   * Takes due jobs of a queue for `owner`, first priority first, oldest first, and raises their run and attempt. The
   * first `free` of them count as started with the claim, but not those that run alone, which may have to wait: they and
   * the others must be told to {@linkcode Store.started} first.
   */
  claim(request: ClaimRequest): Promise<Claimed[]>;

  /**
   * Why jobs of a queue can't be claimed by themselves, so that claims are made around them, as one fault: another object after
   * each refusal; null when there are none. The store tries each again after pauses, and names it in the log. Absent: none is
   * ever refused.
   */
  claimFault?(queue: string): Error | null;

  /**
   * In how many ms the next job of a queue falls due that is not due yet; null when there is none. Sooner when the store
   * wants the queue to be claimed from sooner.
   */
  nextDue(queue: string): Promise<number | null>;

  /**
   * Records that claimed jobs start now, before their handlers do: only such a job pays when the process dies.
   *
   * @throws {OffTheRecordError} the process was taken for dead, or has left.
   */
  started(owner: string, runs: readonly RunRef[]): Promise<void>;

  /**
   * Ends runs: to a final state, or back in line. Tells what became of each, in order. Where the store refuses one of
   * them it may refuse the whole call: then the runtime sends the others without it.
   */
  settle(owner: string, settlements: readonly Settlement[]): Promise<Settled[]>;

  /** Stores the progress of runs. */
  progress(entries: readonly ProgressEntry[]): Promise<void>;

  /**
   * Records this process, under an id of its own that is never used again.
   *
   * @throws {ProtocolTooOldError} a newer program requires a higher protocol.
   * @throws {SchemaVersionError} a newer program requires that more steps of a part are known.
   */
  register(owner: Owner): Promise<void>;

  /** Records what this process declares, for whoever enqueues beside the runtime: SQL, another language. */
  declare(declared: Declared): Promise<void>;

  /**
   * Stores of each kind what the newest of the processes on the record that declare it says of it; returns the names of the
   * kinds that were stored otherwise. What none of them declares stays as it is.
   */
  renewKinds(): Promise<string[]>;

  /** From now on, and over restarts, no process claims from this queue. What was claimed is not touched. */
  pauseQueue(queue: string): Promise<void>;

  /** From now on it is claimed from again. */
  resumeQueue(queue: string): Promise<void>;

  /** Takes this process off the record. Its jobs must have been settled. */
  unregister(owner: string): Promise<void>;

  /** Renews this process's heartbeat and reads everyone's. */
  beat(owner: string): Promise<Beat>;

  /** Reads what is requested of a process: signals are hints, and not everybody who sends one may request anything. */
  requests(owner: string): Promise<Requests>;

  /**
   * Puts back the jobs of a process whose heartbeat still has the value `beat`, and then forgets the process.
   * What was started has spent its attempt; what was only claimed is free. Of many it may put back some and ask to be
   * called again; once it has put back one, the process gets no more jobs and starts none, and a heartbeat says so.
   */
  rescue(owner: string, beat: string, error: RescueError): Promise<Rescued>;

  /** Takes or renews the lease of the leader. At most one process holds it at any time of the store's clock. */
  lead(owner: string, leaseMs: number): Promise<boolean>;

  /** Gives the lease up, if this process holds it. */
  resign(owner: string): Promise<void>;

  /**
   * What is stored of periodics, all or those that are named, by name. It makes none. With `runs: false` their runs are
   * left out.
   */
  periodics(names?: readonly string[], options?: { readonly runs?: boolean }): Promise<StoredPeriodics>;

  /** What the processes on the record declare, the newest declaration first; of processes that declare the same, one. */
  declaredPeriodics(): Promise<PeriodicDeclaration[]>;

  /**
   * Stores what periodics are, each if it still is of the version that was read, and returns the names of those that were
   * stored. It waits for nobody who holds one of them.
   */
  planPeriodics(plans: readonly PeriodicPlan[]): Promise<string[]>;

  /** The periodics whose next tick has come, those of the earliest first, without their runs. */
  duePeriodics(request: DueRequest): Promise<DuePeriodics>;

  /**
   * Takes ticks and enqueues their jobs, of each periodic both or neither, all or none: if it still is of the version that
   * was read and no run of it runs, or waits to do so at once. A run that waits for a later attempt is superseded: it ends
   * cancelled. Tells which were taken. It waits for nobody who holds one of them.
   */
  takeTicks(ticks: readonly PeriodicTick[]): Promise<TakenTick[]>;

  /**
   * Enqueues one run of a periodic beside its schedule, or returns the id of the one that runs or is due. One that waits
   * for a later attempt is superseded.
   */
  runPeriodic(name: string, job: PeriodicJob): Promise<JobId>;

  /** From now on a periodic has no ticks. */
  pausePeriodic(name: string): Promise<void>;

  /**
   * From now on it has ticks again, the next one at an instant, if it still is of the version that was read. False when it
   * is not.
   */
  resumePeriodic(name: string, version: string, nextTickMs: number | null): Promise<boolean>;

  /**
   * Deletes at most `limit` ended jobs that are older than their retention, with their unique keys; zero says that no more can
   * be deleted now. Those that can't be hold up no other, and are told of by an error once all others are deleted, each time
   * until they are gone.
   */
  purge(request: Purge): Promise<number>;

  /**
   * Where jobs of these kinds lie aside: the next claims that name the kind find all of them. Asked at the start and with
   * every heartbeat, in case the signal was lost.
   */
  findAside(kinds: readonly string[]): Promise<Aside[]>;

  /**
   * Records how upkeep tasks go. A failure adds to those that are stored, a success before it ends them. It waits for no
   * lock: what somebody holds is left out.
   */
  reportUpkeep(reports: readonly UpkeepReport[]): Promise<void>;

  /** What is stored of upkeep tasks. What a process reported that is gone, or silent for 5 minutes, is left out. */
  upkeep(): Promise<StoredUpkeep>;

  /** Queues, by name, in which due jobs wait, that no process on the record works, and that are not paused. */
  unworked(): Promise<string[]>;

  /** Counts what has not ended, without a look at what has. The filter is checked already. */
  depth(filter: DepthFilter): Promise<Depth>;

  /** Counts and ages, over all kinds or one. */
  counts(kind?: string): Promise<Counts>;

  /** Jobs, newest first. The filter is checked already. */
  list(filter: JobFilter & { readonly limit: number }): Promise<JobSummary[]>;

  /** One job whole; null when there is none. */
  get(id: JobId): Promise<JobDetail | null>;

  /** Puts a job back in line. Returns its queue. Throws as {@linkcode Inspector.retry} says. */
  retry(id: JobId): Promise<string>;

  /**
   * Makes jobs that wait due now, but for those that were put aside, that somebody holds or whose change the store refuses.
   * Returns the queue of each that it changed.
   */
  bringForward(ids: readonly JobId[]): Promise<string[]>;

  /** Which of these jobs have ended, and which are not there, all at one moment. */
  finals(ids: readonly JobId[]): Promise<Finals>;

  /**
   * Sends messages to every process on this store, this one included. May be lost. A store that knows that somebody is
   * claiming from a queue without a pause need not tell that it is ready.
   */
  signal(messages: readonly Signal[]): Promise<void>;

  /** Subscribes to signals. */
  subscribe(observer: SignalObserver): Promise<SignalSubscription>;
}

/** The texts of statements that are run through a handler's own `Tx`: one completes a job. */
export interface Completion {
  /** Its placeholders are $1 the id, $2 the run, $3 the output as JSON text or null. A row means it took effect. */
  readonly text: string;
  /** One that names the transaction which is open, in its column `id`; another one, or none, has another name. */
  readonly transaction: string;
}

/** A job to be written. All is checked already. */
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
  /** Not before this instant, ISO 8601; null is now. */
  readonly runAt: string | null;
  /** Whether kind and args are a unique key, where nobody has declared a rule for the kind. */
  readonly unique: boolean;
  /** What this program declares of the kind's twins. What was {@linkcode Store.declare | declared} last holds instead. */
  readonly rule?: KeyRule;
}

/** A job that was written, or the one that holds its unique key. */
export interface Inserted {
  /** The id. */
  readonly id: JobId;
  /** Whether it was found, not made. */
  readonly existed: boolean;
}

/** What is to be claimed. */
export interface ClaimRequest {
  /** The process that claims. */
  readonly owner: string;
  /** From this queue. */
  readonly queue: string;
  /** At most this many. */
  readonly limit: number;
  /** The first so many start at once, those that run alone excepted. */
  readonly free: number;
  /**
   * Jobs of this kind that were put aside are claimed too, by their priority among the others and first of theirs, in the
   * order in which they were put aside. Default none are.
   */
  readonly aside?: string;
}

/** Jobs that were put aside, because no process that claimed them declares their kind. */
export interface Aside {
  /** In which queue they are. */
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
  /** The kind, perhaps one that this process does not declare. */
  readonly kind: string;
  /** Which try this is. */
  readonly attempt: number;
  /** How many there are. */
  readonly maxAttempts: number;
  /** The args as JSON text. */
  readonly args: string;
  /** Whether it must run alone. */
  readonly alone: boolean;
}

/** Names one run of one job. */
export interface RunRef {
  /** The job. */
  readonly id: JobId;
  /** The claim. */
  readonly run: number;
}

/** The end of one run. The attempt was counted by the claim. */
export type Settlement =
  | RunRef & {
    /** To a final state. A cancel that was asked for makes it `cancelled`, whatever is said here. */
    readonly to: FinalState;
    /** The output as JSON text. */
    readonly output: string | null;
    /** The error of this attempt. */
    readonly error: SettledError | null;
  }
  | RunRef & {
    /**
     * Back in line, or aside until a claim names its kind or a person puts it back; if a cancel was asked for, to
     * `cancelled`.
     */
    readonly to: "retry" | "snooze" | "release" | "put aside";
    /** In how many ms it is due; 0 when it is put aside. */
    readonly delayMs: number;
    /** The error of this attempt, of a retry. */
    readonly error: SettledError | null;
    /** Whether its next run is made alone. */
    readonly alone: boolean;
  };

/** The error of an attempt as it is stored; the store adds the attempt's number and the time. */
export interface SettledError {
  /** What sort of failure. */
  readonly class: FailureClass;
  /** The message, cut already. */
  readonly message: string;
  /** The stack, cut already. */
  readonly stack?: string;
}

/** The error of a periodic's run that waited for a later attempt when the next run began. */
export const SUPERSEDED: SettledError = {
  class: "superseded",
  message: "The next run of the periodic began while this one waited for another attempt",
};

/**
 * What became of a settlement: the state that the job is in now; `fenced` when the run is no longer the job's, so that
 * nothing was changed; `locked` when another transaction holds the row: come back for it.
 */
export type Settled = JobState | "fenced" | "locked";

/** How far a run is. */
export interface ProgressEntry extends RunRef {
  /** From 0 to 1. */
  readonly done: number;
  /** The note. */
  readonly note: string | null;
}

/** One process. */
export interface Owner {
  /** A random UUID, new at every start. */
  readonly id: string;
  /** For people: host and process id. */
  readonly name: string;
  /** The queues that it works. */
  readonly queues: readonly string[];
  /** The protocol that it speaks. Default that of this program. */
  readonly protocol?: number;
  /** The parts whose tables it works on, and the version that it knows of each. Default none. */
  readonly parts?: Readonly<Record<string, number>>;
  /** The periodics that it declares. Default none. */
  readonly periodics?: readonly DeclaredPeriodic[];
  /** The kinds that it declares, but for those of periodics. Default none. */
  readonly kinds?: readonly DeclaredKind[];
}

/** What a process declares, as far as it concerns who enqueues. */
export interface Declared {
  /** Its kinds, but for those of periodics. */
  readonly kinds: readonly DeclaredKind[];
  /** Its queues. */
  readonly queues: readonly string[];
}

/** A kind, as far as it concerns who enqueues. */
export interface DeclaredKind {
  /** Its name. */
  readonly name: string;
  /** The queue of its jobs. */
  readonly queue: string;
  /** How many tries they have. */
  readonly maxAttempts: number;
  /** What it declares of twins. Absent is nothing. */
  readonly rule?: KeyRule;
}

/** A queue that is paused. */
export interface PausedQueue {
  /** Its name. */
  readonly queue: string;
  /** Since when, ISO 8601. */
  readonly pausedAt: string;
}

/** What is requested of a process. */
export interface Requests {
  /** Its running jobs that are to be cancelled. */
  readonly cancelRequested: readonly JobId[];
  /** The queues that are paused, all of them. */
  readonly pausedQueues: readonly string[];
}

/** The answer to a heartbeat, with what is requested in case a signal was lost. */
export interface Beat extends Requests {
  /** False when this process was rescued meanwhile: it must start no more jobs and register anew. */
  readonly alive: boolean;
  /** What is required of programs and this one lacks, for people: it gets no more jobs. Otherwise null. */
  readonly outdatedBy: string | null;
  /** The store's clock, ms since the epoch. */
  readonly nowMs: number;
  /** Every process with the value of its last heartbeat, which changes at each. */
  readonly owners: readonly { readonly id: string; readonly beat: string }[];
}

/** What is recorded with a started job whose process died. */
export interface RescueError {
  /** For people. */
  readonly message: string;
}

/** What a rescue did. */
export interface Rescued {
  /** Back in line with an attempt spent. */
  readonly retried: readonly JobId[];
  /** Ended: it was the last attempt. */
  readonly discarded: readonly JobId[];
  /** Back in line for free: claimed, not started. */
  readonly released: readonly JobId[];
  /** Ended, for a cancel had been asked for. */
  readonly cancelled: readonly JobId[];
  /** What the store refused to put back; left as it was, and nothing else waited for it. Absent is none. */
  readonly refused?: readonly RefusedJob[];
  /** Whether all is done and the process forgotten; otherwise come back. */
  readonly complete: boolean;
  /** The queues that have jobs again. */
  readonly queues: readonly string[];
}

/** A job that the store refused to change. */
export interface RefusedJob {
  /** The job. */
  readonly id: JobId;
  /** What the store said. */
  readonly error: string;
  /** Its SQLSTATE, where it has one. */
  readonly sqlState: string | null;
}

/** When a periodic ticks. */
export type PeriodicSchedule =
  | { readonly every: number }
  | { readonly cron: string; readonly timezone: string };

/** What a tick enqueues. All is checked already. */
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

/** What one process declares, or several alike. */
export interface PeriodicDeclaration {
  /** When the newest of them went on the record, whole ms since the epoch. */
  readonly atMs: number;
  /** Its periodics. */
  readonly periodics: readonly DeclaredPeriodic[];
}

/** What is stored of a periodic. Instants are ms since the epoch: anything that somebody wrote, infinities too. */
export interface PeriodicRow {
  /** Its name. */
  readonly name: string;
  /** Another one after each change. */
  readonly version: string;
  /** Null where it was never declared to a program that stores it. */
  readonly spec: PeriodicSpec | null;
  /** When this was declared last; null where there is no spec. */
  readonly declaredMs: number | null;
  /** Since when no process declares it; null while one does. */
  readonly undeclaredMs: number | null;
  /** Since when it is paused; null when it is not. */
  readonly pausedMs: number | null;
  /** Its next tick; null when it has none. */
  readonly nextTickMs: number | null;
  /** The last tick taken; null before the first. */
  readonly lastTickMs: number | null;
  /** Since when its ticks count. */
  readonly sinceMs: number;
  /** The job that waits or runs. */
  readonly currentJobId: JobId | null;
  /** The runs that ended, newest first, at most 20. */
  readonly runs: readonly PeriodicRun[];
}

/** What is stored of periodics. */
export interface StoredPeriodics {
  /** The store's clock, ms since the epoch. */
  readonly nowMs: number;
  /** Those that are stored. */
  readonly rows: readonly PeriodicRow[];
}

/** What a periodic is to be. */
export interface PeriodicPlan {
  /** Its name. */
  readonly name: string;
  /** The version that was read; null makes it, if it is not there. */
  readonly version: string | null;
  /** When it ticks and what that enqueues. */
  readonly spec: PeriodicSpec;
  /** When this was declared, whole ms since the epoch. */
  readonly declaredMs: number;
  /** False notes that no process declares it any more. */
  readonly isDeclared: boolean;
  /** Its next tick, whole ms since the epoch; null when it has none. */
  readonly nextTickMs: number | null;
  /** Whether its ticks count from now. */
  readonly countsAnew: boolean;
}

/** A place in the order of next ticks. */
export interface TickPlace {
  /** A next tick, ms since the epoch. */
  readonly tickMs: number;
  /** A periodic's name; empty lies before all others of that tick. */
  readonly name: string;
}

/** Which of those that are due are read. */
export interface DueRequest {
  /** Only those behind this place; null reads from the beginning. */
  readonly after: TickPlace | null;
  /** At most so many. */
  readonly limit: number;
}

/** The periodics that are due. */
export interface DuePeriodics extends StoredPeriodics {
  /** The earliest tick that is still to come, ms since the epoch; null when there is none. */
  readonly comingMs: number | null;
}

/** A tick to be taken. */
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

/** What retention deletes. */
export interface Purge {
  /** Completed jobs older than this, in ms. */
  readonly completedMs: number;
  /** Discarded and cancelled ones older than this, in ms. */
  readonly othersMs: number;
  /** At most so many rows. */
  readonly limit: number;
}

/** What {@linkcode Store.counts} counts. */
export interface Counts {
  /** Jobs per kind and state; what is 0 may be left out. */
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
  /** The queues that are paused, by name. */
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

/** Which of some jobs have ended, and which are not there. The others wait or run. */
export interface Finals {
  /** Those that have ended. */
  readonly ended: readonly Final[];
  /** Those that are not there. */
  readonly missing: readonly Missing[];
}

/**
 * A job that is not there. A transaction that is open may still bring it. Transactions are numbered: each one that was open
 * at this look has a number below `next`, and none below `oldest` can bring a job any more: it has ended, or writes no jobs. So a
 * job is gone when it is missing at a look whose `oldest` has reached the `next` of an earlier look, or of the same.
 */
export interface Missing {
  /** The job. */
  readonly id: JobId;
  /** The number of the oldest open transaction that may bring it; `next` or more when there is none. */
  readonly oldest: number;
  /** The number that the next transaction gets. */
  readonly next: number;
}

/** A message between processes. Every one is a hint: what is lost is found by polling. */
export type Signal =
  | { readonly type: "ready"; readonly queue: string }
  | { readonly type: "aside"; readonly queue: string; readonly kind: string }
  | { readonly type: "pause"; readonly queue: string }
  | { readonly type: "resume"; readonly queue: string }
  | { readonly type: "cancel"; readonly id: JobId }
  | { readonly type: "wait"; readonly id: JobId }
  | { readonly type: "final"; readonly id: JobId };

/** Told by a subscription to signals. */
export interface SignalObserver {
  /** A signal arrived. */
  signal(signal: Signal): void;
  /**
   * Listening begins, or begins again after a gap; or a statement succeeds after the store could not be reached, whether
   * it can listen or not. Look for yourself: what pauses because of failures goes on at once.
   */
  ready(): void;
}

/** A subscription to signals. */
export interface SignalSubscription {
  /** Whether signals can arrive at all. False behind a transaction pooler; then only polling finds work. */
  readonly listening: boolean;
  /** Ends it. */
  close(): Promise<void>;
}
