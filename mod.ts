/**
 * Millrace: durable background work on PostgreSQL. Jobs are enqueued in the same transaction as the change that they
 * follow from, and handlers run in worker threads, bounded, time-limited and retried.
 *
 * @example Define a kind, enqueue in a transaction, run
 * ```ts ignore
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
 *   await millrace.with(tx).enqueue("order.mail", { id: order.id });
 * });
 * ```
 *
 * @module
 */
import { cronerSchedule } from "./adapters/croner/mod.ts";
import { createMemoryStore, type MemoryStore, noDatabase } from "./adapters/memory/mod.ts";
import { DATABASE_OPTIONS } from "./adapters/postgres/database.ts";
import { createPostgresStore, type PostgresStoreOptions } from "./adapters/postgres/mod.ts";
import {
  type EventSettings,
  MemoryRecorder,
  OUTBOX,
  Outbox,
  resolveEventSettings,
  takesPart,
} from "./events/mod.ts";
import {
  checkKeys,
  type CompositionInput,
  createLog,
  type Database,
  type Events,
  guardLog,
  type Log,
  type LostThread,
  type MigrateOptions,
  type PartMigrations,
  type Parts,
  type Recorder,
  type Registrar,
  type RegistrarInput,
  type Service,
} from "./ports/mod.ts";
import {
  buildRuntime,
  PartsBuilder,
  type Settings,
  UpkeepRecords,
  type WorkingRuntime,
} from "./runtime/mod.ts";
import { createExecutor, type ExecutorOptions } from "./workers/mod.ts";
import { EXECUTOR_OPTIONS } from "./workers/options.ts";

export * from "./ports/mod.ts";
export {
  captureChanges,
  type CaptureOptions,
  type CaptureSql,
  DEFAULT_EVENT_SETTINGS,
  deliverTwice,
  type DeliverTwiceOptions,
  type EventSettings,
} from "./events/mod.ts";
export { DEFAULT_SETTINGS, type Settings, type WorkingRuntime } from "./runtime/mod.ts";
export type { ExecutorOptions } from "./workers/mod.ts";
export type { PostgresStoreOptions } from "./adapters/postgres/mod.ts";

/** What both runtimes take. */
export interface CommonOptions extends Omit<CompositionInput, "registrars"> {
  /** One per domain. A function is called once, at construction, with the parts of the process. */
  readonly registrars: readonly RegistrarInput[];
  /** Works only these queues. Default all that are declared. */
  readonly work?: readonly string[];
  /** Times and sizes; each has a default. */
  readonly settings?: Partial<Settings>;
  /** Times and bounds of events; each has a default. */
  readonly events?: Partial<EventSettings>;
  /** Threads, jobs per thread, grace. */
  readonly executor?: Omit<ExecutorOptions, "completion" | "log">;
  /** Default: JSON lines of warnings and errors on standard error. */
  readonly log?: Log;
  /** Called for each thread that could not be ended: this process should soon be replaced. */
  readonly onThreadLost?: (thread: LostThread) => void;
}

/** What a runtime on PostgreSQL is made of: the composition, the database, and how it works. */
export interface CreateRuntimeOptions extends CommonOptions, Omit<PostgresStoreOptions, "log"> {}

const BUILD_KEYS = { queues: true, work: true, settings: true, onThreadLost: true } as const;
const COMMON_KEYS = {
  ...BUILD_KEYS,
  registrars: true,
  events: true,
  executor: true,
  log: true,
} satisfies Record<
  keyof CommonOptions,
  true
>;
// The log and the completion are not handed over with these: the runtime has one log, and the store completes.
const { log: _databaseLog, ...POSTGRES_KEYS } = DATABASE_OPTIONS;
const { log: _executorLog, completion: _completion, ...EXECUTOR_KEYS } = EXECUTOR_OPTIONS;

/** A runtime with what records events. */
export interface RecordingRuntime extends WorkingRuntime {
  /** Records events. */
  readonly recorder: Recorder;
}

/** A runtime on PostgreSQL. */
export interface PostgresRuntime extends RecordingRuntime {
  /** The database that everything is on, for tables beside it. */
  readonly database: Database;
  /** Looks at recorded events and mends them. */
  readonly events: Events;
  /**
   * Brings the tables of jobs, events and registrars to this program's version. Idempotent, and safe when many
   * processes do it at once. Breaking steps, with which older programs can't go on, are made when `breaking` asks for
   * them.
   *
   * @throws {BreakingMigrationError} a breaking step is due, and was not asked for; that part was left as it is.
   * @throws {SchemaVersionError} tables are newer, and this program can't go on with them.
   */
  migrate(options?: MigrateOptions): Promise<void>;
}

/**
 * Builds a runtime on PostgreSQL. Nothing connects before it is used; {@linkcode Runtime.start} makes it work.
 *
 * @throws {CompositionError} naming every fault of the composition at once.
 * @throws {InvalidOptionError} an option is out of its range.
 * @throws {PoolTooSmallError} the pool can't hold what the runtime needs.
 */
