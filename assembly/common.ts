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

/** A runtime with what records events. */
export interface RecordingRuntime extends WorkingRuntime {
  /** Records events. */
  readonly recorder: Recorder;
}

// The runtime has one log, and its store says how a job is completed.
const { log: _executorLog, completion: _completion, ...EXECUTOR } = EXECUTOR_OPTIONS;

/** Options that are handed to the runtime as they are, which checks them. */
export const BUILD_OPTIONS: Options<Pick<CommonOptions, "queues" | "work" | "settings" | "onThreadLost">> = {
  queues: UNCHECKED,
  work: UNCHECKED,
  settings: UNCHECKED,
  onThreadLost: UNCHECKED,
};

/** The options of both. */
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
 * @throws {InvalidOptionError} one is unknown or is not accepted.
 */
export function checkRuntimeOptions<T extends CommonOptions>(options: T, known: Options<T>): void {
  checkOptions("the options of a runtime", options, known);
  if (options.executor !== undefined) checkOptions("executor", options.executor, EXECUTOR);
}

/** The options of these names that were given. */
export function only<Given extends object, Key extends keyof Given>(
  options: Given,
  keys: Readonly<Record<Key, unknown>>,
): Pick<Given, Key> {
  const given = Object.keys(keys).filter((key) => Object.hasOwn(options, key));
  return Object.fromEntries(given.map((key) => [key, options[key as Key]])) as Pick<Given, Key>;
}

/** For an embedded runtime: what a person should see, and nothing on standard output. */
export function defaultLog(): Log {
  const encoder = new TextEncoder();
  return createLog({ level: "warn", write: (line) => Deno.stderr.writeSync(encoder.encode(line + "\n")) });
}

/** How this process is called on the record. */
export function processName(): string {
  try {
    return `${Deno.hostname()}:${Deno.pid}`;
  } catch {
    // Without the permission for the host's name, the process id tells processes of one host apart.
    return String(Deno.pid);
  }
}
