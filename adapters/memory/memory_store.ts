import {
  JobNotFoundError,
  JobRunningError,
  OffTheRecordError,
  TransactionConflictError,
  UniqueConflictError,
  UniqueKeyHeldError,
} from "../../ports/errors.ts";
import type { Depth, DepthFilter, JobFilter } from "../../ports/inspector.ts";
import { isFinal, type JobDetail, type JobId, type JobSummary } from "../../ports/job.ts";
import type { CancelResult } from "../../ports/jobs.ts";
import type { KeyRule } from "../../ports/key_rule.ts";
import type {
  Aside,
  Beat,
  Claimed,
  ClaimRequest,
  Completion,
  Counts,
  Declared,
  DeclaredKind,
  DuePeriodics,
  DueRequest,
  Final,
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
import { UNIQUE_BY_ARGS } from "../../shared/key_rule.ts";
import { contains } from "./containment.ts";
import {
  cancelledRow,
  claimedRow,
  endedRow,
  holdsKey,
  isSuperseded,
  type JobRow,
  liesAside,
  newRow,
  rescuedRow,
  retriedRow,
  settledRow,
  supersededRun,
  waits,
  waitsForLater,
} from "./job_row.ts";
import { JobTable } from "./job_table.ts";
import { detail, summary } from "./job_view.ts";
import { COMPLETION_TEXT, type MemoryTx, TRANSACTION_TEXT } from "./memory_tx.ts";
import { depthOf, overviewCounts } from "./overview_counts.ts";
import { OwnerTable } from "./owner_table.ts";
import { PeriodicTable } from "./periodic_table.ts";
import { SignalBoard } from "./signal_board.ts";
import { LOCK_WAIT_MS, type Staged, Transactions } from "./transactions.ts";
import { dueMs, isSameRule, keepsOut, metRow, supersededBy, uniqueKey } from "./unique_key.ts";
import { UpkeepTable } from "./upkeep_table.ts";

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
  readonly #transactions = new Transactions();
  /** Since when queues are paused, ms since the epoch. */
  readonly #paused = new Map<string, number>();
  /** What was declared last of the twins of a kind. */
  readonly #rules = new Map<string, KeyRule>();
  #lastSeq = 0;

  /** Use {@linkcode createMemoryStore}. */
  constructor(options: MemoryStoreOptions = {}) {
    this.#clock = options.clock ?? Date.now;
    this.#jobs = new JobTable((row) => {
      if (row.periodic !== null) this.#periodics.ended(row.periodic, row);
    });
  }

  /** Begins a transaction. What is done with it is seen by no one until it commits. */
  begin(): MemoryTx {
    return this.#transactions.begin({
      complete: (tx, id, run, output) => this.#complete(tx, id, run, output),
      commit: (tx) => this.#commit(tx),
      rollback: (tx) => void this.#transactions.end(tx),
    });
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
    const mine = tx === undefined ? undefined : this.#transactions.staged(tx);
    const keyed = jobs.flatMap((job) => {
      const rule = this.#ruleOf(job);
      const key = rule === null ? null : uniqueKey(job, rule);
      return key === null ? [] : [{ kind: job.kind, key }];
    });
    try {
      return await this.#transactions.unlocked(
        () => first(keyed, ({ key }) => this.#holds(key, mine)),
        () => jobs.map((job) => this.#insert(job, null, mine)),
      );
    } catch (error) {
      if (mine !== undefined || !(error instanceof TransactionConflictError)) throw error;
      throw new UniqueKeyHeldError(keyed[0]!.kind, LOCK_WAIT_MS, { cause: error.cause });
    }
  }

  /** The open transaction that has a key, or changes the job that holds it. */
  #holds(key: string, mine: Staged | undefined): Staged | undefined {
    const holder = this.#holder(key, mine);
    return this.#transactions.lockerOfKey(key, mine) ??
      (holder === undefined ? undefined : this.#transactions.writerOfRow(holder, mine));
  }

  #ruleOf({ kind, rule, unique }: NewJob): KeyRule | null {
    return this.#rules.get(kind) ?? rule ?? (unique ? UNIQUE_BY_ARGS : null);
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
    const mine = tx === undefined ? undefined : this.#transactions.staged(tx);
    return await this.#transactions.unlocked(() => this.#transactions.lockerOfRow(id, mine), () => {
      const row = this.#row(id, mine);
      if (row === undefined) return { result: "gone", state: null };
      if (isFinal(row.state)) return { result: "final", state: row.state };
      const next = cancelledRow(row, this.#clock());
      this.#write(next, mine);
      mine?.signals.push({ type: next.state === "running" ? "cancel" : "final", id });
      return { result: next.state === "running" ? "requested" : "cancelled", state: next.state };
    });
  }

  /** Takes due jobs. A process that is not registered gets none: no one would rescue them. Nor does one that is rescued. */
  claim(request: ClaimRequest): Promise<Claimed[]> {
    if (!this.#owners.isAlive(request.owner) || this.#paused.has(request.queue)) return Promise.resolve([]);
    const nowMs = this.#clock();
    const { queue, limit, aside } = request;
    const isFree = (row: JobRow) => !this.#isLocked(row.id);
    const due = this.#jobs.line(queue).due(nowMs, limit, isFree);
    const rows = aside === undefined ? due : this.#withAside(due, { queue, kind: aside }).slice(0, limit);
    return Promise.resolve(
      rows.map((row, index) => this.#take(row, request.owner, index < request.free && !row.alone, nowMs)),
    );
  }

  /** Takes one job that waits, whatever else does and when it is due: for benches of tests. Null when it does not wait. */
  claimOne(owner: string, id: JobId): Promise<Claimed | null> {
    const row = this.#jobs.get(id);
    if (row === undefined || !waits(row) || this.#isLocked(id)) return Promise.resolve(null);
    return Promise.resolve(this.#take(row, owner, true, this.#clock()));
  }

  /** In how many ms the next job of a queue falls due that is not due yet. */
  nextDue(queue: string): Promise<number | null> {
    const nowMs = this.#clock();
    const dueMs = this.#jobs.line(queue).nextDueMs(nowMs);
    return Promise.resolve(dueMs === null ? null : dueMs - nowMs);
  }

  /** Records that claimed jobs start now. */
  started(owner: string, runs: readonly RunRef[]): Promise<void> {
    if (!this.#owners.isAlive(owner)) return Promise.reject(new OffTheRecordError(owner));
    for (const ref of runs) this.#amend(ref, { started: true });
    return Promise.resolve();
  }

  /** Ends runs. */
  settle(_owner: string, settlements: readonly Settlement[]): Promise<Settled[]> {
    return Promise.resolve(settlements.map((settlement) => {
      const row = this.#jobs.get(settlement.id);
      if (row === undefined || !isRun(row, settlement)) return "fenced";
      if (this.#isLocked(settlement.id)) return "locked";
      const delayMs = "delayMs" in settlement ? settlement.delayMs : 0;
      return this.#endRun(row, (twin) => settledRow(row, settlement, this.#clock(), twin), delayMs).state;
    }));
  }

  /** Stores the progress of runs. */
  progress(entries: readonly ProgressEntry[]): Promise<void> {
    for (const entry of entries) {
      const { done, note } = entry;
      this.#amend(entry, { progress: note === null ? { done } : { done, note } });
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
    this.#storeKinds(declared.kinds);
    return Promise.resolve();
  }

  /** Stores of each kind what the newest process on the record says of it. */
  renewKinds(): Promise<string[]> {
    return Promise.resolve(this.#storeKinds(this.#owners.kinds()));
  }

  /** Of kinds their rules are all that is stored. Returns the names of those that had another one. */
  #storeKinds(kinds: readonly DeclaredKind[]): string[] {
    const changed = kinds.filter(({ name, rule }) => !isSameRule(this.#rules.get(name), rule));
    for (const { name, rule } of changed) {
      if (rule === undefined) this.#rules.delete(name);
      else this.#rules.set(name, rule);
    }
    return changed.map(({ name }) => name);
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
    const cancelRequested = [...this.#jobs.all()]
      .filter((row) => row.state === "running" && row.owner === owner && row.cancelRequested)
      .map((row) => row.id);
    return { cancelRequested, pausedQueues: [...this.#paused.keys()] };
  }

  /** Puts back the jobs of a process that is gone. */
  rescue(owner: string, beat: string, error: RescueError): Promise<Rescued> {
    const retried: JobId[] = [];
    const discarded: JobId[] = [];
    const released: JobId[] = [];
    const cancelled: JobId[] = [];
    const queues = new Set<string>();
    let complete = true;
    const isLost = this.#owners.isLost(owner, beat);
    const rows = isLost
      ? [...this.#jobs.all()].filter((row) => row.state === "running" && row.owner === owner)
      : [];
    for (const row of rows) {
      if (this.#isLocked(row.id)) {
        complete = false;
        continue;
      }
      this.#owners.giveUp(owner);
      const next = this.#endRun(row, (twin) => rescuedRow(row, error.message, this.#clock(), twin), 0);
      if (next.state === "cancelled") cancelled.push(row.id);
      else if (next.state === "discarded") discarded.push(row.id);
      else (row.started ? retried : released).push(row.id);
      if (waits(next)) queues.add(row.queue);
    }
    if (complete && isLost) this.#owners.forget(owner);
    return Promise.resolve({ retried, discarded, released, cancelled, complete, queues: [...queues] });
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
    const taken: TakenTick[] = [];
    for (const { name, version, tickMs, nextTickMs } of ticks) {
      const [row] = this.#periodics.rows([name]);
      if (row?.version !== version || row.spec === null || row.pausedMs !== null) continue;
      if (this.#unlessSuperseded(name) !== null) continue;
      this.#periodics.ticked(name, tickMs, nextTickMs);
      taken.push({ name, jobId: this.#insertRun(name, row.spec.job), queue: row.spec.job.queue });
    }
    return Promise.resolve(taken);
  }

  /** Makes one run of a periodic beside its schedule. */
  runPeriodic(name: string, job: PeriodicJob): Promise<JobId> {
    return Promise.resolve(this.#unlessSuperseded(name) ?? this.#insertRun(name, job));
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
    const nowMs = this.#clock();
    let purged = 0;
    for (const row of this.#jobs.all()) {
      if (purged >= request.limit) break;
      const keptMs = row.state === "completed" ? request.completedMs : request.othersMs;
      const isOver = isFinal(row.state) && nowMs - row.finishedAtMs! >= keptMs;
      if (!isOver || this.#isLocked(row.id)) continue;
      this.#jobs.delete(row);
      purged++;
    }
    return Promise.resolve(purged);
  }

  /** Where jobs of these kinds lie aside. */
  findAside(kinds: readonly string[]): Promise<Aside[]> {
    const found = new Map<string, Aside>();
    for (const row of this.#jobs.all()) {
      if (!liesAside(row) || !kinds.includes(row.kind)) continue;
      found.set(JSON.stringify([row.queue, row.kind]), { queue: row.queue, kind: row.kind });
    }
    return Promise.resolve([...found.values()]);
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
    const nowMs = this.#clock();
    const due = [...this.#jobs.all()].filter((row) =>
      waits(row) && !row.putAside && row.scheduledAtMs <= nowMs
    );
    const queues = [...new Set(due.map(({ queue }) => queue))].sort();
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
    const { kind, queue, state, args, limit } = filter;
    const before = filter.before === undefined ? Infinity : Number(filter.before);
    const rows: JobRow[] = [];
    // Ids rise in the order of commit only nearly, so the order of the map is not the order of the ids.
    for (const row of [...this.#jobs.all()].sort((one, other) => other.seq - one.seq)) {
      if (rows.length >= limit) break;
      if (row.seq >= before) continue;
      if (kind !== undefined && row.kind !== kind) continue;
      if (queue !== undefined && row.queue !== queue) continue;
      if (state !== undefined && row.state !== state) continue;
      if (args !== undefined && !contains(JSON.parse(row.args), args)) continue;
      rows.push(row);
    }
    return Promise.resolve(rows.map(summary));
  }

  /** One job whole. */
  get(id: JobId): Promise<JobDetail | null> {
    const row = this.#jobs.get(id);
    return Promise.resolve(row === undefined ? null : detail(row));
  }

  /** Puts a job back in line. */
  async retry(id: JobId): Promise<string> {
    const key = this.#jobs.get(id)?.key ?? null;
    return await this.#transactions.unlocked(
      () =>
        this.#transactions.lockerOfRow(id) ??
          (key === null ? undefined : this.#transactions.lockerOfKey(key)),
      () => {
        const row = this.#jobs.get(id);
        if (row === undefined) throw new JobNotFoundError(id);
        if (row.state === "running") throw new JobRunningError(id);
        const takesKey = row.key !== null && isFinal(row.state);
        const holder = takesKey ? this.#jobs.holder(row.key!) : undefined;
        const rule = this.#rules.get(row.kind) ?? UNIQUE_BY_ARGS;
        if (
          holder !== undefined && holder !== id && keepsOut(this.#jobs.get(holder)!, rule, this.#clock())
        ) {
          throw new UniqueConflictError(id, holder);
        }
        const current = row.periodic === null ? null : this.#periodics.currentJobId(row.periodic);
        if (current !== null && current !== id) throw new UniqueConflictError(id, current);
        this.#jobs.put(retriedRow(row, this.#clock()));
        if (takesKey) this.#jobs.hold(row.key!, id);
        if (row.periodic !== null) this.#periodics.inLine(row.periodic, id, this.#clock());
        return row.queue;
      },
    );
  }

  /** Makes jobs that wait due now. */
  bringForward(ids: readonly JobId[]): Promise<string[]> {
    const nowMs = this.#clock();
    const queues: string[] = [];
    for (const id of ids) {
      const row = this.#jobs.get(id);
      if (row === undefined || !waits(row) || liesAside(row) || row.scheduledAtMs <= nowMs) continue;
      if (this.#transactions.lockerOfRow(id) !== undefined) continue;
      this.#jobs.put({ ...row, scheduledAtMs: nowMs });
      queues.push(row.queue);
    }
    return Promise.resolve(queues);
  }

  /** Which of these jobs have ended, and which are not there. */
  finals(ids: readonly JobId[]): Promise<Finals> {
    const ended: Final[] = [];
    const missing: JobId[] = [];
    for (const id of ids) {
      const row = this.#jobs.get(id);
      // What an open transaction has staged is known here, so there is nothing to wait for.
      if (row === undefined && !this.#isLocked(id)) missing.push(id);
      if (row === undefined || !isFinal(row.state)) continue;
      ended.push({ id, state: row.state, output: row.output, error: row.errors.at(-1)?.message ?? null });
    }
    return Promise.resolve({ ended, missing: missing.map((id) => ({ id, oldest: 0, next: 0 })) });
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

  #insert(job: NewJob, periodic: string | null, mine?: Staged): Inserted {
    const nowMs = this.#clock();
    const rule = this.#ruleOf(job);
    const due = dueMs(job, rule, nowMs);
    const key = rule === null ? null : uniqueKey(job, rule);
    const holder = key === null ? undefined : this.#holder(key, mine);
    const twin = holder === undefined ? undefined : this.#row(holder, mine);
    if (twin !== undefined && keepsOut(twin, rule!, nowMs)) {
      const queue = this.#queueOf(twin, job);
      this.#meet(twin, metRow(twin, { args: job.args, dueMs: due, queue }, rule!, nowMs), mine);
      return { id: twin.id, existed: true };
    }
    const row = newRow(job, { seq: ++this.#lastSeq, key, periodic, nowMs, dueMs: due });
    this.#write(row, mine);
    if (key !== null) this.#hold(key, row.id, mine);
    mine?.signals.push({ type: "ready", queue: row.queue });
    if (periodic !== null) this.#periodics.inLine(periodic, row.id, this.#clock());
    return { id: row.id, existed: false };
  }

  /** A job keeps a twin out, and is changed by it perhaps. What was judged of it stays so until the transaction ends. */
  #meet(row: JobRow, next: JobRow, mine: Staged | undefined): void {
    if (!isFinal(row.state)) mine?.judged.add(row.id);
    if (next === row) return;
    this.#write(next, mine);
    const signal: Signal = { type: "ready", queue: next.queue };
    if (mine === undefined) this.#signals.send([signal]);
    else mine.signals.push(signal);
  }

  /** Where a twin's job waits: in a queue that nobody works any more it would keep all that comes from ever being run. */
  #queueOf(twin: JobRow, { queue }: NewJob): string {
    return !this.#owners.works(twin.queue) && this.#owners.works(queue) ? queue : twin.queue;
  }

  #hold(key: string, id: JobId, mine: Staged | undefined): void {
    if (mine === undefined) this.#jobs.hold(key, id);
    else mine.keys.set(key, id);
  }

  #supersededBy(row: JobRow): JobRow | null {
    const holder = row.key === null ? undefined : this.#jobs.holder(row.key);
    return supersededBy(row, holder === undefined ? undefined : this.#jobs.get(holder));
  }

  /**
   * A run has ended. Back in line its job takes its key again where nobody who lives has it; else it makes way, and the twin
   * is due when the job would have been.
   */
  #endRun(row: JobRow, end: (supersededBy: JobId | null) => JobRow, delayMs: number): JobRow {
    const twin = this.#supersededBy(row);
    const next = end(twin?.id ?? null);
    this.#jobs.put(next);
    if (twin === null) {
      if (next.key !== null && waits(next)) this.#jobs.hold(next.key, next.id);
    } else if (isSuperseded(row, next)) this.#makeDueBy(twin, delayMs);
    return next;
  }

  /** The twin that took a job's place takes its due time, if that is earlier; a debounced one is due soon anyway. */
  #makeDueBy(twin: JobRow, delayMs: number): void {
    const rule = this.#rules.get(twin.kind) ?? UNIQUE_BY_ARGS;
    if (rule.debounce !== null || this.#isLocked(twin.id)) return;
    const nowMs = this.#clock();
    const { args, queue } = twin;
    this.#meet(twin, metRow(twin, { args, dueMs: nowMs + delayMs, queue }, rule, nowMs), undefined);
  }

  #insertRun(periodic: string, job: PeriodicJob): JobId {
    return this.#insert({ ...job, runAt: null, unique: false }, periodic).id;
  }

  /** The run of a periodic that is in the way of another one. One that waits for a later attempt is not: it ends. */
  #unlessSuperseded(periodic: string): JobId | null {
    const id = this.#periodics.currentJobId(periodic);
    const row = id === null ? undefined : this.#jobs.get(id);
    const nowMs = this.#clock();
    if (row === undefined || this.#isLocked(row.id) || !waitsForLater(row, nowMs)) return id;
    this.#jobs.put(supersededRun(row, nowMs));
    return null;
  }

  async #complete(tx: MemoryTx, id: JobId, run: number, output: string | null): Promise<boolean> {
    const mine = this.#transactions.staged(tx);
    return await this.#transactions.unlocked(() => this.#transactions.lockerOfRow(id, mine), () => {
      const row = this.#row(id, mine);
      // A cancel that came first stands.
      if (row === undefined || !isRun(row, { id, run }) || row.cancelRequested) return false;
      this.#write(endedRow(row, "completed", output, this.#clock()), mine);
      mine.signals.push({ type: "final", id });
      return true;
    });
  }

  #commit(tx: MemoryTx): void {
    const staged = this.#transactions.end(tx);
    for (const row of staged.rows.values()) this.#jobs.put(row);
    for (const [key, id] of staged.keys) if (id !== null) this.#jobs.hold(key, id);
    this.#signals.send(staged.signals);
  }

  /** The version of a job that a transaction sees, or everyone. */
  #row(id: JobId, mine: Staged | undefined): JobRow | undefined {
    return mine?.rows.get(id) ?? this.#jobs.get(id);
  }

  /** Who holds a key, as a transaction sees it, or everyone. */
  #holder(key: string, mine: Staged | undefined): JobId | undefined {
    const staged = mine?.keys.get(key);
    return staged === undefined ? this.#jobs.holder(key) : staged ?? undefined;
  }

  #write(row: JobRow, mine: Staged | undefined): void {
    if (mine === undefined) {
      this.#jobs.put(row);
      return;
    }
    mine.rows.set(row.id, row);
    if (row.key === null || holdsKey(row)) return;
    if (this.#holder(row.key, mine) === row.id) mine.keys.set(row.key, null);
  }

  /** Changes what does not decide a job's fate, also while a transaction holds its row. */
  #amend(ref: RunRef, change: Partial<Pick<JobRow, "started" | "progress">>): void {
    const row = this.#jobs.get(ref.id);
    if (row === undefined || !isRun(row, ref)) return;
    this.#jobs.put({ ...row, ...change });
    const staged = this.#transactions.writerOfRow(ref.id);
    const version = staged?.rows.get(ref.id);
    if (version !== undefined) staged?.rows.set(ref.id, { ...version, ...change });
  }

  #take(row: JobRow, owner: string, started: boolean, nowMs: number): Claimed {
    const next = claimedRow(row, owner, started, nowMs);
    this.#jobs.put(next);
    const { id, run, kind, attempt, maxAttempts, args, alone } = next;
    return { id, run, kind, attempt, maxAttempts, args, alone };
  }

  /** Due jobs and those that lie aside, by priority; of one priority, those that lie aside first. */
  #withAside(due: readonly JobRow[], { queue, kind }: Aside): JobRow[] {
    const aside = [...this.#jobs.all()]
      .filter((row) => liesAside(row) && row.queue === queue && row.kind === kind && !this.#isLocked(row.id))
      .sort((one, other) => one.scheduledAtMs - other.scheduledAtMs || one.seq - other.seq);
    return [...aside, ...due].sort((one, other) => one.priority - other.priority);
  }

  #isLocked(id: JobId): boolean {
    return this.#transactions.lockerOfRow(id) !== undefined;
  }
}

function isRun(row: JobRow, ref: RunRef): boolean {
  return row.state === "running" && row.run === ref.run;
}

function first<T, R>(items: readonly T[], find: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}
