import type { MigrateOptions, Transaction } from "../../ports/database.ts";
import {
  InvalidOptionError,
  PoolTooSmallError,
  StatementTimeoutError,
  UniqueKeyHeldError,
} from "../../ports/errors.ts";
import type { Depth, DepthFilter, JobFilter } from "../../ports/inspector.ts";
import type { JobDetail, JobId, JobSummary } from "../../ports/job.ts";
import type { CancelResult } from "../../ports/jobs.ts";
import type { Log } from "../../ports/log.ts";
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
import { guardLog, silentLog } from "../../shared/log.ts";
import { Claimer } from "./claims/claim.ts";
import { completionOf } from "./claims/completion.ts";
import { LostClaims } from "./claims/lost_claims.ts";
import { settle } from "./claims/settle.ts";
import { StartMarks } from "./claims/start_marks.ts";
import { warnOfLimits } from "./connection/connection_limits.ts";
import { POOL_SIZE_DEFAULT, PostgresDatabase, type PostgresDatabaseOptions } from "./connection/database.ts";
import type { NotifyQueue } from "./connection/notify_queue.ts";
import { PATIENT_LOCK_MS, PatientStatements } from "./connection/patient.ts";
import {
  type Bounds,
  DEFAULT_BOUNDS,
  LIGHT_WRITES,
  PULSE_BOUNDS,
  STEADY_PLANS,
  tighter,
} from "./connection/session.ts";
import { newShared } from "./connection/shared.ts";
import { heldRelation, isNotifyQueueFull } from "./connection/translate_error.ts";
import { countJobs, depthOf, nextDue } from "./inspection/counts.ts";
import { getJob, listJobs, readFinals } from "./inspection/inspect.ts";
import { findAside } from "./jobs/aside.ts";
import { declare, pauseQueue, renewKinds, resumeQueue, unworkedQueues } from "./jobs/declared.ts";
import { IdSequence } from "./jobs/id_sequence.ts";
import {
  eachBatch,
  insertAndWake,
  insertJobs,
  insertJobsIn,
  jobBatches,
  RuledKind,
  runIn,
} from "./jobs/insert.ts";
import type { InsertTarget } from "./jobs/insert_columns.ts";
import { insertUnique } from "./jobs/insert_unique.ts";
import { storeProgress } from "./jobs/progress.ts";
import { Purger } from "./jobs/purge.ts";
import { bringForward } from "./operations/bring_forward.ts";
import { cancelJob } from "./operations/cancel.ts";
import { retryJob } from "./operations/retry.ts";
import {
  declaredPeriodics,
  duePeriodics,
  pausePeriodic,
  planPeriodics,
  readPeriodics,
  resumePeriodic,
  runPeriodic,
  takeTicks,
} from "./periodics/periodic.ts";
import { beat, register, requests } from "./processes/heartbeat.ts";
import { lead, resign } from "./processes/leader.ts";
import { Rescuer } from "./processes/rescue.ts";
import { unregister } from "./processes/unregister.ts";
import { readUpkeep, reportUpkeep } from "./processes/upkeep.ts";
import { JOB_STEPS, JOBS_PART } from "./schema/schema.ts";
import { channelName } from "./sql/identifiers.ts";
import type { RunStatement, Statements } from "./sql/statements.ts";
import { AWAKE_PAUSE_MS, AwakeMarks } from "./wakes/awake.ts";
import { sendSignals, SIGNALS_CHANNEL, subscribeSignals } from "./wakes/signals.ts";
import { SilentQueues } from "./wakes/silent_queues.ts";

/** How jobs on PostgreSQL are reached. */
export interface PostgresStoreOptions extends PostgresDatabaseOptions {
  /** The most connections in all, the listener included. At least 4. Default 10. */
  readonly poolSize?: number;
}

/** One for heartbeats and marks, one for the listener, one for claims and settlements, one for everything else. */
const POOL_SIZE_MIN = 4;
const WORK_SIZE_MAX = 4;

