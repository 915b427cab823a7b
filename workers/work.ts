import type { AttemptOutcome } from "../ports/executor.ts";
import type { CallOptions } from "../ports/handler.ts";
import type { Json, JsonInput } from "../ports/json.ts";
import type { LogFields, LogLevel } from "../ports/log.ts";
import type { Tx } from "../ports/tx.ts";
import type { ContextJob } from "./job_context.ts";
import type { JobOrder } from "./jobs/job_order.ts";

/** One attempt of a handler module, as threads and host processes take it. */
export interface Work extends ContextJob {
  /** The handler module as a full specifier. */
  readonly module: string;
  /** The args as JSON text. */
  readonly args: string;
  /** Whether it gets a thread for itself. */
  readonly ownThread: boolean;
  /** Whether the module is no handler: its default export takes the input as it is, and nothing else but a signal. */
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

/** What a handler calls. */
export interface CallRequest {
  /** The module, as the handler named it. */
  readonly module: string;
  /** Its input. */
  readonly input: JsonInput;
  /** What it may do, and for how long. */
  readonly options: CallOptions | undefined;
}

/** What handlers do that is not an outcome, wherever they run. */
export interface WorkSurroundings {
  /** A line for the structured log. */
  log(level: LogLevel, event: string, fields: LogFields): void;
  /** A line that a handler printed. */
  output(job: JobName, line: string): void;
  /** The handler of this job calls a module. The call ends when the signal aborts: with the attempt, or when that must end. */
  call(job: ContextJob, request: CallRequest, signal: AbortSignal): Promise<Json>;
  /** The handler of this job has an order for the queue carried out, in the transaction where there is one. */
  jobs(job: ContextJob, order: JobOrder, tx: Tx | null): Promise<Json>;
  /** A thread could not be ended. */
  threadLost(job: JobName): void;
}
