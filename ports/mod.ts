/**
 * What handler modules and registrars need: declarations, the context's types, `snooze` and `discard`, typed kinds, and the
 * errors that a handler can catch. It loads no adapter and no driver, so that a worker thread starts quickly.
 *
 * @module
 */
export {
  type ArgsInput,
  type ArgsOutput,
  type ArgsSchema,
  type ArgsVerdict,
  InvalidArgsError,
} from "./args_schema.ts";
export { type Backoff, DefaultBackoff } from "./backoff.ts";
export {
  CallNotAllowedError,
  ConnectionTimeoutError,
  DatabaseUnavailableError,
  EnqueueNotAllowedError,
  FenceLostError,
  InvalidJsonError,
  InvalidOptionError,
  RefusedValueError,
  sqlStateOf,
  StatementTimeoutError,
  TooLargeError,
  TransactionConflictError,
  TransactionEndedError,
  UndeclaredKindError,
  UndeclaredQueueError,
  UniqueKeyHeldError,
} from "./errors.ts";
export type { EventHandler, EventType, InOrder, RecordedEvent, Subscription } from "./event.ts";
export type { AbortReason } from "./executor.ts";
export {
  type CallOptions,
  Discard,
  discard,
  type Handler,
  type JobContext,
  Snooze,
  snooze,
} from "./handler.ts";
export type { JobId } from "./job.ts";
export type { CancelResult, EnqueueOptions, EnqueueRequest, Jobs, Offered } from "./jobs.ts";
export type { Json, JsonInput } from "./json.ts";
export { type DebounceRule, type KeyState, MissingKeyMemberError, type UniqueRule } from "./key_rule.ts";
export type { Beside, Kind, Periodic } from "./kind.ts";
export type { LogFields, LogLevel } from "./log.ts";
export type { Permissions } from "./permissions.ts";
export type { Parts, Registrar, RegistrarInput } from "./registrar.ts";
export type { Tx, TxParam, TxRow, TxStatementOptions } from "./tx.ts";
export { type EnqueueRest, type TypedJobs, typedJobs, type TypedRequest } from "./typed_jobs.ts";
export {
  defineKind,
  handlerOf,
  type TypedHandler,
  type TypedKind,
  type TypedKindSpec,
} from "./typed_kind.ts";
