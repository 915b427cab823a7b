import type { FailureClass } from "./job.ts";
import type { CallOptions } from "./handler.ts";
import type { Json, JsonInput } from "./json.ts";
import type { Jobs } from "./jobs.ts";
import type { Kind } from "./kind.ts";

/** Why an attempt must end. `rescued`: this process was taken for dead, and its job was given to another. */
export type AbortReason = "cancel" | "stop" | "rescued";

/** An attempt to run. */
export interface Attempt {
  /** The job's id. */
  readonly id: string;
  /** The claim that this attempt belongs to. Its writes are fenced by (id, run). */
  readonly run: number;
  /** The queue that the job came from. */
  readonly queue: string;
  /** The attempt's number; 1 is the first. */
  readonly attempt: number;
  /** How many attempts the job has in all. */
  readonly maxAttempts: number;
  /** The args as JSON text. The handler sees `null` as `{}`. */
  readonly args: string;
  /** Whether to run it alone in a host process, if its handler is a module: it may have killed a process before. */
  readonly alone: boolean;
  /** The kind's declaration. */
  readonly kind: Kind;
}

/** The result of an attempt. The executor only reports it; the job layer decides what follows. */
export type AttemptOutcome =
  | {
    readonly type: "completed";
    /** What the handler returned, as JSON text; null when it returned nothing. */
    readonly output: string | null;
    /** Whether the handler called `completeIn`: its own transaction has then completed the job, or has failed to. */
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
    /** The attempt is not to blame, or never started: the job goes back in line without spending an attempt. */
    readonly type: "released";
    /** What happened, for the log. */
    readonly reason: string;
    /** Whether to run it alone next time, because it shared a thread or host process that died. */
    readonly alone: boolean;
  };

/** Notified while an attempt runs. `ended` is called exactly once, and nothing is called after it. */
export interface AttemptObserver {
  /** The handler reported its progress. */
  progress(done: number, note: string | undefined): void;
  /** The attempt has ended; its slot is free. */
  ended(outcome: AttemptOutcome): void;
}

/** A thread that could not be terminated and may occupy a core for the rest of the process's life. */
export interface LostThread {
  /** The kind of the job that occupies it. */
  readonly kind: string;
  /** The job that occupies it. */
  readonly jobId: string;
  /** How many this process has lost so far. */
  readonly lost: number;
}

/** The executor's current resources. */
export interface ExecutorStats {
  /** Threads in this process that take jobs. */
  readonly threads: number;
  /** Host processes. */
  readonly hosts: number;
  /** Threads that could not be terminated. */
  readonly lostThreads: number;
  /** Attempts that have not ended. */
  readonly running: number;
}

/** Runs and ends attempts, and reports their outcomes. It knows handlers, threads and processes, but no queue. */
export interface Executor {
  /**
   * Loads every kind's handler module where it will run; resolves to one sentence for each module that fails to load.
   */
  check(kinds: readonly Kind[]): Promise<string[]>;

  /** Prepares the executor. Threads are started when first needed. */
  start(options: ExecutorStart): void;

  /**
   * Runs one attempt. Calls made in the same tick are sent in one message. Enforces the kind's timeout, measured from
   * the handler's start, and then the grace. Returns a key for {@linkcode Executor.abort}.
   */
  run(attempt: Attempt, observer: AttemptObserver): number;

  /**
   * Aborts the signal of a running attempt. An attempt that doesn't end within the grace is terminated, and reported as
   * failed with class `timeout` (for a cancel) or as released (for a stop or rescue). Does nothing when the attempt has
   * ended.
   */
  abort(key: number, reason: AbortReason): void;

  /** Runs a module's default export in a host process with its own permissions. */
  call(module: string | URL, input: JsonInput, options?: CallOptions): Promise<Json>;

  /**
   * How many more attempts of handler modules would begin immediately. Further attempts wait, although they count as
   * started.
   */
  room(): number;

  /** Returns the current resources. */
  stats(): ExecutorStats;

  /** Ends every thread and host process, after reporting the attempts that still run as released. Idempotent. */
  stop(): Promise<void>;
}

/** What the runtime passes to an executor at start. */
export interface ExecutorStart {
  /** Called for each thread that could not be terminated. */
  readonly onThreadLost: (thread: LostThread) => void;
  /** What handlers enqueue through. If absent, they can't enqueue. */
  readonly jobs?: Jobs;
}
