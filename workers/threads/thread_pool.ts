import type { AttemptOutcome } from "../../ports/executor.ts";
import type { Json } from "../../ports/json.ts";
import type { Completion } from "../../ports/store.ts";
import { errorAsJson } from "../error_transfer.ts";
import { StatementsOfOrders } from "../jobs/statements_of_orders.ts";
import { type AbortCause, endedByForce, outcomeAfterAbort, timedOut } from "../outcome.ts";
import { Sweep } from "../sweep.ts";
import type { JobName, Work, WorkObserver, WorkSurroundings } from "../work.ts";
import { placeWork } from "./place_work.ts";
import { type Report, SLOT } from "./protocol.ts";
import { RestartLimit } from "./restart_limit.ts";
import { type Held, Thread, type ThreadRole } from "./thread.ts";
import { WaitingLine } from "./waiting_line.ts";

/** How a pool of threads works. */
export interface ThreadPoolOptions {
  /** How many threads there are when all is well. */
  readonly threads: number;
  /** How many attempts one thread takes at once. */
  readonly jobsPerThread: number;
  /** How long an aborted handler has before its thread is ended, in ms. */
  readonly graceMs: number;
  /** The statements for handlers' own transactions; null where there are none. */
  readonly completion: Completion | null;
  /** What handlers do beside ending. */
  readonly surroundings: WorkSurroundings;
}

/** How often limits are looked at while something runs, in ms. */
const SWEEP_MS = 25;
/** How long a handler module may take to load, in ms. */
const LOAD_MS_MAX = 30_000;
/** How many threads are started before the first job; more of them start when there is work for them. */
const WARM_MAX = 4;
/** How long threads beyond the pool's number are kept without work, in ms. */
const SPARE_IDLE_MS = 5000;

/**
 * Runs work in worker threads: started when first needed, kept warm, the least loaded one first. What is given in one
 * tick travels in one message per thread. A thread that stands still is taken its unstarted work away; while all stand
 * still, a queue gets up to two threads of its own, so that one queue's handlers that compute stop no other queue.
 */
export class ThreadPool {
  #options: ThreadPoolOptions;
  #threads = new Set<Thread>();
  #held = new Map<number, Held>();
  #line = new WaitingLine();
  #limit = new RestartLimit();
  #reloads = new RestartLimit();
  #sweep: Sweep = new Sweep(SWEEP_MS, () => this.#look());
  #dispatchDue = false;
  #keys = 0;
  #checks = new Map<number, { readonly thread: Thread; readonly answer: (fault: string | null) => void }>();
  #checkCount = 0;
  /** Their place is the attempt's key. */
  #statements = new StatementsOfOrders();
  #lost = 0;
  /** Attempts that share threads, wherever they are; those with a thread of their own take nobody's place. */
  #sharing = 0;
  #stopped = false;

  /** Makes the pool. No thread is started yet. */
  constructor(options: ThreadPoolOptions) {
    this.#options = options;
  }

  /** Threads that take jobs. */
  get threads(): number {
    return this.#threads.size;
  }

  /** Attempts that have not ended. */
  get running(): number {
    return this.#held.size;
  }

  /** Threads that could not be ended. */
  get lost(): number {
    return this.#lost;
  }

