/**
 * For authors of adapters: the ports that a store, an executor, or a schedule implements, the ones that come with Millrace,
 * and `buildRuntime`, which puts them together. Check a store of your own with `@millrace/millrace/conformance`. This entry may
 * change in a minor release.
 *
 * @example A runtime of parts
 * ```ts
 * import { silentLog } from "@millrace/millrace";
 * import { buildRuntime, createExecutor, createMemoryStore, cronerSchedule } from "@millrace/millrace/adapter";
 *
 * const store = createMemoryStore();
 * const executor = createExecutor({ completion: store.completion, log: silentLog });
 * await using runtime = buildRuntime({ store, executor, schedule: cronerSchedule, registrars: [] });
 * await runtime.start();
 * ```
 *
 * @module
 */
export { cronerSchedule } from "../adapters/croner/schedule.ts";
export { createMemoryStore, MemoryStore, type MemoryStoreOptions } from "../adapters/memory/memory_store.ts";
export { MemoryTx } from "../adapters/memory/memory_tx.ts";
export { PostgresDatabase, type PostgresDatabaseOptions } from "../adapters/postgres/connection/database.ts";
export type { Bounds } from "../adapters/postgres/connection/session.ts";
export {
  createPostgresStore,
  PostgresStore,
  type PostgresStoreOptions,
} from "../adapters/postgres/postgres_store.ts";
export type { Statements } from "../adapters/postgres/sql/statements.ts";
export { DEFAULT_QUEUES } from "../composing/app.ts";
export { type Composition, type CompositionInput } from "../ports/composition.ts";
export { compose } from "../composing/compose.ts";
export type {
  ChannelObserver,
  ChannelSubscription,
  Transaction,
  TransactionOptions,
} from "../ports/database.ts";
export { IdSequenceBehindError, OffTheRecordError, type SessionSetting } from "../ports/errors.ts";
export type { EventKeeper } from "../ports/event.ts";
export type {
  Attempt,
  AttemptObserver,
  AttemptOutcome,
  Executor,
  ExecutorStart,
  ExecutorStats,
  LostThread,
} from "../ports/executor.ts";
export type { PeriodicRun, WaitingOverview } from "../ports/inspector.ts";
export { type AttemptError, isFinal, JOB_STATES, type JobProgress } from "../ports/job.ts";
export { type JsonTextOptions, parseJsonText, toJsonText } from "../shared/json_text.ts";
export { type KeyRule } from "../ports/key_rule.ts";
export { keepsTwinsOut, keyRuleOf } from "../shared/key_rule.ts";
export type {
  PeriodicBase,
  PeriodicCron,
  PeriodicEvery,
  PeriodicHandler,
  PeriodicKind,
} from "../ports/kind.ts";
export {
  ARGS_BYTES_MAX,
  DELAY_MS_MAX,
  ERRORS_KEPT_MAX,
  EVENT_DATA_BYTES_MAX,
  LIST_LIMIT_MAX,
  NAME_LENGTH_MAX,
  OUTPUT_BYTES_MAX,
  PERIODIC_PREFIX,
} from "../ports/limits.ts";
export { MAINTENANCE_QUEUE } from "../composing/periodic_job.ts";
export { PROTOCOL } from "../ports/protocol.ts";
export type { Service } from "../ports/runtime.ts";
export type { Schedule } from "../ports/schedule.ts";
export {
  type Aside,
  type Beat,
  type Claimed,
  type ClaimRequest,
  type Completion,
  type Counts,
  type Declared,
  type DeclaredKind,
  type DeclaredPeriodic,
  type DuePeriodics,
  type DueRequest,
  type Final,
  type Finals,
  type Inserted,
  type Missing,
  type NewJob,
  type Owner,
  type PausedQueue,
  type PeriodicDeclaration,
  type PeriodicJob,
  type PeriodicPlan,
  type PeriodicRow,
  type PeriodicSchedule,
  type PeriodicSpec,
  type PeriodicTick,
  type ProgressEntry,
  type Purge,
  type RefusedJob,
  type Requests,
  type Rescued,
  type RescueError,
  type RunRef,
  type Settled,
  type SettledError,
  type Settlement,
  type Signal,
  type SignalObserver,
  type SignalSubscription,
  type Store,
  type StoredPeriodics,
  SUPERSEDED,
  type TakenTick,
  type TickPlace,
} from "../ports/store.ts";
export type {
  StoredUpkeep,
  Upkeep,
  UpkeepOverview,
  UpkeepReport,
  UpkeepRow,
  UpkeepTask,
  UpkeepTaskOptions,
} from "../ports/upkeep.ts";
export { UpkeepRecords } from "../runtime/_upkeep.ts";
export type { RuntimeOptions } from "../runtime/options.ts";
export { buildRuntime, type WorkingRuntime } from "../runtime/runtime.ts";
export { DEFAULT_SETTINGS } from "../runtime/settings.ts";
export { createExecutor } from "../workers/executor.ts";