/** How the connections of a process are divided. */
interface PoolSizes {
  /** For claims, settlements and enqueues without a unique key. */
  readonly work: number;
  /** For what may wait for another session's lock. 0 where there are too few: then it shares those of the database. */
  readonly patient: number;
  /** For everything else. */
  readonly database: number;
}

/** One step of upkeep: nobody waits for it, and the connection that it holds is everybody's. */
const UPKEEP_TIMEOUT_MS = 30_000;

/**
 * Makes a store on PostgreSQL. It connects at the first call; `migrate()` makes the tables.
 *
 * @throws {InvalidOptionError} an option is out of its range.
 * @throws {PoolTooSmallError} the pool can't hold what the runtime needs.
 *
 * @example
 * ```ts
 * import { createPostgresStore } from "@millrace/millrace/adapter";
 *
 * const store = createPostgresStore({ url: "postgres://app:secret@localhost/app" });
 * await store.migrate();
 * ```
 */
export function createPostgresStore(options: PostgresStoreOptions): PostgresStore {
  return new PostgresStore(options);
}

/** Jobs kept in PostgreSQL. */
export class PostgresStore implements Store {
  /** How a handler's own transaction completes its job. */
  readonly completion: Completion;
  /** The connections for everything but the work on jobs and the heartbeats. */
  readonly database: PostgresDatabase;
  /** The connections for the statements of every job: they must not wait for a look at millions of rows. */
  readonly #work: PostgresDatabase;
  readonly #pulse: PostgresDatabase;
  /** The connections for what may wait for another session's lock. */
  readonly #waiting: PostgresDatabase | null;
  readonly #patient: PatientStatements;
  /** For upkeep, which no caller waits for: the database's connections, with a tighter bound. */
  readonly #upkeep: Statements;
  readonly #target: InsertTarget;
  readonly #marks: StartMarks;
  readonly #lost: LostClaims;
  readonly #claimer: Claimer;
  readonly #run: RunStatement;
  readonly #log: Log;
  readonly #notifyQueue: NotifyQueue;
  readonly #purger: Purger;
  readonly #ids: IdSequence;
  readonly #rescuer: Rescuer;
  /** How many connections there may be, the listener's included. */
  readonly #connections: number;

