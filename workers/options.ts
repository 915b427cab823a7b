import type { Log } from "../ports/log.ts";
import type { Completion } from "../ports/store.ts";
import { LOG } from "../shared/log.ts";
import { callback, integer, number, type Options, required, text, UNCHECKED } from "../shared/options.ts";

/** What {@linkcode createExecutor} needs. */
export interface ExecutorOptions {
  /** Where it logs, and where `ctx.log` of the handlers goes. */
  readonly log: Log;
  /** How a handler's transaction completes its job, from the store; null where it can't. Default null. */
  readonly completion?: Completion | null;
  /** How many worker threads there are when all is well, 1 to 256. Default the number of cores. */
  readonly threads?: number;
  /** How many attempts one thread has at once, 1 to 10,000. 1 suits handlers that compute. Default 1,000. */
  readonly jobsPerThread?: number;
  /** How long a handler has between its aborted signal and its end by force, in ms, from 0 to 24 hours. Default 2,000. */
  readonly graceMs?: number;
  /**
   * How many host processes that attempts share there are at once, 1 to 1,024; half as many again for what handler modules
   * call, and for what functions and parts call; and 2 per thread with one attempt each. Two kinds never share one. What
   * finds no place waits, outside of its timeout: an idle process ends for it, and one that is never idle takes no more
   * work after a second. Default 4 per thread, at least 8.
   */
  readonly hosts?: number;
  /** Takes a line that a handler printed, prefixed with kind and job id. Default writes it to standard output. */
  readonly output?: (line: string) => void;
  /**
   * The configuration file by which host processes resolve imports. Default the `deno.json` or `deno.jsonc` that is
   * found upwards from the main module, else from the working directory.
   */
  readonly config?: string;
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** Each option, and its bounds. */
export const EXECUTOR_OPTIONS: Options<ExecutorOptions> = {
  log: required(LOG),
  completion: UNCHECKED,
  threads: integer({ min: 1, max: 256 }),
  jobsPerThread: integer({ min: 1, max: 10_000, default: 1000 }),
  graceMs: number({ min: 0, max: DAY_MS, default: 2000 }),
  hosts: integer({ min: 1, max: 1024 }),
  output: callback("a function of a line"),
  config: text(),
};

/** Times that tests shorten. */
export interface ExecutorTimes {
  /** How often the memory of host processes is looked at, in ms. Default 250. */
  readonly memoryWatchMs?: number | undefined;
  /** How long a host process is kept without work, in ms. Default 30,000. */
  readonly hostIdleMs?: number | undefined;
  /** Above how long a standstill of the main loop is logged while functions run in it, in ms. Default 5,000. */
  readonly standstillMs?: number | undefined;
}
