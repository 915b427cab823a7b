/**
 * The executor: runs handlers in the main thread, in worker threads and in host processes, and ends them when they must
 * end.
 *
 * @example
 * ```ts
 * import { createExecutor } from "@millrace/millrace/workers";
 * import { silentLog } from "@millrace/millrace/ports";
 *
 * const executor = createExecutor({ log: silentLog, threads: 2 });
 * executor.start({ onThreadLost: () => {} });
 * await executor.stop();
 * ```
 *
 * @module
 */
export { createExecutor } from "./executor.ts";
export type { ExecutorOptions } from "./options.ts";
