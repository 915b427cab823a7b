import type { Depth, DepthFilter, JobFilter } from "../../ports/inspector.ts";
import type { JobDetail, JobId, JobSummary } from "../../ports/job.ts";
import type { CancelResult } from "../../ports/jobs.ts";
import type {
  Aside,
  Beat,
  Claimed,
  ClaimRequest,
  Completion,
  Counts,
  Declared,
  DuePeriodics,
  DueRequest,
  Finals,
  Inserted,
  NewJob,
  Owner,
  PeriodicDeclaration,
  PeriodicJob,
  PeriodicPlan,
  PeriodicTick,
  ProgressEntry,
  Purge,
  Requests,
  Rescued,
  RescueError,
  RunRef,
  Settled,
  Settlement,
  Signal,
  SignalObserver,
  SignalSubscription,
  Store,
  StoredPeriodics,
  TakenTick,
} from "../../ports/store.ts";
import type { Tx } from "../../ports/tx.ts";
import type { StoredUpkeep, UpkeepReport } from "../../ports/upkeep.ts";
import { Inspection } from "./inspection.ts";
import { JobTable } from "./job_table.ts";
import { COMPLETION_TEXT, type MemoryTx, TRANSACTION_TEXT } from "./memory_tx.ts";
import { Operations } from "./operations.ts";
import { depthOf, overviewCounts } from "./overview_counts.ts";
import { OwnerTable } from "./owner_table.ts";
import { PeriodicRuns } from "./periodic_runs.ts";
import { PeriodicTable } from "./periodic_table.ts";
import { Runs } from "./runs.ts";
import { SignalBoard } from "./signal_board.ts";
import { Twins } from "./twins.ts";
import { UpkeepTable } from "./upkeep_table.ts";
import { Versions } from "./versions.ts";

/** How a {@linkcode MemoryStore} is made. */
export interface MemoryStoreOptions {
  /** The store's clock, ms since the epoch. Default `Date.now`. */
  readonly clock?: () => number;
}

/** Makes an empty store in memory. Several runtimes of one process can share it. */
export function createMemoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  return new MemoryStore(options);
}

/**
 * The `Store` port without a database, for unit tests: the same promises as on PostgreSQL, for as long as the
 * process lives. Transactions are begun with {@linkcode MemoryStore.begin}.
 */
export class MemoryStore implements Store {
  /** How a transaction in memory completes a job. */
  readonly completion: Completion = { text: COMPLETION_TEXT, transaction: TRANSACTION_TEXT };

  readonly #clock: () => number;
  readonly #jobs: JobTable;
  readonly #owners = new OwnerTable();
  readonly #periodics = new PeriodicTable();
  readonly #upkeep = new UpkeepTable();
  readonly #signals = new SignalBoard();
  readonly #versions: Versions;
  readonly #twins: Twins;
  readonly #runs: Runs;
  readonly #operations: Operations;
  readonly #periodicRuns: PeriodicRuns;
  readonly #inspection: Inspection;
  /** Since when queues are paused, ms since the epoch. */
  readonly #paused = new Map<string, number>();

