import type { AttemptOutcome, CallOptions, Json, LogFields, LogLevel } from "../../ports/mod.ts";
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
  /** The statement of `completeIn`. */
  readonly completion: string | null;
}

/** How many calls of one host process are under way at once. The others wait in it. */
export const CALLS_AT_ONCE_MAX = 64;

/** What a host process is told. `key` names an attempt. The value of a call that failed is what `callFailure` makes of it. */
export type HostCommand =
  | readonly [type: "run", key: number, work: Work]
  | readonly [type: "abort", key: number, cause: AbortCause]
  | readonly [type: "check", check: number, module: string]
  | readonly [type: "called", call: number, ok: boolean, value: Json]
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
    input: Json,
    options: CallOptions | null,
  ]
  | readonly [type: "endCall", call: number]
  | readonly [type: "checked", check: number, fault: string | null]
  | readonly [type: "lost", kind: string, id: string]
  | readonly [type: "pong"];
