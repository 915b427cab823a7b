import type { EventSettings } from "../events/settings.ts";
import type { CompositionInput } from "../ports/composition.ts";
import type { Recorder } from "../ports/event.ts";
import type { LostThread } from "../ports/executor.ts";
import type { Log } from "../ports/log.ts";
import type { RegistrarInput } from "../ports/registrar.ts";
import type { WorkingRuntime } from "../runtime/runtime.ts";
import type { Settings } from "../runtime/settings.ts";
import { createLog, LOG } from "../shared/log.ts";
import { checkOptions, type Options, UNCHECKED } from "../shared/options.ts";
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

// The runtime has one log, and its store determines how a job is completed.
const { log: _executorLog, completion: _completion, ...EXECUTOR } = EXECUTOR_OPTIONS;

/** Options that are passed to the runtime unchanged, which checks them. */
export const BUILD_OPTIONS: Options<Pick<CommonOptions, "queues" | "work" | "settings" | "onThreadLost">> = {
  queues: UNCHECKED,
  work: UNCHECKED,
  settings: UNCHECKED,
  onThreadLost: UNCHECKED,
};

/** The options of both runtimes. */
export const COMMON_OPTIONS: Options<CommonOptions> = {
  ...BUILD_OPTIONS,
  registrars: UNCHECKED,
  events: UNCHECKED,
  executor: UNCHECKED,
  log: LOG,
};

/**
 * Checks the options of a runtime, and of its executor.
 *
 * @throws {InvalidOptionError} if one is unknown or not accepted.
 */
export function checkRuntimeOptions<T extends CommonOptions>(options: T, known: Options<T>): void {
  checkOptions("the options of a runtime", options, known);
  if (options.executor !== undefined) checkOptions("executor", options.executor, EXECUTOR);
}

/** Picks the options with these names that were given. */
export function only<Given extends object, Key extends keyof Given>(
  options: Given,
  keys: Readonly<Record<Key, unknown>>,
): Pick<Given, Key> {
  const given = Object.keys(keys).filter((key) => Object.hasOwn(options, key));
  return Object.fromEntries(given.map((key) => [key, options[key as Key]])) as Pick<Given, Key>;
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
