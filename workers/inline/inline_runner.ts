import type { Attempt, AttemptObserver, AttemptOutcome } from "../../ports/executor.ts";
import type { CallOptions, Handler } from "../../ports/handler.ts";
import type { Jobs } from "../../ports/jobs.ts";
import type { Json, JsonInput } from "../../ports/json.ts";
import type { Log, LogFields, LogLevel } from "../../ports/log.ts";
import type { Completion } from "../../ports/store.ts";
import { AttemptContext, type ContextJob, type ContextSink } from "../job_context.ts";
import { type AbortCause, endedByForce, outcomeAfterAbort } from "../outcome.ts";
import { runHandler } from "../run_handler.ts";
import { Sweep } from "../sweep.ts";
import type { WorkSurroundings } from "../work.ts";

/** How functions are run in the main thread. */
export interface InlineRunnerOptions {
  /** How long an aborted function has, in ms. */
  readonly graceMs: number;
  /** Above how long a stand-still of the loop is logged, in ms. */
  readonly standstillMs: number;
  /** The statements for handlers' own transactions; null where there are none. */
  readonly completion: Completion | null;
  /** What handlers enqueue through. */
  readonly jobs: () => Jobs;
  /** Where it logs. */
  readonly log: Log;
  /** What handlers do beside ending. */
  readonly surroundings: Omit<WorkSurroundings, "jobs">;
}

/** One function that runs, and where its context hands on what it asks for. */
class Running implements ContextSink {
  readonly key: number;
  readonly attempt: Attempt;
  readonly observer: AttemptObserver;
  readonly context: AttemptContext;
  readonly completion: Completion | null;
  readonly startedAt: number = performance.now();
  aborted: AbortCause | null = null;
  graceEndsAt = 0;
  ended = false;
  /** Aborted when its calls must end; null while it has made none. */
  calls: AbortController | null = null;
  readonly #job: ContextJob;
  readonly #surroundings: Omit<WorkSurroundings, "jobs">;
  readonly #jobs: () => Jobs;

  constructor(key: number, attempt: Attempt, observer: AttemptObserver, options: InlineRunnerOptions) {
    this.key = key;
    this.attempt = attempt;
    this.observer = observer;
    this.completion = options.completion;
    this.#surroundings = options.surroundings;
    this.#jobs = options.jobs;
    const { id, run, kind, queue, maxAttempts } = attempt;
    const job: ContextJob = {
      id,
      run,
      kind: kind.name,
      queue,
      attempt: attempt.attempt,
      maxAttempts,
      timeoutMs: kind.timeout,
    };
    this.#job = job;
    this.context = new AttemptContext(job, this);
  }

  get jobs(): Jobs {
    return this.#jobs();
  }

  progress(done: number, note: string | undefined): void {
    if (!this.ended) this.observer.progress(done, note);
  }

  log(level: LogLevel, event: string, fields: LogFields): void {
    const { kind, id } = this.attempt;
    this.#surroundings.log(level, event, { ...fields, kind: kind.name, jobId: id });
  }

  call(module: string, input: JsonInput, options: CallOptions | undefined): Promise<Json> {
    if (this.ended || this.aborted !== null) {
      return Promise.reject(new Error(`Cannot call ${module}: the attempt is over, or was told to end`));
    }
    this.calls ??= new AbortController();
    return this.#surroundings.call(this.#job, { module, input, options }, this.calls.signal);
  }
}

const SWEEP_MS = 25;

/**
 * Runs functions in the main thread. Their limit is cooperative: the signal aborts, and a function that has not ended
 * after the grace too gives its slot up, is reported as timed out, and runs on.
 */
export class InlineRunner {
  #options: InlineRunnerOptions;
  #running = new Map<number, Running>();
  #keys = 0;
  #sweep: Sweep = new Sweep(SWEEP_MS, () => this.#look());
  #lookedAt = 0;
  #kindsSeen = new Set<string>();

  /** Makes the runner. */
  constructor(options: InlineRunnerOptions) {
    this.#options = options;
  }

  /** How many functions run. */
  get running(): number {
    return this.#running.size;
  }

  /** Runs one attempt. Returns a key for {@linkcode InlineRunner.abort}. */
  run(attempt: Attempt, handler: Handler, observer: AttemptObserver): number {
    const running = new Running(++this.#keys, attempt, observer, this.#options);
    this.#running.set(running.key, running);
    if (this.#running.size === 1 && this.#kindsSeen.size === 0) this.#lookedAt = performance.now();
    this.#kindsSeen.add(attempt.kind.name);
    this.#sweep.arm();
    // Not in the caller's own turn: a handler that computes must not hold up whoever hands over the next attempt.
    queueMicrotask(() => {
      if (running.ended) return;
      runHandler(handler, attempt.args, running.context).then((outcome) => {
        this.#end(running, outcomeAfterAbort(outcome, running.aborted, attempt.kind.timeout));
      });
    });
    return running.key;
  }

  /** Aborts a run's signal. */
  abort(key: number, cause: AbortCause): void {
    const running = this.#running.get(key);
    if (running !== undefined) this.#abort(running, cause, performance.now());
  }

  /** Reports what still runs as released. */
  stop(): void {
    this.#sweep.stop();
    for (const running of [...this.#running.values()]) {
      running.context.abort("stop");
      this.#end(running, { type: "released", reason: "the executor stopped", alone: false });
    }
  }

  #abort(running: Running, cause: AbortCause, now: number): void {
    if (running.aborted !== null) return;
    running.aborted = cause;
    running.graceEndsAt = now + this.#options.graceMs;
    running.context.abort(cause);
    running.calls?.abort();
  }

  #end(running: Running, outcome: AttemptOutcome): void {
    if (running.ended) return;
    running.ended = true;
    running.calls?.abort();
    this.#running.delete(running.key);
    running.observer.ended(outcome);
  }

  #look(): boolean {
    const now = performance.now();
    const { log, graceMs, standstillMs } = this.#options;
    if (now - this.#lookedAt > standstillMs) {
      const kinds = [...this.#kindsSeen].join(", ");
      const ms = Math.round(now - this.#lookedAt);
      log.warn("the main loop stood still: a handler that computes belongs into a module", { ms, kinds });
    }
    this.#lookedAt = now;
    this.#kindsSeen = new Set([...this.#running.values()].map(({ attempt }) => attempt.kind.name));
    for (const running of [...this.#running.values()]) {
      const { attempt: { id, kind }, aborted } = running;
      if (aborted === null) {
        if (now - running.startedAt >= kind.timeout) this.#abort(running, "timeout", now);
      } else if (now >= running.graceEndsAt) {
        log.warn("a function did not heed its signal: its slot is free, and it still runs", {
          kind: kind.name,
          jobId: id,
        });
        this.#end(running, endedByForce(aborted, kind.timeout, graceMs));
      }
    }
    return this.#running.size > 0;
  }
}
