import { cronerSchedule } from "../adapters/croner/schedule.ts";
import { createMemoryStore, type MemoryStore } from "../adapters/memory/memory_store.ts";
import { noDatabase } from "../adapters/memory/no_database.ts";
import { MemoryRecorder } from "../events/memory_recorder.ts";
import { resolveEventSettings } from "../events/settings.ts";
import type { Recorder } from "../ports/event.ts";
import type { Parts } from "../ports/registrar.ts";
import { UpkeepRecords } from "../runtime/_upkeep.ts";
import { PartsBuilder } from "../runtime/parts.ts";
import { buildRuntime } from "../runtime/runtime.ts";
import { guardLog } from "../shared/log.ts";
import { UNCHECKED } from "../shared/options.ts";
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

/** Options for a runtime in memory. */
export interface CreateMemoryRuntimeOptions extends CommonOptions {
  /** The store of its jobs; several runtimes may share one. Default: a new one. */
  readonly store?: MemoryStore;
}

/**
 * Builds a runtime without a database, for unit tests of code that enqueues or handles jobs, or records or subscribes
 * to events. Nothing is persisted. An event immediately becomes its subscribers' jobs, in the store transaction that
 * records it; there is no outbox to inspect.
 *
 * @throws what {@linkcode createRuntime} throws.
 */
export function createMemoryRuntime(options: CreateMemoryRuntimeOptions): RecordingRuntime {
  checkRuntimeOptions(options, { ...COMMON_OPTIONS, store: UNCHECKED });
  const log = options.log ?? defaultLog();
  const store = options.store ?? createMemoryStore();
  const executor = createExecutor({ ...options.executor, completion: store.completion, log });
  const call: Parts["call"] = (module, input, given) => executor.call(module, input, given);
  const upkeep = new UpkeepRecords(guardLog(log));
  const builder = new PartsBuilder({ database: noDatabase, log, call, upkeep });
  const registrars = builder.resolve(options.registrars);
  resolveEventSettings(options.events);
  const runtime = buildRuntime({
    ...only(options, BUILD_OPTIONS),
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
