import type { Inspector } from "./inspector.ts";
import type { FinalState, JobId } from "./job.ts";
import type { Jobs } from "./jobs.ts";
import type { Json } from "./json.ts";

/** The result of {@linkcode Runtime.wait}. */
export type WaitResult =
  | {
    readonly done: false;
    /**
     * - `timeout`: `maxMs` passed, and the job has not ended
     * - `gone`: the job doesn't exist: it was purged, its transaction was rolled back, or it never existed
     * - `stopped`: the runtime is stopping
     */
    readonly reason: "timeout" | "gone" | "stopped";
  }
  | {
    readonly done: true;
    /** How the job ended. */
    readonly state: FinalState;
    /** What its handler returned; null when it returned nothing. */
    readonly output: Json;
    /** The last error's message; null when there is none. */
    readonly error: string | null;
  };

/** Options for ending a wait early. */
export interface WaitOptions {
  /** Ends the wait when it aborts; the promise rejects with its reason. */
  readonly signal?: AbortSignal;
}

/** Enqueues and inspects jobs and, once started, works them. */
export interface Runtime extends Jobs, Inspector, AsyncDisposable {
  /**
   * Resolves with a job's final state. Otherwise resolves with the reason: `maxMs` passed, the runtime stopped, or the
   * job is certain to be gone. A missing job is known to be gone at once, unless open transactions might still bring
   * it: then once all of them have ended. Any number of waits may be in progress; those for the same job share a
   * waiter.
   *
   * @throws {InvalidOptionError} if the id is not a string, `maxMs` is negative or not a number, or the signal is not
   * an `AbortSignal`.
   */
  wait(id: JobId, maxMs: number, options?: WaitOptions): Promise<WaitResult>;

  /**
   * Starts working jobs. Checks the schema's version and that every handler module loads; it migrates nothing.
   *
   * @throws {CompositionError} if a handler module does not load; lists all that don't.
   * @throws {SchemaVersionError} if the schema is not the one that this program needs.
   * @throws {RuntimeStateError} if it was stopped; a runtime starts only once.
   */
  start(): Promise<void>;

  /**
   * Stops claiming, waits up to the grace for running jobs, then aborts them; jobs that did not end go back in line
   * immediately without spending an attempt. Idempotent, and safe before `start()`.
   */
  stop(): Promise<void>;
}

/**
 * A component that works alongside the jobs in a started runtime. It starts before the first job is claimed and stops
 * before the last job ends.
 */
export interface Service {
  /** Checks that it can work. If it throws, the runtime does not start. */
  open(): Promise<void>;
  /** Starts. If it throws, the runtime does not start, and `start()` may be called again. */
  start(): Promise<void>;
  /** Stops. Idempotent, and safe before `start()`. */
  stop(): Promise<void>;
}
