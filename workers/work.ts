import type { AttemptOutcome, CallOptions, Json, LogFields, LogLevel } from "../ports/mod.ts";
import type { ContextJob } from "./job_context.ts";

/** One attempt of a handler module, as threads and host processes take it. */
export interface Work extends ContextJob {
  /** The handler module as a full specifier. */
  readonly module: string;
  /** The args as JSON text. */
  readonly args: string;
  /** Whether it gets a thread for itself. */
  readonly ownThread: boolean;
  /** Whether the module is no handler: its default export takes the input as it is, and no context. */
  readonly plain: boolean;
}

/** Told while work runs. `ended` is told exactly once, and nothing after it. */
export interface WorkObserver {
  /** The handler told its progress. */
  progress(done: number, note: string | undefined): void;
  /** It has ended. */
  ended(outcome: AttemptOutcome): void;
}

/** The job that a line of output or of the log belongs to; empty texts when that can't be told. */
export interface JobName {
  /** The kind. */
  readonly kind: string;
  /** The job's id. */
  readonly id: string;
}

/** What handlers do that is not an outcome, wherever they run. */
export interface WorkSurroundings {
  /** A line for the structured log. */
  log(level: LogLevel, event: string, fields: LogFields): void;
  /** A line that a handler printed. */
  output(job: JobName, line: string): void;
  /** A handler calls a module. */
  call(module: string, input: Json, options: CallOptions | undefined): Promise<Json>;
  /** A thread could not be ended. */
  threadLost(job: JobName): void;
}
