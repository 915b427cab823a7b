import {
  compose,
  type Composition,
  CompositionError,
  type CompositionInput,
  type Declared,
  errorText,
  InvalidOptionError,
  PERIODIC_PREFIX,
  type Schedule,
  UndeclaredQueueError,
} from "../ports/mod.ts";
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

type Failed = { readonly ok: false; readonly error: unknown };

function attempt<T>(make: () => T): { readonly ok: true; readonly value: T } | Failed {
  try {
    return { ok: true, value: make() };
  } catch (error) {
    return { ok: false, error };
  }
}

/** What others may enqueue beside the runtime. */
export function declaredOf(composition: Composition): Declared {
  const kinds = [...composition.kinds.values()].filter(({ name }) => !name.startsWith(PERIODIC_PREFIX));
  return {
    kinds: kinds.map(({ name, queue, maxAttempts }) => ({ name, queue, maxAttempts })),
    queues: [...composition.queues.keys()],
  };
}

/** Which queues this process works. */
export function workedQueues(composition: Composition, asked: readonly string[] | undefined): string[] {
  const declared = [...composition.queues.keys()];
  if (asked?.length === 0) throw new InvalidOptionError("work", "[]", "at least one queue");
  for (const queue of asked ?? []) {
    if (!composition.queues.has(queue)) throw new UndeclaredQueueError(queue, declared);
  }
  return asked === undefined ? declared : [...new Set(asked)];
}