  /** How many more attempts would begin at once: the places of the pool's threads, started or not, that are free. */
  get room(): number {
    const { threads, jobsPerThread } = this.#options;
    let taken = this.#sharing;
    for (const { role, held } of this.#threads) if (role.type === "extra") taken -= held.size;
    return Math.max(0, threads * jobsPerThread - taken);
  }

  /** Runs one attempt. Returns a key for {@linkcode ThreadPool.abort}. */
  run(work: Work, observer: WorkObserver): number {
    const key = ++this.#keys;
    const held: Held = {
      key,
      work,
      observer,
      slot: -1,
      startedAt: 0,
      loadingAt: 0,
      aborted: null,
      graceEndsAt: 0,
      abortMessage: 0,
      calls: null,
    };
    this.#held.set(key, held);
    if (!work.ownThread) this.#sharing++;
    this.#wait(held);
    return key;
  }

  /** Aborts the signal of an attempt, and ends it after the grace. One that has not started ends at once. */
  abort(key: number, cause: AbortCause): void {
    const held = this.#held.get(key);
    if (held === undefined || held.aborted !== null) return;
    const thread = this.#threadOf(held);
    const waits = thread === undefined ? this.#line.remove(held) : thread.cancel(held);
    if (waits) {
      const outcome: AttemptOutcome = cause === "timeout"
        ? timedOut(held.work.timeoutMs, "it was never started")
        : { type: "released", reason: `told to end (${cause}) before it started`, alone: false };
      return this.#end(held, outcome);
    }
    if (thread !== undefined) this.#abortIn(thread, held, cause, performance.now());
  }

  /** Loads a handler module in a thread. Resolves to what is wrong with it, or null. */
  check(module: string): Promise<string | null> {
    return this.#load(this.#anyThread(), module);
  }

  /** Starts threads for the first jobs and loads handler modules in them, so that no job waits for that. */
  async warm(modules: readonly string[]): Promise<void> {
    if (modules.length === 0 || this.#stopped) return;
    const pool = [...this.#threads].filter(({ role, retiring }) => role.type === "pool" && !retiring);
    while (pool.length < Math.min(this.#options.threads, WARM_MAX)) {
      pool.push(this.#newThread({ type: "pool" }, this.#options.jobsPerThread));
    }
    // What does not load in one of them fails its job there, as ever.
    await Promise.all(pool.flatMap((thread) => modules.map((module) => this.#load(thread, module))));
  }

  #load(thread: Thread, module: string): Promise<string | null> {
    const check = ++this.#checkCount;
    const { promise, resolve } = Promise.withResolvers<string | null>();
    const timer = setTimeout(() => {
      if (!this.#checks.has(check)) return;
      answer(`it did not load within ${LOAD_MS_MAX} ms`);
      this.#replace(thread, "a handler module did not load in it", true);
    }, LOAD_MS_MAX);
    const answer = (fault: string | null): void => {
      clearTimeout(timer);
      this.#checks.delete(check);
      resolve(fault);
    };
    this.#checks.set(check, { thread, answer });
    thread.tell(["check", check, module]);
    thread.flush();
    return promise;
  }

  /** Ends every thread. What still runs is released first. Idempotent. */
  stop(): void {
    this.#stopped = true;
    this.#sweep.stop();
    const threads = [...this.#threads];
    this.#threads.clear();
    for (const { answer } of [...this.#checks.values()]) answer("the executor was stopped");
    const all = [...this.#held.values()];
    this.#line.clear();
    for (const held of all) {
      this.#end(held, { type: "released", reason: "the executor stopped", alone: false });
    }
    for (const thread of threads) thread.terminate();
  }

  #wait(held: Held): void {
    held.slot = -1;
    held.loadingAt = 0;
    this.#line.push(held);
    this.#scheduleDispatch();
  }

  #scheduleDispatch(): void {
    if (this.#dispatchDue || this.#stopped) return;
    this.#dispatchDue = true;
    queueMicrotask(() => {
      this.#dispatchDue = false;
      if (!this.#stopped) this.#dispatch();
    });
  }

  #dispatch(): void {
    if (this.#line.size > 0) {
      this.#line.drain((held) => {
        const thread = this.#threadFor(held.work);
        thread?.give(held);
        return thread !== undefined;
      });
      this.#sweep.arm();
    }
    for (const thread of this.#threads) thread.flush();
  }

  #threadFor(work: Work): Thread | undefined {
    const { threads, jobsPerThread } = this.#options;
    const { best, start } = placeWork(work, this.#threads, threads);
    if (start === null) return best;
    return this.#startThread(start, start.type === "own" ? 1 : jobsPerThread) ?? best;
  }

  #startThread(role: ThreadRole, capacity: number): Thread | undefined {
    return this.#limit.waitMs(performance.now()) > 0 ? undefined : this.#newThread(role, capacity);
  }

  #newThread(role: ThreadRole, capacity: number): Thread {
    const thread: Thread = new Thread(role, capacity, this.#options.completion, {
      reports: (thread, reports) => this.#take(thread, reports),
      died: (thread, message) => this.#died(thread, message),
    });
    this.#threads.add(thread);
    return thread;
  }

  #anyThread(): Thread {
    for (const thread of this.#threads) {
      if (thread.role.type === "pool" && !thread.blocked && !thread.retiring) return thread;
    }
    return this.#newThread({ type: "pool" }, this.#options.jobsPerThread);
  }

  #take(thread: Thread, reports: readonly Report[]): void {
    const { surroundings } = this.#options;
    for (const report of reports) {
      // An exit among the reports ends the thread; what follows it is of nobody's interest.
      if (thread.dead) return;
      switch (report[0]) {
        case "completed":
          this.#settle(thread, report[1], { type: "completed", output: report[2], completedIn: report[3] });
          break;
        case "ended":
          this.#settle(thread, report[1], report[2]);
          break;
        case "progress":
          this.#held.get(report[1])?.observer.progress(report[2], report[3]);
          break;
        case "withdrawn":
          thread.freeSlot(report[1]);
          break;
        case "log":
          surroundings.log(report[1], report[2], report[3]);
          break;
        case "output":
          surroundings.output({ kind: report[1], id: report[2] }, report[3]);
          break;
        case "call":
          this.#call(thread, report);
          break;
        case "jobs":
          this.#order(thread, report);
          break;
        case "rows":
          this.#statements.take(report[1], report[2], report[3]);
          break;
        case "checked":
          this.#checks.get(report[1])?.answer(report[2]);
          break;
        case "unloaded":
          this.#unloaded(thread, report);
          break;
        case "exit":
          this.#exited(thread, report[1], report[2]);
          break;
        case "ready":
          thread.ready = true;
          break;
      }
    }
    if (thread.retiring && thread.held.size === 0 && !thread.dead) this.#drop(thread);
    if (this.#line.size > 0) this.#scheduleDispatch();
  }

  #settle(thread: Thread, key: number, outcome: AttemptOutcome): void {
    const held = thread.held.get(key);
    if (held === undefined) return;
    thread.release(held);
    this.#end(held, outcomeAfterAbort(outcome, held.aborted, held.work.timeoutMs));
  }

  #end(held: Held, outcome: AttemptOutcome): void {
    if (!this.#held.delete(held.key)) return;
    if (!held.work.ownThread) this.#sharing--;
    held.calls?.abort();
    this.#statements.end(held.key);
    held.observer.ended(outcome);
  }

  // A module that failed to load fails in this thread for good, for the thread's cache keeps the failure. A new thread
  // may fare better (the module may have waited for a server), within the limit of restarts.
  #unloaded(
    thread: Thread,
    [, key, message, stack]: Extract<Report, readonly ["unloaded", ...unknown[]]>,
  ): void {
    const held = thread.held.get(key);
    if (held === undefined) return;
    thread.release(held);
    const now = performance.now();
    if (!thread.retiring && this.#reloads.waitMs(now) === 0) {
      thread.retiring = true;
      this.#reloads.died(now);
    }
    this.#end(held, { type: "failed", class: "error", message, ...(stack === undefined ? {} : { stack }) });
  }

  #exited(thread: Thread, key: number | null, what: string): void {
    const culprit = key === null ? this.#onlyOne(thread) : thread.held.get(key);
    if (culprit !== undefined) {
      thread.release(culprit);
      this.#end(culprit, { type: "failed", class: "crash", message: `the handler called ${what}` });
    }
    this.#replace(thread, `a handler called ${what}`, culprit === undefined);
  }

  #died(thread: Thread, message: string): void {
    if (thread.dead) return;
    this.#options.surroundings.log("error", "a worker thread died", { error: message });
    const culprit = this.#onlyOne(thread);
    if (culprit !== undefined) {
      thread.release(culprit);
      this.#end(culprit, { type: "failed", class: "crash", message: `its thread died: ${message}` });
    }
    this.#replace(thread, `the thread died: ${message}`, true);
  }

  #onlyOne(thread: Thread): Held | undefined {
    const begun = [...thread.held.values()].filter((held) => thread.stateOf(held) !== SLOT.queued);
    return begun.length === 1 ? begun[0] : undefined;
  }

  /** Ends a thread. What had started in it is put back, what had not goes to another thread. */
  #replace(thread: Thread, reason: string, alone: boolean): void {
    if (thread.dead) return;
    if (!thread.everStarted) this.#limit.died(performance.now());
    const held = [...thread.held.values()];
    const begun = held.filter((one) => !thread.withdraw(one) && thread.stateOf(one) === SLOT.started);
    this.#drop(thread);
    const aborted = held.filter((one) => !begun.includes(one) && one.aborted !== null);
    // Before anyone is told: who is told may ask for another attempt's end at once.
    for (const one of held) if (!begun.includes(one) && one.aborted === null) this.#wait(one);
    for (const one of begun) {
      this.#end(one, { type: "released", reason: `it shared a thread: ${reason}`, alone });
    }
    for (const one of aborted) {
      this.#end(one, endedByForce(one.aborted!, one.work.timeoutMs, this.#options.graceMs));
    }
    this.#scheduleDispatch();
  }

