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

/** Options for a runtime on PostgreSQL: the composition, the database, and how it works. */
export interface CreateRuntimeOptions extends CommonOptions, Omit<PostgresStoreOptions, "log"> {}

// The runtime has one log.
const { log: _databaseLog, ...STORE_OPTIONS } = DATABASE_OPTIONS;

const MIGRATE_OPTIONS: Options<MigrateOptions> = { breaking: flag() };

/** A runtime on PostgreSQL. */
export interface PostgresRuntime extends RecordingRuntime {
  /** The database that contains everything, for your own tables alongside. */
  readonly database: Database;
  /** Inspects and repairs recorded events. */
  readonly events: Events;
  /**
   * Migrates the tables of jobs, events and registrars to this program's version. Idempotent, and safe to run from many
   * processes at once. Breaking steps, which lock out older programs, are run only with `breaking`.
   *
   * @throws {BreakingMigrationError} if a breaking step is due and was not requested; that part was left as it is.
   * @throws {SchemaVersionError} if tables are newer, and this program can't work with them.
   */
  migrate(options?: MigrateOptions): Promise<void>;
}

/**
 * Builds a runtime on PostgreSQL. It connects when first used, and {@linkcode Runtime.start} makes it work jobs.
 *
 * @throws {CompositionError} listing every fault of the composition at once.
 * @throws {InvalidOptionError} if an option is out of range.
 * @throws {PoolTooSmallError} if the pool is smaller than the runtime needs.
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
  // Both are used only once the runtime exists: by its handlers, or from outside.
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

/** Whether any registrar uses events. `compose()` reports malformed input. */
function usesEvents(registrars: readonly Registrar[]): boolean {
  if (!Array.isArray(registrars)) return false;
  return registrars.some((each?: Registrar | null) =>
    (each?.eventTypes?.length ?? 0) + (each?.subscriptions?.length ?? 0) > 0
  );
}

/** Checks at start that this program can work with the tables of all parts. */
function tablesOf(parts: () => readonly PartMigrations[], database: Database): Service {
  return {
    open: async () => {
      for (const { part, steps } of parts()) await database.checkMigrated(part, steps);
    },
    start: () => Promise.resolve(),
    stop: () => Promise.resolve(),
  };
}
