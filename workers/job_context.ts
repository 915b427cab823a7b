import { FenceLostError, InvalidOptionError, sqlStateOf, TransactionConflictError } from "../ports/errors.ts";
import type { CallOptions, JobContext } from "../ports/handler.ts";
import type { Jobs } from "../ports/jobs.ts";
import type { Json, JsonInput } from "../ports/json.ts";
import { CALL_BYTES_MAX, OUTPUT_BYTES_MAX } from "../ports/limits.ts";
import type { Log, LogFields, LogLevel } from "../ports/log.ts";
import type { Completion } from "../ports/store.ts";
import { checkTx, type Tx, type TxParam, type TxRow } from "../ports/tx.ts";
import { toJsonText } from "../shared/json_text.ts";
import { boundedFields, cutText, LOG_TEXT_MAX } from "./bounds.ts";
import { keepableText } from "./describe_error.ts";
import { type AbortCause, signalReason } from "./outcome.ts";

/** What a context is about. */
export interface ContextJob {
  /** The job's id. */
  readonly id: string;
  /** The claim. */
  readonly run: number;
  /** The kind's name. */
  readonly kind: string;
  /** The queue. */
  readonly queue: string;
  /** Which try. */
  readonly attempt: number;
  /** How many tries in all. */
  readonly maxAttempts: number;
  /** The limit of the attempt, in ms. */
  readonly timeoutMs: number;
}

/** Where a context hands on what the handler asks for. */
export interface ContextSink {
  /** The statements for a handler's own transaction; null where the store has none. */
  readonly completion: Completion | null;
  /** What the handler enqueues through. */
  readonly jobs: Jobs;
  /** The handler told its progress. */
  progress(done: number, note: string | undefined): void;
  /** The handler logged. */
  log(level: LogLevel, event: string, fields: LogFields): void;
  /** The handler calls a module in a host process. */
  call(module: string, input: JsonInput, options: CallOptions | undefined): Promise<Json>;
}

/** The context of one attempt. What costs something is made when it is first asked for. */
export class AttemptContext implements JobContext {
  /** The job's id. */
  readonly id: string;
  /** The kind's name. */
  readonly kind: string;
  /** The queue that the job came from. */
  readonly queue: string;
  /** Which try this is. */
  readonly attempt: number;
  /** How many tries there are. */
  readonly maxAttempts: number;
  #job: ContextJob;
  #sink: ContextSink;
  #controller: AbortController | null = null;
  #aborted: AbortCause | null = null;
  #log: Log | null = null;
  #jobs: Jobs | null = null;
  #completedIn = false;

  /** Makes the context of one attempt. */
  constructor(job: ContextJob, sink: ContextSink) {
    this.#job = job;
    this.#sink = sink;
    this.id = job.id;
    this.kind = job.kind;
    this.queue = job.queue;
    this.attempt = job.attempt;
    this.maxAttempts = job.maxAttempts;
  }

  // Handlers take methods off the context (`const { progress } = ctx`), and few take any: so they are bound when asked for.

  /** As {@linkcode JobContext.progress} says. */
  get progress(): JobContext["progress"] {
    return (done, note) => this.#progress(done, note);
  }

  /** As {@linkcode JobContext.completeIn} says. */
  get completeIn(): JobContext["completeIn"] {
    return (tx, output) => this.#completeIn(tx, output);
  }

  /** As {@linkcode JobContext.jobs} says. */
  get jobs(): Jobs {
    return this.#jobs ??= this.#sink.jobs;
  }

  /** As {@linkcode JobContext.call} says. */
  get call(): JobContext["call"] {
    return (module, input, options) => this.#call(module, input, options);
  }

  /** Whether {@linkcode AttemptContext.completeIn} ran its statement. */
  get completedIn(): boolean {
    return this.#completedIn;
  }

  /** Aborts at the timeout, at a cancel, at a stop. */
  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#aborted !== null) {
        this.#controller.abort(signalReason(this.#aborted, this.#job.timeoutMs));
      }
    }
    return this.#controller.signal;
  }

  /** A log whose lines carry kind and id. */
  get log(): Log {
    const at = (level: LogLevel) => (event: string, fields: LogFields = {}): void =>
      this.#sink.log(level, cutText(String(event), LOG_TEXT_MAX), boundedFields(fields));
    return this.#log ??= { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  }

  /** Aborts the signal. The first cause stays. */
  abort(cause: AbortCause): void {
    if (this.#aborted !== null) return;
    this.#aborted = cause;
    this.#controller?.abort(signalReason(cause, this.#job.timeoutMs));
  }

  #progress(done: number, note: string | undefined): void {
    if (!(typeof done === "number" && done >= 0 && done <= 1)) {
      throw new InvalidOptionError("progress", done, "a number from 0 to 1");
    }
    this.#sink.progress(done, note === undefined ? undefined : keepableText(String(note)));
  }

  async #completeIn(tx: Tx, output: JsonInput | undefined): Promise<void> {
    if (this.#sink.completion === null) {
      throw new Error(
        `Cannot complete job ${this.id} in a transaction: this store has none that a handler could share`,
      );
    }
    if (this.#completedIn) {
      throw new Error(`Cannot complete job ${this.id} twice: completeIn has written its completion already`);
    }
    const text = output === undefined || output === null
      ? null
      : toJsonText(output, { name: "output", maxBytes: OUTPUT_BYTES_MAX });
    checkTx(tx, `complete job ${this.id}`);
    const rows = await complete(tx, this.#sink.completion.text, [this.id, this.#job.run, text]);
    if (rows.length === 0) throw new FenceLostError(this.id);
    this.#completedIn = true;
  }

  async #call(module: string | URL, input: JsonInput, options: CallOptions | undefined): Promise<Json> {
    // Found here and not on the way to the host process, where an answer could get lost.
    toJsonText(input, { name: "input", maxBytes: CALL_BYTES_MAX });
    return await this.#sink.call(String(module), input, options);
  }
}

/** In REPEATABLE READ a cancel that came since the transaction began is a conflict, whatever the driver's error is. */
async function complete(tx: Tx, completion: string, params: TxParam[]): Promise<readonly TxRow[]> {
  try {
    return await tx.unsafe(completion, params);
  } catch (cause) {
    const state = sqlStateOf(cause);
    if (state?.startsWith("40")) throw new TransactionConflictError(state, { cause });
    throw cause;
  }
}
