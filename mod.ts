/**
 * Millrace: durable background work on PostgreSQL. Jobs are enqueued in the same transaction as the change that they
 * follow from, and handlers run in worker threads, bounded, time-limited and retried.
 *
 * @example Define a kind, enqueue in a transaction, run
 * ```ts
 * import { createRuntime } from "@millrace/millrace";
 * import postgres from "postgres";
 *
 * const url = "postgres://localhost/shop";
 * const mail = {
 *   name: "order.mail",
 *   queue: "default",
 *   maxAttempts: 5,
 *   timeout: 30_000,
 *   handler: new URL("./order_mail.ts", import.meta.url),
 * };
 * await using millrace = createRuntime({ url, registrars: [{ kinds: [mail] }] });
 * await millrace.migrate();
 * await millrace.start();
 *
 * const sql = postgres(url);
 * await sql.begin(async (tx) => {
 *   const [order] = await tx`insert into orders (customer) values ('Ada') returning id`;
 *   await millrace.with(tx).enqueue("order.mail", { id: order!.id });
 * });
 * ```
 *
 * @module
 */
export type { CommonOptions, RecordingRuntime } from "./assembly/common.ts";
export { createMemoryRuntime, type CreateMemoryRuntimeOptions } from "./assembly/create_memory_runtime.ts";
export { createRuntime, type CreateRuntimeOptions, type PostgresRuntime } from "./assembly/create_runtime.ts";
export { captureChanges, type CaptureOptions, type CaptureSql } from "./events/capture_changes.ts";
export { deliverTwice, type DeliverTwiceOptions } from "./events/deliver_twice.ts";
export type { EventSettings } from "./events/settings.ts";
export { type App, type AppSpec, defineApp } from "./composing/app.ts";
export { type ArgsIssue, type ArgsSchema, ArgsSchemaError, InvalidArgsError } from "./ports/args_schema.ts";
export { type Backoff, DefaultBackoff } from "./ports/backoff.ts";
export type { CompositionInput } from "./ports/composition.ts";
export type { Database, MigrateOptions, MigrationStep } from "./ports/database.ts";
export {
  BreakingMigrationError,
  CompositionError,
  ConnectionTimeoutError,
  DatabaseSetupError,
  DatabaseUnavailableError,
  EventNotFoundError,
  EventNotPoisonedError,
  IdSequenceBehindError,
  InvalidJsonError,
  InvalidOptionError,
  JobNotFoundError,
  JobRunningError,
  PoolTooSmallError,
  ProtocolTooOldError,
  RefusedValueError,
  RuntimeStateError,
  SchemaRenamedError,
  SchemaVersionError,
  SessionSettingsError,
  sqlStateOf,
  StatementTimeoutError,
  TooLargeError,
  TransactionConflictError,
  TransactionEndedError,
  UndeclaredEventTypeError,
  UndeclaredKindError,
  UndeclaredPeriodicError,
  UndeclaredQueueError,
  UniqueConflictError,
  UniqueKeyHeldError,
} from "./ports/errors.ts";
export type {
  EventDraft,
  EventHandler,
  EventId,
  EventType,
  RecordedEvent,
  Recorder,
  Subscription,
} from "./ports/event.ts";
export type {
  Alert,
  Backlog,
  EventDetail,
  EventFilter,
  Events,
  EventState,
  EventSummary,
  Receipt,
  SubscriberState,
} from "./ports/events.ts";
export { discard, type Handler, type JobContext, snooze } from "./ports/handler.ts";
export type {
  Depth,
  DepthFilter,
  Inspector,
  JobFilter,
  KindOverview,
  Overview,
  PeriodicStatus,
  QueueOverview,
} from "./ports/inspector.ts";
export type { FailureClass, FinalState, JobDetail, JobId, JobState, JobSummary } from "./ports/job.ts";
export type { CancelResult, EnqueueOptions, EnqueueRequest, Jobs } from "./ports/jobs.ts";
export type { Json, JsonInput } from "./ports/json.ts";
export { type DebounceRule, MissingKeyMemberError, type UniqueRule } from "./ports/key_rule.ts";
export type { Kind, Periodic, Queue } from "./ports/kind.ts";
export { type Log, type LogOptions } from "./ports/log.ts";
export { createLog, silentLog } from "./shared/log.ts";
export type { Permissions } from "./ports/permissions.ts";
export type { PartMigrations, Parts, Registrar, RegistrarInput } from "./ports/registrar.ts";
export type { Runtime, WaitOptions, WaitResult } from "./ports/runtime.ts";
export type { Tx } from "./ports/tx.ts";
export { type TypedJobs, typedJobs } from "./ports/typed_jobs.ts";
export { defineKind, handlerOf, type TypedHandler, type TypedKind } from "./ports/typed_kind.ts";
export {
  type EnqueueForRow,
  type Reconciled,
  reconcilePending,
  type ReconcileSpec,
} from "./reconcile/reconcile_pending.ts";
export { reconcilePeriodic, type ReconcilePeriodicSpec } from "./reconcile/reconcile_periodic.ts";
export type { Settings } from "./runtime/settings.ts";
export type { ExecutorOptions } from "./workers/options.ts";
