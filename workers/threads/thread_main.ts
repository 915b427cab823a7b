/// <reference lib="deno.worker" />
/**
 * The thread's side: takes jobs, runs their handlers, reports what came of them. It begins in a thread of its own.
 *
 * @module
 */
import type { CallOptions, Handler } from "../../ports/handler.ts";
import type { Jobs } from "../../ports/jobs.ts";
import type { Json, JsonInput } from "../../ports/json.ts";
import type { LogFields, LogLevel } from "../../ports/log.ts";
import type { Completion } from "../../ports/store.ts";
import type { Tx } from "../../ports/tx.ts";
import { describeError } from "../describe_error.ts";
import { cutText, fieldsLength, LINE_MAX, PROGRESS_MS } from "../bounds.ts";
import { errorAsJson, errorFromJson, isKnownError } from "../error_transfer.ts";
import { AttemptContext, type ContextJob, type ContextSink } from "../job_context.ts";
import type { JobOrder } from "../jobs/job_order.ts";
import { RemoteJobs } from "../jobs/remote_jobs.ts";
import { runStatement } from "../jobs/run_statement.ts";
import { outcomeOfThrown } from "../outcome.ts";
import { OutputLimit } from "../output_limit.ts";
import { type PlainContext, runHandler, runPlain } from "../run_handler.ts";
import { currentJob, type GuardedJob, guardThread } from "./guard_thread.ts";
import { type LoadError, loadHandler } from "./load_handler.ts";
import { type Command, COUNTER, type Report, SLOT, SLOTS_AT, type ThreadSetup } from "./protocol.ts";

/** How long jobs are started without a look at what else there is to do, in ms. */
const SLICE_MS = 10;

// Kept before a handler can replace them.
const post: (reports: Report[]) => void = self.postMessage.bind(self);
const later: (callback: () => void) => unknown = setImmediate;
const laterBy: (callback: () => void, ms: number) => unknown = setTimeout;

type Run = Extract<Command, readonly ["run", ...unknown[]]>;

interface LoadedKind {
  readonly name: string;
  readonly module: string;
  handler: Handler | null;
  /** What waits for the module; null while it is not being loaded. */
  waiting: Waiting[] | null;
}

/** A job whose module was not loaded when it came. */
interface Waiting {
  readonly job: Job;
  readonly args: string;
  readonly plain: boolean;
}

/** A job whose module is loaded, and whose turn has not come. */
type Ready = Waiting & { readonly handler: Handler };

/** One job, and where its context hands on what it asks for. */
class Job implements ContextJob, GuardedJob, ContextSink {
  readonly context: AttemptContext;
  started = false;
  ended = false;
  #progress: Report | null = null;
  #progressAt = -Infinity;

  constructor(
    readonly key: number,
    readonly slot: number,
    readonly id: string,
    readonly run: number,
    readonly kind: string,
    readonly queue: string,
    readonly attempt: number,
    readonly maxAttempts: number,
    readonly timeoutMs: number,
    readonly main: ThreadMain,
  ) {
    this.context = new AttemptContext(this, this);
  }

  get completion(): Completion | null {
    return this.main.completion;
  }

  get jobs(): Jobs {
    return new RemoteJobs({
      place: (order, tx) => this.main.order(this.key, order, tx),
      transaction: this.main.completion?.transaction ?? null,
    });
  }

  // Only the newest counts, so no more of it is told than somebody could see.
  progress(done: number, note: string | undefined): void {
    if (this.ended) return;
    const waits = this.#progress !== null;
    this.#progress = ["progress", this.key, done, note];
    if (waits) return;
    const restMs = this.#progressAt + PROGRESS_MS - performance.now();
    if (restMs <= 0) this.tellProgress();
    else laterBy(() => this.tellProgress(), restMs);
  }

