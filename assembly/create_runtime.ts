import { cronerSchedule } from "../adapters/croner/schedule.ts";
import { DATABASE_OPTIONS } from "../adapters/postgres/connection/database.ts";
import { createPostgresStore, type PostgresStoreOptions } from "../adapters/postgres/postgres_store.ts";
import { OUTBOX } from "../events/_schema.ts";
import { Outbox, takesPart } from "../events/outbox.ts";
import type { Database, MigrateOptions } from "../ports/database.ts";
import type { Events } from "../ports/events.ts";
import type { PartMigrations, Parts, Registrar } from "../ports/registrar.ts";
import type { Service } from "../ports/runtime.ts";
import { UpkeepRecords } from "../runtime/_upkeep.ts";
import { PartsBuilder } from "../runtime/parts.ts";
import { buildRuntime, type WorkingRuntime } from "../runtime/runtime.ts";
import { guardLog } from "../shared/log.ts";
import { checkOptions, flag, type Options } from "../shared/options.ts";
import { createExecutor } from "../workers/executor.ts";
import {
  BUILD_OPTIONS,
  checkRuntimeOptions,
  COMMON_OPTIONS,
  type CommonOptions,
  defaultLog,
  only,
  processName,
  type RecordingRuntime,
} from "./common.ts";

/** What a runtime on PostgreSQL is made of: the composition, the database, and how it works. */
export interface CreateRuntimeOptions extends CommonOptions, Omit<PostgresStoreOptions, "log"> {}

// The runtime has one log.
const { log: _databaseLog, ...STORE_OPTIONS } = DATABASE_OPTIONS;

const MIGRATE_OPTIONS: Options<MigrateOptions> = { breaking: flag() };

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
  checkRuntimeOptions(options, { ...COMMON_OPTIONS, ...STORE_OPTIONS });
  const log = options.log ?? defaultLog();
  const store = createPostgresStore({ ...only(options, STORE_OPTIONS), log });
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
    ...only(options, BUILD_OPTIONS),
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
      checkOptions("the options of migrate", options, MIGRATE_OPTIONS);
      await store.migrate(options);
      for (const { part, steps } of [OUTBOX, ...composition.migrations.values()]) {
        await database.migrate(part, steps, options);
      }
    },
  });
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
