import type { EventSettings } from "../events/settings.ts";
import type { CompositionInput } from "../ports/composition.ts";
import type { LostThread } from "../ports/executor.ts";
import { checkKeys } from "../ports/known_keys.ts";
import { createLog, type Log } from "../ports/log.ts";
import type { Recorder } from "../ports/event.ts";
import type { RegistrarInput } from "../ports/registrar.ts";
import type { WorkingRuntime } from "../runtime/runtime.ts";
import type { Settings } from "../runtime/settings.ts";
import { EXECUTOR_OPTIONS, type ExecutorOptions } from "../workers/options.ts";

/** Options of both runtimes. */
export interface CommonOptions extends Omit<CompositionInput, "registrars"> {
  /** The registrars, one per domain. A function is called once, at construction, with the parts of the process. */
  readonly registrars: readonly RegistrarInput[];
  /** The only queues to work. Default: all declared queues. */
  readonly work?: readonly string[];
  /** Times and sizes; each has a default. */
  readonly settings?: Partial<Settings>;
  /** Times and bounds of events; each has a default. */
  readonly events?: Partial<EventSettings>;
  /** Threads, jobs per thread, grace. */
  readonly executor?: Omit<ExecutorOptions, "completion" | "log">;
  /** The log. Default: JSON lines of warnings and errors on standard error. */
  readonly log?: Log;
  /** Called for each thread that could not be terminated: this process should be replaced soon. */
  readonly onThreadLost?: (thread: LostThread) => void;
}

/** A runtime with a recorder of events. */
export interface RecordingRuntime extends WorkingRuntime {
  /** Records events. */
  readonly recorder: Recorder;
}

/** Options that are passed to the runtime unchanged. */
export const BUILD_KEYS: Readonly<Record<"queues" | "work" | "settings" | "onThreadLost", true>> = {
  queues: true,
  work: true,
  settings: true,
  onThreadLost: true,
};
/** The options of both runtimes. */
export const COMMON_KEYS: Readonly<Record<keyof CommonOptions, true>> = {
  ...BUILD_KEYS,
  registrars: true,
  events: true,
  executor: true,
  log: true,
};
// The runtime has one log, and its store determines how a job is completed.
const { log: _executorLog, completion: _completion, ...EXECUTOR_KEYS } = EXECUTOR_OPTIONS;

/** Picks the options with these names that were given. */
export function only<Options extends object, Key extends keyof Options>(
  options: Options,
  keys: Readonly<Record<Key, true>>,
): Pick<Options, Key> {
  const given = Object.keys(keys).filter((key) => Object.hasOwn(options, key));
  return Object.fromEntries(given.map((key) => [key, options[key as Key]])) as Pick<Options, Key>;
}

/**
 * Checks the options of the executor.
 *
 * @throws {InvalidOptionError} if one is unknown.
 */
export function checkExecutor(executor: CommonOptions["executor"]): void {
  if (executor !== undefined) checkKeys("executor", executor, Object.keys(EXECUTOR_KEYS));
}

/** The default log of an embedded runtime: what a person should see, and nothing on standard output. */
export function defaultLog(): Log {
  const encoder = new TextEncoder();
  return createLog({ level: "warn", write: (line) => Deno.stderr.writeSync(encoder.encode(line + "\n")) });
}

/** The name under which this process registers. */
export function processName(): string {
  try {
    return `${Deno.hostname()}:${Deno.pid}`;
  } catch {
    // Without permission to read the hostname, the process id distinguishes the processes of one host.
    return String(Deno.pid);
  }
}