  /** Use {@linkcode createMemoryStore}. */
  constructor(options: MemoryStoreOptions = {}) {
    const clock = options.clock ?? Date.now;
    this.#clock = clock;
    this.#jobs = new JobTable((row) => {
      if (row.periodic !== null) this.#periodics.ended(row.periodic, row);
    });
    this.#versions = new Versions(this.#jobs, this.#signals);
    this.#twins = new Twins(this.#versions, this.#owners, clock);
    this.#runs = new Runs(this.#versions, this.#twins, this.#owners, clock);
    this.#operations = new Operations(this.#versions, this.#twins, this.#periodics, clock);
    this.#periodicRuns = new PeriodicRuns(this.#versions, this.#twins, this.#periodics, clock);
    this.#inspection = new Inspection(this.#versions);
  }

  /** Begins a transaction. What is done with it is seen by no one until it commits. */
  begin(): MemoryTx {
    return this.#versions.begin((tx, id, run, output) => this.#runs.complete(tx, id, run, output));
  }

  /** There is nothing to check. */
  open(): Promise<void> {
    return Promise.resolve();
  }

  /** There is nothing to end: the jobs stay for the other runtimes on this store, and for the next one. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  /**
   * Writes jobs, all or none.
   *
   * @throws {TypeError} the transaction is not an open one of this store.
   */
  async insert(jobs: readonly NewJob[], tx?: Tx): Promise<Inserted[]> {
    return await this.#twins.insert(jobs, this.#versions.staged(tx));
  }

  /** Writes jobs that are due now and have no unique key, and signals that their queues are ready. */
  async insertAndSignal(jobs: readonly NewJob[]): Promise<Inserted[]> {
    const inserted = await this.insert(jobs);
    const queues = new Set(jobs.map(({ queue }) => queue));
    this.#signals.send([...queues].map((queue) => ({ type: "ready", queue })));
    return inserted;
  }

  /**
   * Calls one job off.
   *
   * @throws {TypeError} the transaction is not an open one of this store.
   */
  async cancel(id: JobId, tx?: Tx): Promise<CancelResult> {
    return await this.#operations.cancel(id, tx);
  }

  /** Takes due jobs. A process that is not registered gets none: no one would rescue them. Nor does one that is rescued. */
  claim(request: ClaimRequest): Promise<Claimed[]> {
    return Promise.resolve(this.#paused.has(request.queue) ? [] : this.#runs.claim(request));
  }

  /** Takes one job that waits, whatever else does and when it is due: for benches of tests. Null when it does not wait. */
  claimOne(owner: string, id: JobId): Promise<Claimed | null> {
    return Promise.resolve(this.#runs.claimOne(owner, id));
  }

  /** In how many ms the next job of a queue falls due that is not due yet. */
  nextDue(queue: string): Promise<number | null> {
    const nowMs = this.#clock();
    const dueMs = this.#jobs.line(queue).nextDueMs(nowMs);
    return Promise.resolve(dueMs === null ? null : dueMs - nowMs);
  }

  /** Records that claimed jobs start now. */
  // deno-lint-ignore require-await -- a process that is off the record rejects
  async started(owner: string, runs: readonly RunRef[]): Promise<void> {
    this.#runs.started(owner, runs);
  }

  /** Ends runs. */
  settle(settlements: readonly Settlement[]): Promise<Settled[]> {
    return Promise.resolve(settlements.map((settlement) => this.#runs.settle(settlement)));
  }

  /** Stores the progress of runs. */
  progress(entries: readonly ProgressEntry[]): Promise<void> {
    for (const entry of entries) {
      const { done, note } = entry;
      this.#versions.amend(entry, { progress: note === null ? { done } : { done, note } });
    }
    return Promise.resolve();
  }

  /** Records a process. */
  register(owner: Owner): Promise<void> {
    this.#owners.register(owner, this.#clock());
    return Promise.resolve();
  }

  /** What the process that started last declares of twins holds for all. */
  declare(declared: Declared): Promise<void> {
    this.#twins.storeKinds(declared.kinds);
    return Promise.resolve();
  }

  /** Stores of each kind what the newest process on the record says of it. */
  renewKinds(): Promise<string[]> {
    return Promise.resolve(this.#twins.storeKinds(this.#owners.kinds()));
  }

  /** From now on nobody claims from this queue. */
  pauseQueue(queue: string): Promise<void> {
    if (!this.#paused.has(queue)) this.#paused.set(queue, this.#clock());
    return Promise.resolve();
  }

  /** From now on it is claimed from again. */
  resumeQueue(queue: string): Promise<void> {
    this.#paused.delete(queue);
    return Promise.resolve();
  }

  /** Takes a process off the record. */
  unregister(owner: string): Promise<void> {
    this.#owners.forget(owner);
    return Promise.resolve();
  }

  /** Renews a heartbeat and reads everyone's. */
  beat(owner: string): Promise<Beat> {
    const alive = this.#owners.beat(owner);
    return Promise.resolve({
      alive,
      // All runtimes on it are of this one program.
      outdatedBy: null,
      nowMs: this.#clock(),
      owners: this.#owners.all(),
      ...this.#requests(owner),
    });
  }

  /** Reads what is requested of a process. */
  requests(owner: string): Promise<Requests> {
    return Promise.resolve(this.#requests(owner));
  }

  #requests(owner: string): Requests {
    const cancelRequested = this.#runs.runningOn(owner).filter((row) => row.cancelRequested);
    return { cancelRequested: cancelRequested.map(({ id }) => id), pausedQueues: [...this.#paused.keys()] };
  }

  /** Puts back the jobs of a process that is gone. */
  rescue(owner: string, beat: string, error: RescueError): Promise<Rescued> {
    return Promise.resolve(this.#runs.rescue(owner, beat, error));
  }

  /** Takes or renews the leader's lease. */
  lead(owner: string, leaseMs: number): Promise<boolean> {
    return Promise.resolve(this.#owners.lead(owner, leaseMs, this.#clock()));
  }

  /** Gives the lease up. */
  resign(owner: string): Promise<void> {
    this.#owners.resign(owner);
    return Promise.resolve();
  }

  /** What is stored of periodics. */
  periodics(
    names?: readonly string[],
    options: { readonly runs?: boolean } = {},
  ): Promise<StoredPeriodics> {
    const rows = this.#periodics.rows(names);
    return Promise.resolve({
      nowMs: this.#clock(),
      rows: options.runs === false ? rows.map((row) => ({ ...row, runs: [] })) : rows,
    });
  }

  /** What the processes on the record declare. */
  declaredPeriodics(): Promise<PeriodicDeclaration[]> {
    return Promise.resolve(this.#owners.declared());
  }

  /** Stores what periodics are. */
  planPeriodics(plans: readonly PeriodicPlan[]): Promise<string[]> {
    const nowMs = this.#clock();
    return Promise.resolve(
      plans.filter((plan) => this.#periodics.plan(plan, nowMs)).map(({ name }) => name),
    );
  }

  /** The periodics that are due. */
  duePeriodics(request: DueRequest): Promise<DuePeriodics> {
    const nowMs = this.#clock();
    const rows = this.#periodics.due(request, nowMs).map((row) => ({ ...row, runs: [] }));
    return Promise.resolve({ nowMs, comingMs: this.#periodics.comingMs(nowMs), rows });
  }

  /** Takes ticks and enqueues their jobs. */
  takeTicks(ticks: readonly PeriodicTick[]): Promise<TakenTick[]> {
    return Promise.resolve(this.#periodicRuns.takeTicks(ticks));
  }

  /** Makes one run of a periodic beside its schedule. */
  runPeriodic(name: string, job: PeriodicJob): Promise<JobId> {
    return Promise.resolve(this.#periodicRuns.run(name, job));
  }

  /** From now on a periodic has no ticks. */
  pausePeriodic(name: string): Promise<void> {
    this.#periodics.pause(name, this.#clock());
    return Promise.resolve();
  }

  /** From now on it has ticks again. */
  resumePeriodic(name: string, version: string, nextTickMs: number | null): Promise<boolean> {
    return Promise.resolve(this.#periodics.resume(name, version, nextTickMs, this.#clock()));
  }

  /** Deletes ended jobs whose retention is over. */
  purge(request: Purge): Promise<number> {
    return Promise.resolve(this.#operations.purge(request));
  }

  /** Where jobs of these kinds lie aside. */
  findAside(kinds: readonly string[]): Promise<Aside[]> {
    return Promise.resolve(this.#inspection.aside(kinds));
  }

  /** Records how upkeep tasks go. */
  reportUpkeep(reports: readonly UpkeepReport[]): Promise<void> {
    this.#upkeep.report(reports, this.#clock());
    return Promise.resolve();
  }

  /** What is stored of upkeep tasks. */
  upkeep(): Promise<StoredUpkeep> {
    return Promise.resolve(this.#upkeep.read(this.#clock()));
  }

  /** The queues in which due jobs wait and that no process works. */
  unworked(): Promise<string[]> {
    const queues = this.#inspection.queuesWithDue(this.#clock());
    return Promise.resolve(queues.filter((queue) => !this.#owners.works(queue) && !this.#paused.has(queue)));
  }

  /** Counts what has not ended. */
  depth(filter: DepthFilter): Promise<Depth> {
    return Promise.resolve(depthOf(this.#jobs, filter, this.#clock()));
  }

  /** Counts and ages. */
  counts(kind?: string): Promise<Counts> {
    const paused = [...this.#paused].sort(([one], [other]) => one < other ? -1 : 1).map((
      [queue, sinceMs],
    ) => ({
      queue,
      pausedAt: new Date(sinceMs).toISOString(),
    }));
    return Promise.resolve({ ...overviewCounts(this.#jobs, kind, this.#clock()), paused });
  }

  /** Jobs, newest first. */
  list(filter: JobFilter & { readonly limit: number }): Promise<JobSummary[]> {
    return Promise.resolve(this.#inspection.list(filter));
  }

  /** One job whole. */
  get(id: JobId): Promise<JobDetail | null> {
    return Promise.resolve(this.#inspection.get(id));
  }

  /** Puts a job back in line. */
  async retry(id: JobId): Promise<string> {
    return await this.#operations.retry(id);
  }

  /** Makes jobs that wait due now. */
  bringForward(ids: readonly JobId[]): Promise<string[]> {
    return Promise.resolve(this.#operations.bringForward(ids));
  }

  /** Which of these jobs have ended, and which are not there. */
  finals(ids: readonly JobId[]): Promise<Finals> {
    return Promise.resolve(this.#inspection.finals(ids));
  }

  /** Sends messages to every runtime on this store. */
  signal(messages: readonly Signal[]): Promise<void> {
    this.#signals.send(messages);
    return Promise.resolve();
  }

  /** Subscribes to signals. */
  subscribe(observer: SignalObserver): Promise<SignalSubscription> {
    return Promise.resolve(this.#signals.subscribe(observer));
  }
}
