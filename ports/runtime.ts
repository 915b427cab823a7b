import type { Inspector } from "./inspector.ts";
import type { FinalState, JobId } from "./job.ts";
import type { Jobs } from "./jobs.ts";
import type { Json } from "./json.ts";

/** What {@linkcode Runtime.wait} answers. */
export type WaitResult =
  | {
    readonly done: false;
    /**
     * - `timeout`: the time is up, and the job has not ended
     * - `gone`: there is no such job: it was purged, its transaction was rolled back, or there never was one
     * - `stopped`: the runtime stops
     */
    readonly reason: "timeout" | "gone" | "stopped";
  }
  | {
    readonly done: true;
    /** How the job ended. */
    readonly state: FinalState;
    /** What its handler returned; null when there is nothing. */
    readonly output: Json;
    /** The last error's message; null when there is none. */
    readonly error: string | null;
  };

/** How a wait may end early. */
export interface WaitOptions {
  /** Ends the wait when it aborts, which rejects with its reason. */
  readonly signal?: AbortSignal;
}

/** Enqueues, inspects and, once started, works. */
export interface Runtime extends Jobs, Inspector, AsyncDisposable {
  /**
   * Resolves with the final state of a job, or with the reason why there is none: after `maxMs`, at a stop, or once it is
   * certain that the job is gone. That is so at once, unless transactions are open of which one may be the job's own: then
   * when all of these have ended. Any number of waits may be under way; those on one job share a waiter.
   *
   * @throws {InvalidOptionError} the id is no text, `maxMs` is below 0 or no number, or the signal is none.
   */
  wait(id: JobId, maxMs: number, options?: WaitOptions): Promise<WaitResult>;

  /**
   * Starts to work. It checks the schema's version and that every handler module loads, and migrates nothing.
   *
   * @throws {CompositionError} a handler module does not load; all that do not are listed.
   * @throws {SchemaVersionError} the schema is not the one that this program needs.
   * @throws {RuntimeStateError} it was stopped; a runtime starts once.
   */
  start(): Promise<void>;

  /**
   * Claims no more, waits up to the grace for running jobs, then aborts them; what did not end is back in line at
   * once without having spent an attempt. Idempotent, and safe before `start()`.
   */
  stop(): Promise<void>;
}

/** A part that works beside the jobs in a started runtime: begun before any of them is claimed, ended before the last ends. */
export interface Service {
  /** Checks that it can work. Throws when it can't; then the runtime does not start. */
  open(): Promise<void>;
  /** Begins. When it throws the runtime does not start, and `start()` may be called again. */
  start(): Promise<void>;
  /** Ends what it does. Idempotent, and safe before `start()`. */
  stop(): Promise<void>;
}
