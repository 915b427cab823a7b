import type { Attempt, AttemptObserver, Handler, Log } from "../../ports/mod.ts";
import { AttemptContext, type ContextJob } from "../job_context.ts";
import { type AbortCause, endedByForce, outcomeAfterAbort } from "../outcome.ts";
import { runHandler } from "../run_handler.ts";
import { runKey } from "../run_key.ts";
import { Sweep } from "../sweep.ts";
import type { WorkSurroundings } from "../work.ts";

/** How functions are run in the main thread. */
export interface InlineRunnerOptions {
  /** How long an aborted function has, in ms. */
  readonly graceMs: number;
  /** Above how long a stand-still of the loop is logged, in ms. */
  readonly standstillMs: number;
  /** The statement of `completeIn`; null where there is none. */
  readonly completion: string | null;
  /** Where it logs. */
  readonly log: Log;
  /** What handlers do beside ending. */
  readonly surroundings: WorkSurroundings;
}

interface Running {
  readonly job: ContextJob;
  readonly context: AttemptContext;
  readonly observer: AttemptObserver;
  readonly startedAt: number;
  aborted: AbortCause | null;
  graceEndsAt: number;
  ended: boolean;
}

const SWEEP_MS = 25;

/**
 * Runs functions in the main thread. Their limit is cooperative: the signal aborts, and a function that has not ended
 * after the grace too gives its slot up, is reported as timed out, and runs on.
 */
export class InlineRunner {
  #options: InlineRunnerOptions;
  #running = new Map<string, Running>();
  #sweep: Sweep = new Sweep(SWEEP_MS, () => this.#look());
  #lookedAt = 0;
  #kindsSeen = new Set<string>();

  /** Makes the runner. */
  constructor(options: InlineRunnerOptions) {
    this.#options = options;
  }

  /** Runs one attempt. */
  run(attempt: Attempt, handler: Handler, observer: AttemptObserver): void {
    const job: ContextJob = {
      id: attempt.id,
      run: attempt.run,
      kind: attempt.kind.name,
      queue: attempt.queue,
      attempt: attempt.attempt,
      maxAttempts: attempt.maxAttempts,
      timeoutMs: attempt.kind.timeout,
    };
    const { surroundings, completion } = this.#options;
    const context: AttemptContext = new AttemptContext(job, {
      completion,
      progress: (done, note) => {
        if (!running.ended) observer.progress(done, note);
      },
      log: (level, event, fields) =>
        surroundings.log(level, event, { ...fields, kind: job.kind, jobId: job.id }),
      call: (module, input, options) => surroundings.call(module, input, options),
    });
    const running: Running = {
      job,
      context,
      observer,
      startedAt: performance.now(),
      aborted: null,
      graceEndsAt: 0,
      ended: false,
    };
    this.#running.set(runKey(job.id, job.run), running);
    if (this.#running.size === 1 && this.#kindsSeen.size === 0) this.#lookedAt = performance.now();
    this.#kindsSeen.add(job.kind);
    this.#sweep.arm();
    // Not in the caller's own turn: a handler that computes must not hold up whoever hands over the next attempt.
    queueMicrotask(() => {
      if (running.ended) return;
      runHandler(handler, attempt.args, context).then((outcome) => {
        this.#end(running, () => outcomeAfterAbort(outcome, running.aborted, job.timeoutMs));
      });
    });
  }

  /** Aborts a run's signal. False when it is not here. */
  abort(id: string, run: number, cause: AbortCause): boolean {
    const running = this.#running.get(runKey(id, run));
    if (running === undefined) return false;
    this.#abort(running, cause, performance.now());
    return true;
  }

  /** Reports what still runs as released. */
  stop(): void {
    this.#sweep.stop();
    for (const running of [...this.#running.values()]) {
      running.context.abort("stop");
      this.#end(running, () => ({ type: "released", reason: "the executor stopped", alone: false }));
    }
  }

  #abort(running: Running, cause: AbortCause, now: number): void {
    if (running.aborted !== null) return;
    running.aborted = cause;
    running.graceEndsAt = now + this.#options.graceMs;
    running.context.abort(cause);
  }

  #end(running: Running, outcome: () => ReturnType<typeof outcomeAfterAbort>): void {
    if (running.ended) return;
    running.ended = true;
    this.#running.delete(runKey(running.job.id, running.job.run));
    running.observer.ended(outcome());
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
    this.#kindsSeen = new Set([...this.#running.values()].map(({ job }) => job.kind));
    for (const running of [...this.#running.values()]) {
      const { job, aborted } = running;
      if (aborted === null) {
        if (now - running.startedAt >= job.timeoutMs) this.#abort(running, "timeout", now);
      } else if (now >= running.graceEndsAt) {
        log.warn("a function did not heed its signal: its slot is free, and it still runs", {
          kind: job.kind,
          jobId: job.id,
        });
        this.#end(running, () => endedByForce(aborted, job.timeoutMs, graceMs));
      }
    }
    return this.#running.size > 0;
  }
}
