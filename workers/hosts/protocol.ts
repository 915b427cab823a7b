import type { AttemptOutcome } from "../../ports/executor.ts";
import type { CallOptions } from "../../ports/handler.ts";
import type { Json, JsonInput } from "../../ports/json.ts";
import type { LogFields, LogLevel } from "../../ports/log.ts";
import type { Completion } from "../../ports/store.ts";
import type { TxParam, TxStatementOptions } from "../../ports/tx.ts";
import type { JobOrder } from "../jobs/job_order.ts";
import type { AbortCause } from "../outcome.ts";
import type { Work } from "../work.ts";

/** What a host process is told first. */
export interface HostSetup {
  /** What its frames begin with. */
  readonly token: string;
  /** Threads in it. */
  readonly threads: number;
  /** Attempts per thread. */
  readonly jobsPerThread: number;
  /** The grace, in ms. */
  readonly graceMs: number;
  /** The statements for handlers' own transactions. */
  readonly completion: Completion | null;
}

/** How many calls and orders of one host process are under way at once. The others wait in it. */
export const CALLS_AT_ONCE_MAX = 64;

/**
 * What a host process is told. `key` names an attempt. Orders for jobs are numbered with the calls, and a statement is to be run
 * in the transaction of one. The value of what failed is what `errorAsJson` makes of its error.
 */
export type HostCommand =
  | readonly [type: "run", key: number, work: Work]
  | readonly [type: "abort", key: number, cause: AbortCause]
  | readonly [type: "check", check: number, module: string]
  | readonly [type: "called", call: number, ok: boolean, value: Json]
  | readonly [
    type: "statement",
    call: number,
    statement: number,
    text: string,
    params: TxParam[],
    options: TxStatementOptions | null,
  ]
  | readonly [type: "ping"];

/** What a host process tells. */
export type HostReport =
  | readonly [type: "ready"]
  | readonly [type: "ended", key: number, outcome: AttemptOutcome]
  | readonly [type: "progress", key: number, done: number, note: string | null]
  | readonly [type: "log", level: LogLevel, event: string, fields: LogFields]
  | readonly [type: "output", kind: string, id: string, line: string]
  | readonly [
    type: "call",
    key: number,
    call: number,
    module: string,
    input: JsonInput,
    options: CallOptions | null,
  ]
  | readonly [type: "endCall", call: number]
  | readonly [type: "jobs", key: number, call: number, order: JobOrder, isInTransaction: boolean]
  | readonly [type: "rows", statement: number, ok: boolean, value: Json]
  | readonly [type: "checked", check: number, fault: string | null]
  | readonly [type: "lost", kind: string, id: string]
  | readonly [type: "pong"];