export function createRuntime(options: CreateRuntimeOptions): PostgresRuntime {
  checkKeys("the options of a runtime", options, Object.keys({ ...COMMON_KEYS, ...POSTGRES_KEYS }));
  checkExecutor(options.executor);
  const log = options.log ?? defaultLog();
  const store = createPostgresStore({ ...only(options, POSTGRES_KEYS), log });
  const { database } = store;
  const executor = createExecutor({ ...options.executor, completion: store.completion, log });
  const call: Parts["call"] = (module, input, given) => executor.call(module, input, given);
  const upkeep = new UpkeepRecords(guardLog(log));
  const builder = new PartsBuilder({ database, log, call, upkeep });
  const registrars = builder.resolve(options.registrars);
  // Both are used once the runtime is there: by its handlers, or from outside.
  const outbox: Outbox = new Outbox({
    database,
    jobs: () => runtime,
    composition: () => runtime.composition,
    settings: options.events ?? {},
    log: guardLog(log),
    upkeep,
  });
  const runtime: WorkingRuntime = buildRuntime({
    ...only(options, BUILD_KEYS),
    registrars: usesEvents(registrars) ? [...registrars, outbox.registrar] : registrars,
    services: [tablesOf(() => parts(), database), outbox],
    store,
    executor,
    schedule: cronerSchedule,
    name: processName(),
    log,
    upkeep,
  });
  const { composition } = runtime;
  const parts = () => [...(takesPart(composition) ? [OUTBOX] : []), ...composition.migrations.values()];
  builder.complete({
    jobs: runtime,
    inspector: runtime,
    eventTypes: composition.eventTypes,
    queues: composition.queues,
    recorder: outbox.recorder,
  });
  return Object.assign(runtime, {
    database,
    recorder: outbox.recorder,
    events: outbox as Events,
    migrate: async (options: MigrateOptions = {}) => {
      checkKeys("the options of migrate", options, ["breaking"]);
      await store.migrate(options);
      for (const { part, steps } of [OUTBOX, ...composition.migrations.values()]) {
        await database.migrate(part, steps, options);
      }
    },
  });
}

/** What a runtime in memory is made of. */
export interface CreateMemoryRuntimeOptions extends CommonOptions {
  /** Where its jobs are; several runtimes may share one. Default a new one. */
  readonly store?: MemoryStore;
}

/**
 * Builds a runtime without a database, for unit tests of whatever enqueues or handles jobs, or records events or
 * subscribes to them. Nothing survives it. An event becomes its subscribers' jobs at once, in the transaction of the store
 * that records it; there is no outbox to look at.
 *
 * @throws as {@linkcode createRuntime}.
 */
export function createMemoryRuntime(options: CreateMemoryRuntimeOptions): RecordingRuntime {
  checkKeys("the options of a runtime", options, Object.keys({ ...COMMON_KEYS, store: true }));
  checkExecutor(options.executor);
  const log = options.log ?? defaultLog();
  const store = options.store ?? createMemoryStore();
  const executor = createExecutor({ ...options.executor, completion: store.completion, log });
  const call: Parts["call"] = (module, input, given) => executor.call(module, input, given);
  const upkeep = new UpkeepRecords(guardLog(log));
  const builder = new PartsBuilder({ database: noDatabase, log, call, upkeep });
  const registrars = builder.resolve(options.registrars);
  resolveEventSettings(options.events);
  const runtime = buildRuntime({
    ...only(options, BUILD_KEYS),
    registrars,
    store,
    executor,
    schedule: cronerSchedule,
    name: processName(),
    log,
    upkeep,
  });
  const recorder = new MemoryRecorder({ jobs: runtime, composition: runtime.composition });
  const { eventTypes, queues } = runtime.composition;
  builder.complete({ jobs: runtime, inspector: runtime, eventTypes, queues, recorder });
  return Object.assign(runtime, { recorder: recorder as Recorder });
}

/** The options of these names that were given. */
function only<Options extends object, Key extends keyof Options>(
  options: Options,
  keys: Readonly<Record<Key, true>>,
): Pick<Options, Key> {
  const given = Object.keys(keys).filter((key) => Object.hasOwn(options, key));
  return Object.fromEntries(given.map((key) => [key, options[key as Key]])) as Pick<Options, Key>;
}

function checkExecutor(executor: CommonOptions["executor"]): void {
  if (executor !== undefined) checkKeys("executor", executor, Object.keys(EXECUTOR_KEYS));
}

/** Whether any of them has to do with events. What is not as it should be is told by the composition. */
function usesEvents(registrars: readonly Registrar[]): boolean {
  if (!Array.isArray(registrars)) return false;
  return registrars.some((each?: Registrar | null) =>
    (each?.eventTypes?.length ?? 0) + (each?.subscriptions?.length ?? 0) > 0
  );
}

/** Checks at the start that the tables of all parts are such as this program can work on. */
function tablesOf(parts: () => readonly PartMigrations[], database: Database): Service {
  return {
    open: async () => {
      for (const { part, steps } of parts()) await database.checkMigrated(part, steps);
    },
    start: () => Promise.resolve(),
    stop: () => Promise.resolve(),
  };
}

/** For an embedded runtime: what a person should see, and nothing on standard output. */
function defaultLog(): Log {
  const encoder = new TextEncoder();
  return createLog({ level: "warn", write: (line) => Deno.stderr.writeSync(encoder.encode(line + "\n")) });
}

function processName(): string {
  try {
    return `${Deno.hostname()}:${Deno.pid}`;
  } catch {
    // Without the permission for the host's name, the process id tells processes of one host apart.
    return String(Deno.pid);
  }
}