  /** Use {@linkcode createPostgresStore}. */
  constructor(options: PostgresStoreOptions) {
    if (typeof options !== "object" || options === null) {
      throw new InvalidOptionError("the options of a store of type", typeof options, "an object with a url");
    }
    const poolSize = options.poolSize ?? POOL_SIZE_DEFAULT;
    const sizes = divide(poolSize);
    this.#connections = options.listen === "off" ? poolSize - 1 : poolSize;
    const shared = newShared();
    this.#notifyQueue = shared.notifyQueue;
    this.database = PostgresDatabase.connect({ ...options, poolSize: sizes.database }, shared);
    const { bounds } = this.database;
    // Whatever the application allows its own statements: behind a claim wait all others of its queue.
    const workBounds = tighter(bounds, DEFAULT_BOUNDS);
    const beside = (poolSize: number, session: Readonly<Record<string, string>>, bounds: Bounds) =>
      PostgresDatabase.connect({ ...options, ...bounds, poolSize, session, listen: "off" }, shared);
    this.#work = beside(sizes.work, STEADY_PLANS, workBounds);
    this.#waiting = sizes.patient === 0
      ? null
      : beside(sizes.patient, STEADY_PLANS, { ...workBounds, lockTimeoutMs: PATIENT_LOCK_MS });
    this.#patient = new PatientStatements({
      database: this.#waiting ?? this.database,
      isBrief: () => this.database.keepsSettings && this.#waiting?.keepsSettings === true,
      maxMs: workBounds.lockTimeoutMs,
    });
    // A heartbeat that had to wait for a connection would look like a dead process.
    this.#pulse = beside(1, LIGHT_WRITES, tighter(bounds, PULSE_BOUNDS));
    this.#upkeep = this.database.within(UPKEEP_TIMEOUT_MS);
    const { quotedSchema, schema } = this.database;
    this.completion = completionOf(this.database);
    this.#target = {
      quotedSchema,
      statement: (text) => this.database.statement(text),
      channel: channelName(schema, SIGNALS_CHANNEL),
      silent: new SilentQueues(this.#notifyQueue),
    };
    this.#rescuer = new Rescuer(this.database.within(DEFAULT_BOUNDS.statementTimeoutMs));
    this.#log = guardLog(options.log ?? silentLog);
    this.#marks = new StartMarks(this.#pulse);
    this.#lost = new LostClaims(this.#work, this.#log);
    this.#claimer = new Claimer({
      database: this.#work,
      marks: this.#marks,
      lost: this.#lost,
      awake: new AwakeMarks(this.#pulse, this.#target.channel),
      log: this.#log,
    });
    this.#purger = new Purger(this.#upkeep, this.#log);
    this.#ids = new IdSequence(this.database, this.#log);
    this.#run = (text, params) => this.#work.query(text, params);
  }

  /**
   * Brings the tables to the newest version. Idempotent, and safe when many processes do it at once.
   *
   * @throws {BreakingMigrationError} a breaking step is due, and was not asked for; nothing was done.
   * @throws {SchemaVersionError} the tables are newer, and this program can't go on with them.
   */
  async migrate(options?: MigrateOptions): Promise<void> {
    await this.database.migrate(JOBS_PART, JOB_STEPS, options);
  }

  /** Takes the tables back to a version, 0 by default. The jobs are lost. */
  async migrateDown(version?: number): Promise<void> {
    await this.database.migrateDown(JOBS_PART, JOB_STEPS, version);
  }

  /**
   * Checks that the database can be reached, that the tables are such as this program can work on, and what the
   * sessions are like.
   *
   * @throws {SchemaVersionError} the tables are older, or so much newer that this program can't go on with them.
   * @throws {SessionSettingsError} a pooler shares its sessions, with settings under which statements go wrong.
   * @throws {DatabaseSetupError} row level security may hide rows from the role.
   */
  async open(): Promise<void> {
    await this.database.checkMigrated(JOBS_PART, JOB_STEPS);
    await this.#ids.mend();
    await this.database.checkSessions();
    if (this.database.isPooled) return;
    await warnOfLimits({ database: this.database, connections: this.#connections, log: this.#log });
  }

  /** Ends all connections. Idempotent. */
  async close(): Promise<void> {
    const pools = [this.database, this.#work, this.#pulse, this.#waiting];
    await Promise.all(pools.map((pool) => pool?.close()));
  }

  /** Writes jobs, all or none, and returns an id for each, in order. */
  async insert(jobs: readonly NewJob[], tx?: Tx): Promise<Inserted[]> {
    if (tx?.isUntrusted === true) {
      return await insertJobsIn(tx, { ...this.#target, silent: new SilentQueues(this.#notifyQueue) }, jobs);
    }
    if (tx !== undefined) return await this.#ids.guardIn(() => insertJobsIn(tx, this.#target, jobs));
    return await this.#ids.guard(() => this.#insert(jobs));
  }

  async #insert(jobs: readonly NewJob[]): Promise<Inserted[]> {
    if (jobs.some((job) => job.unique)) return await this.#insertUnique(jobs, false);
    try {
      if (jobBatches(jobs).length <= 1) return await insertJobs(this.#run, jobs);
      return await this.#work.transaction((own) => {
        const run = runOf(own);
        return eachBatch(jobs, (batch) => insertJobs(run, batch));
      });
    } catch (error) {
      if (!(error instanceof RuledKind)) throw error;
      return await this.#insertUnique(jobs, false);
    }
  }

  /** What has to wait for others' keys keeps no connection that claims and ends need. */
  async #insertUnique(jobs: readonly NewJob[], wakes: boolean): Promise<Inserted[]> {
    try {
      if (jobs.length === 1) {
        const run: RunStatement = (text, params) => this.#patient.query(text, params);
        return await insertUnique(run, this.#target, jobs, wakes);
      }
      // It may take several statements.
      return await this.#patient.transaction((own) => {
        const run = runOf(own);
        return eachBatch(jobs, (batch) => insertUnique(run, this.#target, batch, wakes));
      });
    } catch (error) {
      throw heldKey(error, jobs.find((job) => job.unique)?.kind ?? jobs[0]!.kind);
    }
  }

  /**
   * Writes jobs that are due now and have no unique key, all or none, and signals at their commit that their queues are
   * ready, but for those for which nobody needs to be woken.
   */
  async insertAndSignal(jobs: readonly NewJob[]): Promise<Inserted[]> {
    return await this.#ids.guard(async () => {
      try {
        return await this.#insertAndWake(jobs);
      } catch (error) {
        if (!isNotifyQueueFull(error)) throw error;
        // What nobody can be told of is found by a poll.
        return await this.#insert(jobs);
      }
    });
  }

  async #insertAndWake(jobs: readonly NewJob[]): Promise<Inserted[]> {
    try {
      return await insertAndWake(this.#run, this.#target, jobs);
    } catch (error) {
      if (!(error instanceof RuledKind)) throw error;
      return await this.#insertUnique(jobs, !this.#notifyQueue.isFull);
    }
  }

  /** Calls one job off; through the transaction when there is one. */
  async cancel(id: JobId, tx?: Tx): Promise<CancelResult> {
    if (tx === undefined) {
      return await cancelJob((text, params) => this.#patient.query(text, params), id, null);
    }
    const channel = this.#notifyQueue.isFull ? null : this.#target.channel;
    return await cancelJob(runIn(tx, this.#target), id, channel);
  }

  /** Takes due jobs of a queue for `owner`. The claims of one queue must not be made at the same time. */
  async claim(request: ClaimRequest): Promise<Claimed[]> {
    return await this.#claimer.claim(request);
  }

  /** Why jobs of a queue can't be claimed that claims are made around. */
  claimFault(queue: string): Error | null {
    return this.#claimer.faultOf(queue);
  }

  /** In how many ms the next job of a queue falls due, or the queue should be looked through once more. */
  async nextDue(queue: string): Promise<number | null> {
    const awakeMs = this.#claimer.awakeMs(queue);
    // While it is claimed from without a pause nothing falls due long before the next claim.
    if (awakeMs !== null && awakeMs <= AWAKE_PAUSE_MS) return awakeMs;
    const dueMs = await nextDue(this.#work, queue, this.#claimer.sinceClaimMs(queue));
    const lookMs = this.#claimer.lookDueMs(queue);
    const refusedMs = this.#claimer.refusedDueMs(queue);
    const soonest = Math.min(...[dueMs, lookMs, awakeMs, refusedMs].map((ms) => ms ?? Infinity));
    return soonest === Infinity ? null : soonest;
  }

  /** Records that claimed jobs start now. */
  async started(owner: string, runs: readonly RunRef[]): Promise<void> {
    await this.#marks.start(owner, runs);
  }

  /** Ends runs: to a final state, or back in line. */
  async settle(settlements: readonly Settlement[]): Promise<Settled[]> {
    if (settlements.length === 0) return [];
    const states = await settle(this.#work, settlements);
    if (settlements.some(({ to }) => to === "release")) this.#target.silent.distrust();
    const ended = states.includes("locked")
      ? settlements.filter((_, index) => states[index] !== "locked")
      : settlements;
    this.#marks.noteEnded(ended);
    this.#lost.noteEnded(ended);
    return states;
  }

  /** Stores the progress of runs. */
  async progress(entries: readonly ProgressEntry[]): Promise<void> {
    await storeProgress(this.#work, entries);
  }

  /**
   * Records this process, under an id (a UUID) of its own that is never used again.
   *
   * @throws {ProtocolTooOldError} a newer program requires a higher protocol.
   * @throws {SchemaVersionError} a newer program requires that more steps of a part are known.
   */
  async register(owner: Owner): Promise<void> {
    const parts = { ...owner.parts, [JOBS_PART]: JOB_STEPS.length };
    await Promise.all([register(this.#pulse, { ...owner, parts }), this.#warm()]);
  }

  /** Tells the SQL function `enqueue` what this process declares. */
  async declare(declared: Declared): Promise<void> {
    await declare(this.database, declared);
  }

  /** Stores of each kind what the newest process on the record says of it. */
  async renewKinds(): Promise<string[]> {
    return await renewKinds(this.#upkeep);
  }

  /** From now on nobody claims from this queue. */
  async pauseQueue(queue: string): Promise<void> {
    await pauseQueue(this.#patient, queue);
  }

  /** From now on it is claimed from again. */
  async resumeQueue(queue: string): Promise<void> {
    await resumeQueue(this.#patient, queue);
  }

  /** Takes this process off the record; one that still has running jobs is left for a rescue. */
  async unregister(owner: string): Promise<void> {
    await this.#claimer.close(owner);
    await unregister(this.#pulse, owner);
    this.#forget(owner);
  }

  /** Renews this process's heartbeat and reads everyone's. */
  async beat(owner: string): Promise<Beat> {
    const result = await beat(this.#pulse, owner);
    if (result.alive) await this.#marks.clean(owner);
    else this.#forget(owner);
    return result;
  }

  /** Reads what is requested of a process. */
  async requests(owner: string): Promise<Requests> {
    return await requests(this.#work, owner);
  }

  /** Puts back the jobs of a process whose heartbeat still has the value `beat`, and then forgets the process. */
  async rescue(owner: string, beat: string, error: RescueError): Promise<Rescued> {
    return await this.#rescuer.rescue(owner, beat, error);
  }

  /** Takes or renews the lease of the leader. */
  async lead(owner: string, leaseMs: number): Promise<boolean> {
    return await lead(this.#pulse, owner, leaseMs, this.#log);
  }

  /** Gives the lease up, if this process holds it. */
  async resign(owner: string): Promise<void> {
    await resign(this.#pulse, owner);
  }

  /** What is stored of periodics, all or those that are named. */
  async periodics(
    names?: readonly string[],
    options: { readonly runs?: boolean } = {},
  ): Promise<StoredPeriodics> {
    return await readPeriodics(this.#upkeep, names, options.runs ?? true);
  }

  /** What the processes on the record declare. */
  async declaredPeriodics(): Promise<PeriodicDeclaration[]> {
    return await declaredPeriodics(this.#upkeep);
  }

  /** Stores what periodics are; returns the names of those that were stored. */
  async planPeriodics(plans: readonly PeriodicPlan[]): Promise<string[]> {
    return await planPeriodics(this.#upkeep, plans);
  }

  /** The periodics whose next tick has come. */
  async duePeriodics(request: DueRequest): Promise<DuePeriodics> {
    return await duePeriodics(this.#upkeep, request);
  }

  /** Takes ticks and enqueues their jobs in one statement; tells which were taken. */
  async takeTicks(ticks: readonly PeriodicTick[]): Promise<TakenTick[]> {
    return await this.#ids.guard(() => takeTicks(this.#upkeep, ticks));
  }

  /** Enqueues one run of a periodic beside its schedule, or returns the id of the one that runs or is due. */
  async runPeriodic(name: string, job: PeriodicJob): Promise<JobId> {
    return await this.#ids.guard(() => runPeriodic(this.#patient, name, job));
  }

  /** From now on a periodic has no ticks. */
  async pausePeriodic(name: string): Promise<void> {
    await pausePeriodic(this.#patient, name);
  }

  /** From now on it has ticks again. False when it is of another version by now. */
  async resumePeriodic(name: string, version: string, nextTickMs: number | null): Promise<boolean> {
    return await resumePeriodic(this.#patient, name, version, nextTickMs);
  }

  /** Deletes at most `limit` ended jobs that are older than their retention, with their unique keys. */
  async purge(request: Purge): Promise<number> {
    return await this.#purger.purge(request);
  }

  /** Where jobs of these kinds lie aside. */
  async findAside(kinds: readonly string[]): Promise<Aside[]> {
    const found = await findAside(this.database, kinds);
    this.#claimer.noteAside(found);
    return found;
  }

  /** Records how upkeep tasks go. */
  async reportUpkeep(reports: readonly UpkeepReport[]): Promise<void> {
    await reportUpkeep(this.#upkeep, reports);
  }

  /** What is stored of upkeep tasks. */
  async upkeep(): Promise<StoredUpkeep> {
    return await readUpkeep(this.#upkeep);
  }

  /** The queues in which due jobs wait and that no process works. */
  async unworked(): Promise<string[]> {
    return await unworkedQueues(this.#upkeep);
  }

  /** Counts what has not ended. */
  async depth(filter: DepthFilter): Promise<Depth> {
    return await depthOf(this.#upkeep, filter);
  }

  /** Counts and ages, over all kinds or one. */
  async counts(kind?: string): Promise<Counts> {
    return await countJobs(this.database, kind);
  }

  /** Jobs, newest first. */
  async list(filter: JobFilter & { readonly limit: number }): Promise<JobSummary[]> {
    return await listJobs(this.database, filter);
  }

  /** One job whole; null when there is none. */
  async get(id: JobId): Promise<JobDetail | null> {
    return await getJob(this.database, id);
  }

  /** Puts a job back in line. Returns its queue. */
  async retry(id: JobId): Promise<string> {
    return await retryJob(this.#patient, id);
  }

  /** Makes jobs that wait due now. */
  async bringForward(ids: readonly JobId[]): Promise<string[]> {
    return await bringForward(this.database, ids);
  }

  /** Which of these jobs have ended, and which are not there. */
  async finals(ids: readonly JobId[]): Promise<Finals> {
    return await readFinals(this.database, ids);
  }

  /**
   * Sends messages to every process on this store, this one included; not that a queue is ready from which somebody is
   * claiming without a pause.
   */
  async signal(messages: readonly Signal[]): Promise<void> {
    await sendSignals((text, params) => this.database.query(text, params), this.#target, messages);
  }

  /** Subscribes to signals. */
  async subscribe(observer: SignalObserver): Promise<SignalSubscription> {
    return await subscribeSignals(this.database, observer);
  }

  /** Makes the connections that the first jobs need, and prepares the statement that ends them: none waits for that. */
  async #warm(): Promise<void> {
    const nobodys = { id: "0", run: 0, to: "completed", output: null, error: null } as const;
    await Promise.allSettled([
      settle(this.#work, [nobodys]),
      this.#work.query("select from {schema}.queue limit 0"),
    ]);
  }

  #forget(owner: string): void {
    this.#marks.forget(owner);
    this.#lost.forget(owner);
  }
}

function divide(poolSize: number): PoolSizes {
  if (!Number.isInteger(poolSize)) throw new InvalidOptionError("poolSize", poolSize, "an integer");
  if (poolSize < POOL_SIZE_MIN) throw new PoolTooSmallError(poolSize, POOL_SIZE_MIN);
  const free = poolSize - 2;
  const patient = free === 2 ? 0 : Math.max(1, Math.floor(free / 4));
  const work = Math.min(WORK_SIZE_MAX, Math.ceil((free - patient) / 2));
  return { work, patient, database: free - patient - work };
}

function runOf(own: Transaction): RunStatement {
  return async (text, params) => await own.unsafe(text, params);
}

/** What a unique enqueue failed with: the lock that it has waited for is its key's or its holder's, or that of a whole table. */
function heldKey(error: unknown, kind: string): unknown {
  if (!(error instanceof StatementTimeoutError) || error.bound !== "lock") return error;
  if (!["job_key", "job"].includes(heldRelation(error) ?? "")) return error;
  return new UniqueKeyHeldError(kind, error.boundMs ?? 0, { cause: error.cause });
}
