import { compose } from "../composing/compose.ts";
import type { Composition, CompositionInput } from "../ports/composition.ts";
import { errorText } from "../ports/error_text.ts";
import { CompositionError, InvalidOptionError, UndeclaredQueueError } from "../ports/errors.ts";
import type { Schedule } from "../ports/schedule.ts";
import { LOG } from "../shared/log.ts";
import {
  callback,
  checkOptions,
  list,
  type Option,
  type Options,
  required,
  text,
  UNCHECKED,
} from "../shared/options.ts";
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

const OPTIONS: Options<RuntimeOptions> = {
  registrars: UNCHECKED,
  queues: UNCHECKED,
  store: part("claim"),
  executor: part("run"),
  schedule: part("next"),
  services: list("a list of services"),
  work: UNCHECKED,
  settings: UNCHECKED,
  name: text(),
  log: LOG,
  upkeep: UNCHECKED,
  onThreadLost: callback("a function of the lost thread"),
};

/** A part of the runtime, known by one of its methods. */
function part(method: string): Option {
  return required({
    expected: `an object with ${method}()`,
    accepts: (value) => typeof (value as Record<string, unknown> | null)?.[method] === "function",
  });
}

/**
 * Checks what a runtime is built of, its declarations and settings excepted.
 *
 * @throws {InvalidOptionError} naming the option, its value and what was expected.
 */
export function checkRuntimeOptions(options: RuntimeOptions): void {
  checkOptions("the options of a runtime", options, OPTIONS);
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
