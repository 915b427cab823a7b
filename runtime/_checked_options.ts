import { compose } from "../composing/compose.ts";
import type { Composition, CompositionInput } from "../ports/composition.ts";
import { errorText } from "../ports/error_text.ts";
import { CompositionError, InvalidOptionError, UndeclaredQueueError } from "../ports/errors.ts";
import type { Schedule } from "../ports/schedule.ts";
import { checkKeys } from "../shared/known_keys.ts";
import { checkLog } from "../shared/log.ts";
import { checkText } from "../shared/text.ts";
import type { RuntimeOptions } from "./options.ts";
import { resolveSettings, type Settings } from "./settings.ts";

/** What is checked before anything is built of it. */
export interface CheckedOptions extends CompositionInput {
  /** Knows cron expressions. */
  readonly schedule: Schedule;
  /** Times and sizes. */
  readonly settings?: Partial<Settings>;
}

/** Checks all that was handed over, and tells of all faults at once. */
export function checkedOptions(options: CheckedOptions): { composition: Composition; settings: Settings } {
  const [composition, settings] = [
    attempt(() => compose(options, options.schedule)),
    attempt(() => resolveSettings(options.settings)),
  ];
  if (composition.ok && settings.ok) return { composition: composition.value, settings: settings.value };
  if (composition.ok) throw (settings as Failed).error;
  const { error } = composition;
  if (settings.ok || !(error instanceof CompositionError)) throw error;
  throw new CompositionError([...error.faults, errorText(settings.error)]);
}

const KEYS = Object.keys(
  {
    registrars: true,
    queues: true,
    store: true,
    executor: true,
    schedule: true,
    services: true,
    work: true,
    settings: true,
    name: true,
    log: true,
    upkeep: true,
    onThreadLost: true,
  } satisfies Record<keyof RuntimeOptions, true>,
);

/**
 * Checks what a runtime is built of, its declarations and settings excepted.
 *
 * @throws {InvalidOptionError} naming the option, its value and what was expected.
 */
export function checkRuntimeOptions(options: RuntimeOptions): void {
  checkKeys("the options of a runtime", options, KEYS);
  const { store, executor, schedule, services, name, log, onThreadLost } = options;
  const parts = [["store", store, "claim"], ["executor", executor, "run"], [
    "schedule",
    schedule,
    "next",
  ]] as const;
  for (const [option, part, method] of parts) {
    if (typeof (part as unknown as Record<string, unknown> | undefined)?.[method] === "function") continue;
    throw new InvalidOptionError(option, part, `an object with ${method}()`);
  }
  if (services !== undefined && !Array.isArray(services)) {
    throw new InvalidOptionError("services", services, "a list of services");
  }
  if (name !== undefined) checkText("name", name);
  if (log !== undefined) checkLog("log", log);
  if (onThreadLost !== undefined && typeof onThreadLost !== "function") {
    throw new InvalidOptionError("onThreadLost", onThreadLost, "a function of the lost thread");
  }
}

type Failed = { readonly ok: false; readonly error: unknown };

function attempt<T>(make: () => T): { readonly ok: true; readonly value: T } | Failed {
  try {
    return { ok: true, value: make() };
  } catch (error) {
    return { ok: false, error };
  }
}

/** Which queues this process works. */
export function workedQueues(composition: Composition, asked: readonly string[] | undefined): string[] {
  const declared = [...composition.queues.keys()];
  if (asked !== undefined && !Array.isArray(asked)) {
    throw new InvalidOptionError("work", asked, "a list of names of queues");
  }
  if (asked?.length === 0) throw new InvalidOptionError("work", "[]", "at least one queue");
  for (const queue of asked ?? []) {
    if (!composition.queues.has(queue)) throw new UndeclaredQueueError(queue, declared);
  }
  return asked === undefined ? declared : [...new Set(asked)];
}