  /** Tells what progress has not been told yet. */
  tellProgress(): void {
    if (this.#progress === null) return;
    if (!this.ended) this.main.report(this.#progress);
    this.#progress = null;
    this.#progressAt = performance.now();
  }

  log(level: LogLevel, event: string, fields: LogFields): void {
    this.main.log(level, event, { ...fields, kind: this.kind, jobId: this.id });
  }

  call(module: string, input: JsonInput, options: CallOptions | undefined): Promise<Json> {
    return this.main.call(this.key, module, input, options);
  }
}

/** The transaction of an order that is under way. */
interface OrderTransaction {
  readonly tx: Tx;
  /** What the driver threw last: its own error is worth more than what is told of it. */
  thrown: unknown;
}

class ThreadMain {
  #shared: Int32Array;
  readonly completion: Completion | null;
  #kinds: LoadedKind[] = [];
  #jobs = new Map<number, Job>();
  #inbox: Run[] = [];
  #inboxAt = 0;
  /** These came before whatever the inbox holds. */
  #ready: Ready[] = [];
  #readyAt = 0;
  #running = false;
  #reports: Report[] = [];
  #flushDue = false;
  #calls = new Map<number, PromiseWithResolvers<Json>>();
  #transactions = new Map<number, OrderTransaction>();
  #callCount = 0;
  #limit = new OutputLimit((lines) => {
    this.report([
      "log",
      "warn",
      "lines that handlers of a thread printed or logged were dropped: they came too fast",
      {
        lines,
      },
    ]);
  });

  constructor(setup: ThreadSetup) {
    this.#shared = new Int32Array(setup.shared);
    this.completion = setup.completion;
    guardThread({
      crashed: (job, thrown) => this.#crashed(job as Job, thrown),
      unattributed: (thrown) => this.#unattributed(thrown),
      exiting: (job, what) => {
        this.#reports.push(["exit", (job as Job | undefined)?.key ?? null, what]);
        this.#flush();
      },
      output: (job, line) => this.#output(job, cutText(line, LINE_MAX)),
    });
  }

