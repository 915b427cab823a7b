import type { FailureClass } from "./job.ts";
import type { CallOptions } from "./handler.ts";
import type { Json, JsonInput } from "./json.ts";
import type { Jobs } from "./jobs.ts";
import type { Kind } from "./kind.ts";

/** Why an attempt is told to end: `rescued` when this process was taken for dead, so that the job was given to another. */
export type AbortReason = "cancel" | "stop" | "rescued";

/** One attempt to be run. */
export interface Attempt {
  /** The job's id. */
  readonly id: string;
  /** The claim that this attempt belongs to; what is written for it is fenced by (id, run). */
  readonly run: number;
  /** The queue that the job came from. */
  readonly queue: string;
  /** Which try this is; 1 is the first. */
  readonly attempt: number;
  /** How many tries the job has in all. */
  readonly maxAttempts: number;
  /** The args as JSON text. `null` is seen as `{}`. */
  readonly args: string;
  /** Run it alone in a host process where its handler is a module: it may have killed a process before. */
  readonly alone: boolean;
  /** The kind's declaration. */
  readonly kind: Kind;
}

/** What came of an attempt. The executor only reports; the job layer decides what follows. */
export type AttemptOutcome =
  | {
    readonly type: "completed";
    /** What the handler returned, as JSON text; null when nothing. */
    readonly output: string | null;
    /** Whether it called `completeIn`: then its own transaction has completed the job, or has failed to. */
    readonly completedIn: boolean;
  }
  | { readonly type: "snoozed"; readonly delayMs: number }
  | { readonly type: "discarded"; readonly reason: string }
  | {
    readonly type: "failed";
    readonly class: FailureClass;
    readonly message: string;
    readonly stack?: string;
  }
  | {
    /** It is not to blame, or never started: put back without spending an attempt. */
    readonly type: "released";
    /** What happened, for the log. */
    readonly reason: string;
    /** Run it alone next time, since it shared what died. */
    readonly alone: boolean;
  };

/** Told while an attempt runs. `ended` is told exactly once, and nothing after it. */
export interface AttemptObserver {
  /** The handler told its progress. */
  progress(done: number, note: string | undefined): void;
  /** The attempt has ended; its slot is free. */
  ended(outcome: AttemptOutcome): void;
}

/** A thread that could not be ended and may burn a core for as long as the process lives. */
export interface LostThread {
  /** The kind of the job that holds it. */
  readonly kind: string;
  /** The job that holds it. */
  readonly jobId: string;
  /** How many this process has lost so far. */
  readonly lost: number;
}

/** What an executor has at hand. */
export interface ExecutorStats {
  /** Threads of this process that take jobs. */
  readonly threads: number;
  /** Host processes. */
  readonly hosts: number;
  /** Threads that could not be ended. */
  readonly lostThreads: number;
  /** Attempts that have not ended. */
  readonly running: number;
}

/** Runs attempts, reports their outcomes, ends them. It knows handlers, threads and processes, and no queue. */
export interface Executor {
  /** Loads the handler module of every kind where it will run; resolves to one sentence for each that fails. */
  check(kinds: readonly Kind[]): Promise<string[]>;

  /** Makes ready. Threads are started when first needed. */
  start(options: ExecutorStart): void;

  /**
   * Runs one attempt. Calls made in one tick travel in one message. It enforces the kind's timeout, counted from the
   * handler's start, and the grace after it. Returns a key for {@linkcode Executor.abort}.
   */
  run(attempt: Attempt, observer: AttemptObserver): number;

  /**
   * Aborts the signal of a running attempt. What does not end within the grace is ended, and reported as failed with
   * class `timeout` (cancel) or as released (stop, rescued). Nothing happens when the attempt has ended.
   */
  abort(key: number, reason: AbortReason): void;

  /** Runs a module's default export in a host process of its own permissions. */
  call(module: string | URL, input: JsonInput, options?: CallOptions): Promise<Json>;

  /** How many more attempts of handler modules would begin at once. What is beyond waits, though it counts as started. */
  room(): number;

  /** What is at hand now. */
  stats(): ExecutorStats;

  /** Ends every thread and host process. Attempts that still run are reported as released first. Idempotent. */
  stop(): Promise<void>;
}

/** What the runtime tells an executor at its start. */
export interface ExecutorStart {
  /** Called for each thread that could not be ended. */
  readonly onThreadLost: (thread: LostThread) => void;
  /** What handlers enqueue through. Absent, they can't. */
  readonly jobs?: Jobs;
}
