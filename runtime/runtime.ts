import { declaredPeriodic } from "../composing/periodic_job.ts";
import type { Composition } from "../ports/composition.ts";
import { errorText } from "../ports/error_text.ts";
import {
  CompositionError,
  InvalidOptionError,
  RuntimeStateError,
  UndeclaredQueueError,
} from "../ports/errors.ts";
import type { Executor, ExecutorStats, LostThread } from "../ports/executor.ts";
import type { Depth, DepthFilter, JobFilter, Overview, PeriodicStatus } from "../ports/inspector.ts";
import type { JobDetail, JobId, JobSummary } from "../ports/job.ts";
import type { CancelResult, EnqueueOptions, EnqueueRequest, Jobs, Offered } from "../ports/jobs.ts";
import type { JsonInput } from "../ports/json.ts";
import type { Log } from "../ports/log.ts";
import type { Runtime, Service, WaitOptions, WaitResult } from "../ports/runtime.ts";
import type { Inserted, NewJob, Signal, SignalSubscription, Store } from "../ports/store.ts";
import type { Tx } from "../ports/tx.ts";
import { guardLog, silentLog } from "../shared/log.ts";
import { checkText } from "../shared/text.ts";
import { waitMs, waitSignal } from "../shared/waiting.ts";
import { checkedOptions, checkRuntimeOptions, workedQueues } from "./_checked_options.ts";
import { declaredOf } from "./_declared_of.ts";
import { Gatherer } from "./_gatherer.ts";
import { JobsInTransaction } from "./_jobs.ts";
import { overviewOf } from "./_overview.ts";
import { Periodics } from "./_periodics.ts";
import { Processing } from "./_processing.ts";
import { checkJobId, checkJobIds, depthFilter, listFilter, newJob, newJobs, requestOf } from "./_requests.ts";
import { warnOfShortRetention } from "./_short_retention.ts";
import { Signaller } from "./_signaller.ts";
import { StopDeadline } from "./_stop_deadline.ts";
import { TickTaker } from "./_tick_taker.ts";
import { UpkeepRecords } from "./_upkeep.ts";
import { Waiters } from "./_waiters.ts";
import { within } from "./_within.ts";
import type { RuntimeOptions } from "./options.ts";
import type { Settings } from "./settings.ts";

/** A runtime with what a program wants to know beside the port. */
export interface WorkingRuntime extends Runtime {
  /** What it was built of, checked. */
  readonly composition: Composition;

  /** What runs handlers now. */
  stats(): ExecutorStats;

  /** As {@linkcode Runtime.stop}; `graceMs` is another grace than the setting's, for a process that must go soon. */
  stop(graceMs?: number): Promise<void>;
}

/**
 * Builds a runtime.
 *
 * @throws {CompositionError} naming every fault of the composition at once.
 * @throws {InvalidOptionError} a setting is out of its range.
 */
export function buildRuntime(options: RuntimeOptions): WorkingRuntime {
  return new StoreRuntime(options);
}

/**
 *     new --start()--> working --stop()--> stopping --> stopped
 *      \________________ stop() _________________________/
 */
type Phase = "new" | "starting" | "working" | "stopping" | "stopped";

class StoreRuntime implements WorkingRuntime {
  readonly #store: Store;
  readonly #executor: Executor;
  readonly composition: Composition;
  readonly #services: readonly Service[];
  readonly #settings: Settings;
  readonly #log: Log;
  readonly #gatherer: Gatherer;
  readonly #signaller: Signaller;
  readonly #waiters: Waiters;
  readonly #periodics: Periodics;
  readonly #processing: Processing;
  readonly #upkeep: UpkeepRecords;
  readonly #name: string;
  readonly #onThreadLost: (thread: LostThread) => void;
  #phase: Phase = "new";
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;
  #subscription: Promise<SignalSubscription> | undefined;
  #calls = new Set<Promise<unknown>>();