  /** Lines beyond the bound are dropped where they come from: on their way they would fill the memory that all share. */
  log(level: LogLevel, event: string, fields: LogFields): void {
    if (this.#limit.passes(fieldsLength(event, fields))) this.report(["log", level, event, fields]);
  }

  #output(job: GuardedJob | undefined, line: string): void {
    if (this.#limit.passes(line.length)) this.report(["output", job?.kind ?? "", job?.id ?? "", line]);
  }

  take(commands: readonly Command[]): void {
    Atomics.add(this.#shared, COUNTER.consumed, 1);
    Atomics.add(this.#shared, COUNTER.progress, 1);
    for (const command of commands) {
      switch (command[0]) {
        case "run":
          this.#inbox.push(command);
          break;
        case "kind":
          this.#kinds[command[1]] = { name: command[2], module: command[3], handler: null, waiting: null };
          break;
        case "abort":
          this.#jobs.get(command[1])?.context.abort(command[2]);
          break;
        case "called":
          this.#called(command[1], command[2], command[3]);
          break;
        case "statement":
          this.#runStatement(command);
          break;
        case "check":
          this.#check(command[1], command[2]);
          break;
      }
    }
    if (!this.#running && this.#inbox.length > 0) this.#runInbox();
  }

  // A handler that computes keeps the thread: what has ended meanwhile is reported, and messages are taken,
  // between such jobs and not after all of them.
  #runInbox(): void {
    this.#running = true;
    const end = performance.now() + SLICE_MS;
    while (this.#startNext()) {
      if (performance.now() >= end) return this.#runInboxLater();
    }
    this.#trim();
    this.#running = false;
  }

  #runInboxLater(): void {
    this.#running = true;
    this.#trim();
    later(() => {
      if (this.#reports.length > 0) this.#flush();
      this.#runInbox();
    });
  }

  /** Lets go of what was started. */
  #trim(): void {
    this.#inbox = this.#inboxAt === this.#inbox.length ? [] : this.#inbox.slice(this.#inboxAt);
    this.#ready = this.#readyAt === this.#ready.length ? [] : this.#ready.slice(this.#readyAt);
    this.#inboxAt = this.#readyAt = 0;
  }

  /** False when there is nothing left. */
  #startNext(): boolean {
    const isReady = this.#readyAt < this.#ready.length;
    if (!isReady && this.#inboxAt === this.#inbox.length) return false;
    Atomics.add(this.#shared, COUNTER.progress, 1);
    if (isReady) this.#startReady(this.#ready[this.#readyAt++]!);
    else this.#start(this.#inbox[this.#inboxAt++]!);
    return true;
  }

  #start(command: Run): void {
    const [, slot, key, kindIndex, id, run, queue, attempt, maxAttempts, timeoutMs, args, plain] = command;
    const kind = this.#kinds[kindIndex]!;
    const { handler } = kind;
    if (!this.#moveSlot(slot, SLOT.queued, handler === null ? SLOT.loading : SLOT.started)) return;
    const job = new Job(key, slot, id, run, kind.name, queue, attempt, maxAttempts, timeoutMs, this);
    this.#jobs.set(key, job);
    currentJob.run(job, () => {
      if (handler !== null) this.#runJob(job, handler, args, plain);
      else this.#load(kind, { job, args, plain });
    });
  }

  #startReady({ job, handler, args, plain }: Ready): void {
    // What its module left behind may have ended it.
    if (job.ended) return;
    if (!this.#moveSlot(job.slot, SLOT.queued, SLOT.started)) return this.#forget(job);
    currentJob.run(job, () => this.#runJob(job, handler, args, plain));
  }

  #load(kind: LoadedKind, one: Waiting): void {
    if (kind.waiting !== null) {
      kind.waiting.push(one);
      return;
    }
    const waiting = kind.waiting = [one];
    loadHandler(kind.module).then((handler) => {
      kind.waiting = null;
      kind.handler = handler;
      for (const each of waiting) this.#loaded(each, handler);
      if (!this.#running) this.#runInboxLater();
    }, (error: LoadError) => {
      kind.waiting = null;
      for (const { job } of waiting) this.#unloaded(job, error);
    });
  }

  #loaded(waiting: Waiting, handler: Handler): void {
    const { job } = waiting;
    if (job.ended) return;
    if (this.#moveSlot(job.slot, SLOT.loading, SLOT.queued)) this.#ready.push({ ...waiting, handler });
    else this.#forget(job);
  }

  #unloaded(job: Job, error: LoadError): void {
    if (job.ended) return;
    this.#forget(job);
    if (!this.#moveSlot(job.slot, SLOT.loading, SLOT.loading)) return;
    this.report(["unloaded", job.key, error.message, describeError(error).stack]);
  }

  /** Changes the state of a slot. False when the job was withdrawn, which frees the slot. */
  #moveSlot(slot: number, from: number, to: number): boolean {
    if (Atomics.compareExchange(this.#shared, SLOTS_AT + slot, from, to) === from) return true;
    this.report(["withdrawn", slot]);
    return false;
  }

  #runJob(job: Job, handler: Handler, args: string, plain: boolean): void {
    job.started = true;
    Atomics.store(this.#shared, COUNTER.everStarted, 1);
    Atomics.store(this.#shared, COUNTER.current, job.slot + 1);
    const ending = plain
      ? runPlain(handler as (input: Json, context: PlainContext) => unknown, args, job.context)
      : runHandler(handler, args, job.context);
    Atomics.store(this.#shared, COUNTER.current, 0);
    ending.then((outcome) => {
      if (job.ended) return;
      job.tellProgress();
      this.#forget(job);
      if (outcome.type === "completed") {
        this.report(["completed", job.key, outcome.output, outcome.completedIn]);
      } else this.report(["ended", job.key, outcome]);
    });
  }

  #check(check: number, module: string): void {
    const loader: GuardedJob = { kind: "", id: "", started: false, ended: false };
    currentJob.run(loader, () => {
      loadHandler(module).then(
        () => this.report(["checked", check, null]),
        (error: LoadError) => this.report(["checked", check, error.fault]),
      );
    });
  }

  #crashed(job: Job, thrown: unknown): void {
    // It has ended, or it is no job but a module that is only being checked.
    if (this.#jobs.get(job.key) !== job) {
      const { message, stack } = describeError(thrown);
      this.report(["log", "warn", "error after the job had ended", {
        kind: job.kind,
        jobId: job.id,
        error: message,
        stack,
      }]);
      return;
    }
    this.#forget(job);
    this.report(["ended", job.key, outcomeOfThrown(thrown, "crash")]);
    // Its code may still run: let it see that nobody waits for it.
    job.context.abort("crash");
  }

  #unattributed(thrown: unknown): void {
    const jobs = [...this.#jobs.values()];
    if (jobs.length === 1) return this.#crashed(jobs[0]!, thrown);
    const { message, stack } = describeError(thrown);
    this.report(["log", "error", "error in a thread that can't be told to any job", {
      error: message,
      stack,
    }]);
  }

  #forget(job: Job): void {
    job.ended = true;
    // An attempt that was taken away while it waited for its module may have come back.
    if (this.#jobs.get(job.key) === job) this.#jobs.delete(job.key);
  }

  call(key: number, module: string, input: JsonInput, options: CallOptions | undefined): Promise<Json> {
    const call = ++this.#callCount;
    const deferred = Promise.withResolvers<Json>();
    this.#calls.set(call, deferred);
    this.report(["call", key, call, module, input, options]);
    return deferred.promise;
  }

  order(key: number, order: JobOrder, tx: Tx | null): Promise<Json> {
    const call = ++this.#callCount;
    const deferred = Promise.withResolvers<Json>();
    this.#calls.set(call, deferred);
    if (tx !== null) this.#transactions.set(call, { tx, thrown: undefined });
    this.report(["jobs", key, call, order, tx !== null]);
    return deferred.promise;
  }

  #runStatement(
    [, call, statement, text, params, options]: Extract<Command, readonly ["statement", ...unknown[]]>,
  ) {
    const transaction = this.#transactions.get(call);
    if (transaction === undefined) return;
    runStatement(transaction.tx, text, params, options).then(
      (rows) => this.report(["rows", statement, true, rows]),
      (thrown) => {
        transaction.thrown = thrown;
        this.report(["rows", statement, false, errorAsJson(thrown)]);
      },
    );
  }

  #called(call: number, ok: boolean, value: Json): void {
    const deferred = this.#calls.get(call);
    const thrown = this.#transactions.get(call)?.thrown;
    this.#calls.delete(call);
    this.#transactions.delete(call);
    if (ok) deferred?.resolve(value);
    else if (thrown === undefined) deferred?.reject(errorFromJson(value));
    else {deferred?.reject(
        isKnownError(value) ? Object.assign(errorFromJson(value), { cause: thrown }) : thrown,
      );}
  }

  report(report: Report): void {
    this.#reports.push(report);
    if (this.#flushDue) return;
    this.#flushDue = true;
    later(() => this.#flush());
  }

  #flush(): void {
    this.#flushDue = false;
    if (this.#reports.length === 0) return;
    const reports = this.#reports;
    this.#reports = [];
    post(reports);
  }
}

let main: ThreadMain | undefined;
// Not through onmessage, which a handler could set to something else.
self.addEventListener("message", (event: MessageEvent<ThreadSetup | Command[]>) => {
  if (main !== undefined) return main.take(event.data as Command[]);
  main = new ThreadMain(event.data as ThreadSetup);
  post([["ready"]]);
});