  #drop(thread: Thread): void {
    this.#threads.delete(thread);
    thread.terminate();
    for (const { thread: of, answer } of [...this.#checks.values()]) {
      if (of === thread) answer("its thread died while it was loading");
    }
  }

  #abortIn(thread: Thread, held: Held, cause: AbortCause, now: number): void {
    held.aborted = cause;
    held.calls?.abort();
    held.graceEndsAt = now + this.#options.graceMs;
    thread.tell(["abort", held.key, cause]);
    held.abortMessage = thread.flush();
    this.#sweep.arm();
  }

  #threadOf(held: Held): Thread | undefined {
    for (const thread of this.#threads) if (thread.held.get(held.key) === held) return thread;
    return undefined;
  }

  #call(
    thread: Thread,
    [, key, call, module, input, options]: Extract<Report, readonly ["call", ...unknown[]]>,
  ): void {
    const held = thread.held.get(key);
    const answer = answerTo(thread, call);
    if (held === undefined || held.aborted !== null) {
      return answer(false, { message: `Cannot call ${module}: the attempt is over, or was told to end` });
    }
    held.calls ??= new AbortController();
    this.#options.surroundings.call(held.work, { module, input, options }, held.calls.signal).then(
      (value) => answer(true, value),
      (error) => answer(false, errorAsJson(error)),
    );
  }

  #order(
    thread: Thread,
    [, key, call, order, isInTransaction]: Extract<Report, readonly ["jobs", ...unknown[]]>,
  ): void {
    const held = thread.held.get(key);
    const answer = answerTo(thread, call);
    if (held === undefined) return answer(false, { message: "Cannot use ctx.jobs: the attempt is over" });
    const tx = isInTransaction
      ? this.#statements.transaction(key, (...statement) => {
        thread.tell(["statement", call, ...statement]);
        thread.flush();
      })
      : null;
    this.#options.surroundings.jobs(held.work, order, tx).then(
      (value) => answer(true, value),
      (error) => answer(false, errorAsJson(error)),
    );
  }

  #look(): boolean {
    const now = performance.now();
    for (const thread of [...this.#threads]) {
      if (this.#threads.has(thread)) this.#lookAt(thread, now);
    }
    if (this.#line.size > 0) this.#scheduleDispatch();
    return this.#held.size > 0 || [...this.#threads].some((thread) => thread.role.type !== "pool");
  }

  #lookAt(thread: Thread, now: number): void {
    thread.look(now);
    for (const held of [...thread.held.values()]) {
      const state = thread.stateOf(held);
      if (thread.blocked && thread.isWaiting(held) && thread.withdraw(held)) {
        this.#wait(held);
        continue;
      }
      if (state === SLOT.queued) continue;
      if (state === SLOT.loading && held.loadingAt === 0) held.loadingAt = now;
      if (state === SLOT.started && held.startedAt === 0) held.startedAt = now;
      if (held.aborted !== null) {
        if (now >= held.graceEndsAt) return this.#endByForce(thread, held);
      } else if (held.startedAt > 0) {
        if (now - held.startedAt >= held.work.timeoutMs) this.#abortIn(thread, held, "timeout", now);
      } else if (now - held.loadingAt >= LOAD_MS_MAX) {
        return this.#endLoading(thread, held);
      }
    }
    const idle = thread.held.size === 0 && now - thread.idleSince > SPARE_IDLE_MS;
    if (thread.retiring && thread.held.size === 0 || idle && thread.role.type !== "pool") this.#drop(thread);
  }

  /** The grace of `held` is over. The thread is ended with it, for its code must not go on. */
  #endByForce(thread: Thread, held: Held): void {
    const stuck = !thread.hasConsumed(held.abortMessage);
    const current = stuck ? thread.current() : undefined;
    const begun = [...thread.held.values()].filter((one) => thread.stateOf(one) !== SLOT.queued);
    // Whether its own code is what blocks the thread, or ran on after it was told to end.
    const isToBlame = (one: Held): boolean =>
      thread.hasConsumed(one.abortMessage) || one === current || current === undefined && begun.length === 1;
    const blocker = blockerAmong(stuck ? begun : [held], current);
    // Whoever else is past its grace too ends as well, and not as a bystander.
    const now = performance.now();
    const late = begun.filter((one) => one.aborted !== null && now >= one.graceEndsAt);
    const ends = late.map((one): readonly [Held, AttemptOutcome] => [
      one,
      one.aborted === "timeout" && !isToBlame(one)
        // Another handler kept it from going on, or may have: alone, each gets a fair try, or is found out.
        ? {
          type: "released",
          reason: `${describeJob(blocker)} kept its thread busy past its limit`,
          alone: true,
        }
        : endedByForce(one.aborted!, one.work.timeoutMs, this.#options.graceMs),
    ]);
    for (const [one] of ends) thread.release(one);
    for (const [one, outcome] of ends) this.#end(one, outcome);
    this.#replace(thread, `${describeJob(blocker)} did not end when it had to`, stuck);
    if (stuck) this.#countLost(blocker.kind, blocker.id);
  }

  #endLoading(thread: Thread, held: Held): void {
    const stuck = thread.blocked;
    thread.release(held);
    const message =
      `Cannot load the handler module ${held.work.module}: it did not load within ${LOAD_MS_MAX} ms`;
    this.#end(held, { type: "failed", class: "error", message });
    this.#replace(thread, "a handler module did not load in it", stuck);
    if (stuck) this.#countLost(held.work.kind, held.work.id);
  }

  #countLost(kind: string, id: string): void {
    this.#lost++;
    this.#options.surroundings.threadLost({ kind, id });
  }
}

/** How many of those that may block a thread are named. */
const NAMED_MAX = 5;

/** Who blocks a thread: the one whose first part runs, else one of those that have begun. */
function blockerAmong(begun: readonly Held[], current: Held | undefined): JobName {
  const suspects = (current === undefined ? begun : [current]).map(({ work }) => work);
  if (suspects.length === 1) return { kind: suspects[0]!.kind, id: suspects[0]!.id };
  const oneOf = (names: readonly string[]): string => {
    if (names.length === 1) return names[0]!;
    const rest = names.length - NAMED_MAX;
    return `one of ${names.slice(0, NAMED_MAX).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
  };
  return {
    kind: oneOf([...new Set(suspects.map(({ kind }) => kind))]),
    id: oneOf(suspects.map(({ id }) => id)),
  };
}

function describeJob({ kind, id }: JobName): string {
  return `job ${id} of kind ${kind}`;
}

/** Answers a call, or an order, that a thread has numbered. */
function answerTo(thread: Thread, call: number): (ok: boolean, value: Json) => void {
  return (ok, value) => {
    if (thread.dead) return;
    thread.tell(["called", call, ok, value]);
    thread.flush();
  };
}
