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
import { createMemoryStore, type MemoryStore } from "./adapters/memory/mod.ts";
import { createPostgresStore, type PostgresStoreOptions } from "./adapters/postgres/mod.ts";
import { type CompositionInput, createLog, type Log, type LostThread } from "./ports/mod.ts";
import { buildRuntime, type Settings, type WorkingRuntime } from "./runtime/mod.ts";
import { createExecutor, type ExecutorOptions } from "./workers/mod.ts";

export * from "./ports/mod.ts";
export { DEFAULT_SETTINGS, type Settings, type WorkingRuntime } from "./runtime/mod.ts";
export type { ExecutorOptions } from "./workers/mod.ts";
export type { PostgresStoreOptions } from "./adapters/postgres/mod.ts";

/** What both runtimes take. */
export interface CommonOptions extends CompositionInput {
  /** Works only these queues. Default all that are declared. */
  readonly work?: readonly string[];
  /** Times and sizes; each has a default. */
  readonly settings?: Partial<Settings>;
  /** Threads, jobs per thread, grace. */
  readonly executor?: Omit<ExecutorOptions, "completion" | "log">;
  /** Default: JSON lines of warnings and errors on standard error. */
  readonly log?: Log;
  /** Called for each thread that could not be ended: this process should soon be replaced. */
  readonly onThreadLost?: (thread: LostThread) => void;
}

/** What a runtime on PostgreSQL is made of: the composition, the database, and how it works. */
export interface CreateRuntimeOptions extends CommonOptions, Omit<PostgresStoreOptions, "log"> {}

/** A runtime on PostgreSQL. */
export interface PostgresRuntime extends WorkingRuntime {
  /** Brings the schema to this program's version. Idempotent, and safe when many processes do it at once. */
  migrate(): Promise<void>;
}

/**
 * Builds a runtime on PostgreSQL. Nothing connects before it is used; {@linkcode Runtime.start} makes it work.
 *
 * @throws {CompositionError} naming every fault of the composition at once.
 * @throws {InvalidOptionError} an option is out of its range.
 * @throws {PoolTooSmallError} the pool can't hold what the runtime needs.
 */
export function createRuntime(options: CreateRuntimeOptions): PostgresRuntime {
  const log = options.log ?? defaultLog();
  const store = createPostgresStore({ ...options, log });
  const executor = createExecutor({ ...options.executor, completion: store.completion, log });
  const runtime = buildRuntime({
    ...options,
    store,
    executor,
    schedule: cronerSchedule,
    name: processName(),
    log,
  });
  return Object.assign(runtime, { migrate: () => store.migrate() });
}

/** What a runtime in memory is made of. */
export interface CreateMemoryRuntimeOptions extends CommonOptions {
  /** Where its jobs are; several runtimes may share one. Default a new one. */
  readonly store?: MemoryStore;
}

/**
 * Builds a runtime without a database, for unit tests of whatever enqueues or handles jobs. Nothing survives it.
 *
 * @throws as {@linkcode createRuntime}.
 */
export function createMemoryRuntime(options: CreateMemoryRuntimeOptions): WorkingRuntime {
  const log = options.log ?? defaultLog();
  const store = options.store ?? createMemoryStore();
  const executor = createExecutor({ ...options.executor, completion: store.completion, log });
  return buildRuntime({ ...options, store, executor, schedule: cronerSchedule, name: processName(), log });
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
