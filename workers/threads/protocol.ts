import type { AttemptOutcome } from "../../ports/executor.ts";
import type { CallOptions } from "../../ports/handler.ts";
import type { Json, JsonInput } from "../../ports/json.ts";
import type { LogFields, LogLevel } from "../../ports/log.ts";
import type { Completion } from "../../ports/store.ts";
import type { TxParam, TxStatementOptions } from "../../ports/tx.ts";
import type { JobOrder } from "../jobs/job_order.ts";
import type { AbortCause } from "../outcome.ts";

/**
 * What the two sides of a thread tell each other. Messages are arrays of tuples: one message carries all that one tick
 * has to say. Beside them both sides share a few integers, so that the main side can see what a thread that is busy
 * in synchronous code has started, and take back what it has not.
 */

/** The states of a slot in the shared memory. */
export const SLOT = {
  /** No job. */
  free: 0,
  /** Sent to the thread; the main side may still withdraw it. */
  queued: 1,
  /** Its handler has been called. */
  started: 2,
  /** Taken back by the main side; the thread skips it and frees the slot. */
  withdrawn: 3,
  /** Its handler module is being loaded. */
  loading: 4,
} as const;

/** Counters in the shared memory; the slots follow at {@linkcode SLOTS_AT}. */
export const COUNTER = {
  /** How many messages the thread has taken. */
  consumed: 0,
  /** Rises with every message taken, job started and turn of the thread's loop that it makes between jobs. */
  progress: 1,
  /** 1 + the slot whose handler's synchronous first part runs; 0 when none does. */
  current: 2,
  /** 1 once a handler has been called in the thread. */
  everStarted: 3,
} as const;

/** Where the slots begin in the shared memory. */
export const SLOTS_AT = 4;

/**
 * What the main side tells a thread. Orders for jobs are numbered with the calls. A statement is to be run in the transaction
 * of an order. The value of what failed is what `errorAsJson` makes of its error.
 */
export type Command =
  | readonly [type: "kind", index: number, kind: string, module: string]
  | readonly [
    type: "run",
    slot: number,
    key: number,
    kind: number,
    id: string,
    run: number,
    queue: string,
    attempt: number,
    maxAttempts: number,
    timeoutMs: number,
    args: string,
    plain: boolean,
  ]
  | readonly [type: "abort", key: number, cause: AbortCause]
  | readonly [type: "called", call: number, ok: boolean, value: Json]
  | readonly [
    type: "statement",
    call: number,
    statement: number,
    text: string,
    params: TxParam[],
    options: TxStatementOptions | undefined,
  ]
  | readonly [type: "check", check: number, module: string];

/** What a thread tells the main side. `key` names an attempt. */
export type Report =
  | readonly [type: "ready"]
  | readonly [type: "completed", key: number, output: string | null, completedIn: boolean]
  | readonly [type: "ended", key: number, outcome: AttemptOutcome]
  | readonly [type: "unloaded", key: number, message: string, stack: string | undefined]
  | readonly [type: "withdrawn", slot: number]
  | readonly [type: "progress", key: number, done: number, note: string | undefined]
  | readonly [type: "log", level: LogLevel, event: string, fields: LogFields]
  | readonly [type: "output", kind: string, id: string, line: string]
  | readonly [
    type: "call",
    key: number,
    call: number,
    module: string,
    input: JsonInput,
    options: CallOptions | undefined,
  ]
  | readonly [type: "jobs", key: number, call: number, order: JobOrder, isInTransaction: boolean]
  | readonly [type: "rows", statement: number, ok: boolean, value: Json]
  | readonly [type: "checked", check: number, fault: string | null]
  | readonly [type: "exit", key: number | null, what: string];

/** What a thread is given when it starts. */
export interface ThreadSetup {
  /** The counters and slots. */
  readonly shared: SharedArrayBuffer;
  /** The statements for handlers' own transactions. */
  readonly completion: Completion | null;
}
