/**
 * The runtime: what claims jobs, starts them, records their ends, watches the other processes and leads the fleet, over
 * a `Store` that keeps jobs and an `Executor` that runs handlers. Authors of a store build their runtime with it.
 *
 * @example
 * ```ts ignore
 * import { buildRuntime } from "@millrace/millrace/runtime";
 * const runtime = buildRuntime({ store, executor, schedule, registrars });
 * await runtime.start();
 * ```
 *
 * @module
 */
export { PartsBuilder } from "./parts.ts";
export { buildRuntime, type RuntimeOptions, type WorkingRuntime } from "./runtime.ts";
export { DEFAULT_SETTINGS, type Settings } from "./settings.ts";
export { UpkeepRecords } from "./_upkeep.ts";
export { type RunEnd, settlementOf } from "./_outcome.ts";