  constructor(options: RuntimeOptions) {
    checkRuntimeOptions(options);
    const { store, executor, schedule } = options;
    const log = guardLog(options.log ?? silentLog);
    const { composition, settings } = checkedOptions(options);
    this.composition = composition;
    this.#services = [...(options.services ?? []), ...composition.services];
    this.#settings = settings;
    this.#store = store;
    this.#executor = executor;
    this.#log = log;
    this.#upkeep = options.upkeep ?? new UpkeepRecords(log);
    this.#name = options.name ?? "runtime";
    this.#onThreadLost = options.onThreadLost ?? (() => {});
    this.#signaller = new Signaller(store, log);
    this.#gatherer = new Gatherer(store, () => this.#signaller.take());
    this.#waiters = new Waiters({ store, signaller: this.#signaller, pollMs: settings.pollMs, log });
    const declared = [...composition.periodics.values()].map((each) =>
      declaredPeriodic(each, composition.kinds)
    );
    this.#periodics = new Periodics({
      store,
      schedule,
      declared: new Map(declared.map((each) => [each.name, each])),
    });
    this.#processing = new Processing({
      store,
      executor,
      composition,
      tickTaker: new TickTaker({ store, schedule, log }),
      periodics: declared,
      queues: workedQueues(composition, options.work),
      name: this.#name,
      signaller: this.#signaller,
      onOutdated: () => void Promise.allSettled(this.#services.map((service) => service.stop())),
      onEnded: (id) => this.#waiters.ended(id),
      upkeep: this.#upkeep,
      settings,
      log,
    });
  }

  with(tx: Tx): Jobs {
    return new JobsInTransaction(this.#store, this.composition, tx);
  }

  async enqueue(kind: string, args?: JsonInput, options?: EnqueueOptions): Promise<JobId> {
    return (await this.offer(kind, args, options)).id;
  }

  async offer(kind: string, args?: JsonInput, options?: EnqueueOptions): Promise<Offered> {
    const made = newJob(this.composition, requestOf(kind, args, options));
    const job = made instanceof Promise ? await made : made;
    if (job.unique) return offeredOf((await this.#insert([job]))[0]!);
    const inserted = await this.#track(() => this.#gatherer.insert(job));
    if (inserted.signalled) this.#processing.wake(job.queue);
    else this.#announce([job]);
    return offeredOf(inserted);
  }

  async enqueueMany(requests: readonly EnqueueRequest[]): Promise<JobId[]> {
    return (await this.#insert(await newJobs(this.composition, requests))).map(({ id }) => id);
  }

  async cancel(id: JobId): Promise<CancelResult> {
    checkJobId(id);
    const result = await this.#track(() => this.#store.cancel(id));
    if (result.result === "requested") {
      this.#processing.cancel(id);
      this.#signaller.send({ type: "cancel", id });
    }
    if (result.result === "cancelled") this.#waiters.ended(id);
    return result;
  }

  async overview(kind?: string): Promise<Overview> {
    if (kind !== undefined) checkText("kind", kind);
    const [counts, upkeep] = await Promise.all([
      this.#track(() => this.#store.counts(kind)),
      this.#track(() => this.#upkeep.overview(this.#store)),
    ]);
    return overviewOf({ counts, upkeep, composition: this.composition, kind });
  }

  async depth(filter: DepthFilter = {}): Promise<Depth> {
    const checked = depthFilter(filter);
    return await this.#track(() => this.#store.depth(checked));
  }

  async list(filter: JobFilter = {}): Promise<JobSummary[]> {
    const checked = listFilter(filter);
    return await this.#track(() => this.#store.list(checked));
  }

  async get(id: JobId): Promise<JobDetail | null> {
    checkJobId(id);
    return await this.#track(() => this.#store.get(id));
  }

  async retry(id: JobId): Promise<void> {
    checkJobId(id);
    this.#processing.ready(await this.#track(() => this.#store.retry(id)));
  }

  async bringForward(ids: readonly JobId[]): Promise<number> {
    checkJobIds(ids);
    if (ids.length === 0) return 0;
    const queues = await this.#track(() => this.#store.bringForward(ids));
    for (const queue of new Set(queues)) this.#processing.ready(queue);
    return queues.length;
  }

  async pauseQueue(queue: string): Promise<void> {
    this.#assertQueue(queue);
    await this.#track(() => this.#store.pauseQueue(queue));
    this.#processing.setPaused(queue, true);
    this.#signaller.send({ type: "pause", queue });
    this.#log.info("queue paused", { queue });
  }

  async resumeQueue(queue: string): Promise<void> {
    this.#assertQueue(queue);
    await this.#track(() => this.#store.resumeQueue(queue));
    this.#processing.setPaused(queue, false);
    this.#signaller.send({ type: "resume", queue });
    this.#log.info("queue resumed", { queue });
  }

  async periodic(): Promise<PeriodicStatus[]> {
    return await this.#track(() => this.#periodics.status());
  }

  async runPeriodic(name: string): Promise<JobId> {
    const { id, queue } = await this.#track(() => this.#periodics.run(name));
    this.#processing.ready(queue);
    return id;
  }

  async pausePeriodic(name: string): Promise<void> {
    await this.#track(() => this.#periodics.pause(name));
    this.#log.info("periodic paused", { periodic: name });
  }

  async resumePeriodic(name: string): Promise<void> {
    await this.#track(() => this.#periodics.resume(name));
    this.#log.info("periodic resumed", { periodic: name });
  }

  async wait(id: JobId, maxMs: number, options: WaitOptions = {}): Promise<WaitResult> {
    checkJobId(id);
    const boundMs = waitMs(maxMs);
    const signal = waitSignal(options);
    this.#assertOpen();
    this.#listen().catch((error) => {
      this.#log.debug("not listening yet, waiting by polls", { error: errorText(error) });
    });
    return await this.#waiters.wait(id, boundMs, signal);
  }

  start(): Promise<void> {
    if (this.#phase === "stopping" || this.#phase === "stopped") {
      return Promise.reject(
        new RuntimeStateError("Cannot start a runtime that was stopped: build a new one"),
      );
    }
    this.#starting ??= this.#start().catch((error) => {
      // Nothing is under way yet, so whoever has mended the cause may try again.
      this.#starting = undefined;
      if (this.#phase === "starting") this.#phase = "new";
      throw error;
    });
    return this.#starting;
  }

  stop(graceMs: number = this.#settings.stopGraceMs): Promise<void> {
    if (typeof graceMs !== "number" || !(graceMs >= 0)) {
      return Promise.reject(new InvalidOptionError("graceMs", graceMs, "ms, 0 or more"));
    }
    return this.#stopping ??= this.#stop(graceMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  stats(): ExecutorStats {
    return this.#executor.stats();
  }

  async #start(): Promise<void> {
    this.#phase = "starting";
    await this.#store.open();
    for (const service of this.#services) await service.open();
    const faults = await this.#executor.check([...this.composition.kinds.values()]);
    if (faults.length > 0) throw new CompositionError(faults);
    await this.#listen();
    if (this.#isStopping()) return;
    await this.#store.declare(declaredOf(this.composition));
    if (this.#isStopping()) return;
    try {
      // Before the first claim: a process that can't start has no jobs.
      for (const service of this.#services) await service.start();
      if (this.#isStopping()) return;
      await this.#processing.register();
    } catch (error) {
      await Promise.allSettled(this.#services.map((service) => service.stop()));
      throw error;
    }
    this.#executor.start({ onThreadLost: (thread) => this.#onThreadLost(thread), jobs: this });
    if (this.#isStopping()) return;
    this.#phase = "working";
    this.#processing.start();
    this.#upkeep.start(this.#store, this.#name);
    warnOfShortRetention(this.composition.kinds.values(), this.#settings.retentionCompletedMs, this.#log);
    this.#log.info("started", { owner: this.#processing.owner, queues: this.#processing.queues.join(",") });
  }

  async #stop(graceMs: number): Promise<void> {
    const worked = this.#phase !== "new";
    const deadline = new StopDeadline(graceMs);
    this.#phase = "stopping";
    if (this.#starting) await within(this.#starting, deadline.workMs);
    // They are told first, and nothing is claimed meanwhile: what they still enqueue is for the other processes.
    const services = Promise.allSettled(this.#services.map((service) => service.stop()));
    if (worked) await this.#processing.stop(deadline);
    await within(this.#upkeep.stop(), deadline.closeMs);
    await within(services, deadline.closeMs);
    await within(this.#waiters.stop(), deadline.closeMs);
    await this.#executor.stop();
    const { lostThreads } = this.#executor.stats();
    if (lostThreads > 0) {
      this.#log.warn("threads that can't be ended are left: only Deno.exit() ends this process", {
        lostThreads,
      });
    }
    await within(Promise.allSettled(this.#calls), deadline.closeMs);
    this.#phase = "stopped";
    await within(this.#signaller.flush(), deadline.closeMs);
    if (this.#subscription) await within(this.#subscription.then((each) => each.close()), deadline.closeMs);
    await within(this.#store.close(), deadline.closeMs);
    if (worked) this.#log.info("stopped");
  }

  #isStopping(): boolean {
    return this.#phase === "stopping" || this.#phase === "stopped";
  }

  async #insert(jobs: readonly NewJob[]): Promise<Inserted[]> {
    if (jobs.length === 0) return [];
    const inserted = await this.#track(() => this.#store.insert(jobs));
    this.#announce(jobs);
    return inserted;
  }

  /** Tells the fleet of jobs that were committed. Here the lane is woken without a detour. */
  #announce(jobs: readonly NewJob[]): void {
    const nowMs = Date.now();
    const ready = new Set<string>();
    for (const { queue, runAt } of jobs) {
      const inMs = runAt === null ? 0 : Date.parse(runAt) - nowMs;
      if (inMs <= 0) ready.add(queue);
      else this.#processing.dueIn(queue, inMs);
    }
    for (const queue of ready) this.#processing.ready(queue);
  }

  #listen(): Promise<SignalSubscription> {
    this.#subscription ??= this.#store.subscribe({
      signal: (signal) => this.#signal(signal),
      ready: () => {
        if (this.#phase === "working") this.#processing.lookAll();
        this.#waiters.lookAtAll();
      },
    }).catch((error) => {
      this.#subscription = undefined;
      throw error;
    });
    return this.#subscription;
  }

  #signal(signal: Signal): void {
    if (signal.type === "wait") this.#waiters.waitedElsewhere(signal.id);
    else if (signal.type === "final") this.#waiters.told(signal.id);
    else if (this.#phase !== "new") this.#processing.hint(signal);
  }

  #assertQueue(queue: string): void {
    const { queues } = this.composition;
    if (!queues.has(queue)) throw new UndeclaredQueueError(queue, queues.keys());
  }

  #assertOpen(): void {
    if (this.#phase === "stopped") {
      throw new RuntimeStateError("Cannot use a runtime that was stopped: build a new one");
    }
  }

  /** Keeps the store open until what is under way has its answer. */
  async #track<T>(call: () => Promise<T>): Promise<T> {
    this.#assertOpen();
    const answer = call();
    this.#calls.add(answer);
    try {
      return await answer;
    } finally {
      this.#calls.delete(answer);
    }
  }
}

function offeredOf({ id, existed }: Inserted): Offered {
  return { id, added: !existed };
}
