import { CompositionError } from "../ports/errors.ts";
import type { Queue } from "../ports/kind.ts";
import type { RegistrarInput } from "../ports/registrar.ts";
import { show } from "../ports/show.ts";
import { isRecord, list, optionFaults, type Options, required } from "../shared/options.ts";
import { queueFaults } from "./declaration_faults.ts";

/** What {@linkcode defineApp} takes. */
export interface AppSpec {
  /** One per domain. */
  readonly registrars: readonly RegistrarInput[];
  /**
   * The queue table: how many handlers of each queue run at once in one process. `default` (5), `maintenance` (2) and
   * `webhook` (16) are there by themselves, and can be given another number.
   */
  readonly queues?: Readonly<Record<string, number>>;
}

/** A composition root's data: what runtimes and the worker program take. */
export interface App {
  /** One per domain. */
  readonly registrars: readonly RegistrarInput[];
  /** The queue table, the defaults included. */
  readonly queues: readonly Queue[];
}

/** The queues that every application has, and how many of each run at once in one process. */
export const DEFAULT_QUEUES: Readonly<Record<string, number>> = { default: 5, maintenance: 2, webhook: 16 };

const APP: Options<AppSpec> = {
  registrars: required(list("a list")),
  queues: { expected: "numbers by the names of queues", accepts: isRecord },
};

/**
 * Puts an application together: its domains and its queue table. Data only: what the domains declare is checked by the
 * runtime.
 *
 * @throws {CompositionError} naming every fault of the table, and members that are not known.
 *
 * @example
 * ```ts
 * export default defineApp({ registrars: [orders, mail, search], queues: { outbound: 8, notify: 4 } });
 * ```
 */
export function defineApp(spec: AppSpec): App {
  if (!isRecord(spec)) {
    throw new CompositionError([`the application is ${show(spec)}, expected { registrars, queues? }`]);
  }
  const { registrars, queues: given = {} } = spec;
  const faults = optionFaults("the application", spec, APP);
  const table = { ...DEFAULT_QUEUES, ...given };
  const queues = Object.entries(table).map(([name, concurrency]) => ({ name, concurrency }));
  if (isRecord(given)) faults.push(...queues.flatMap((queue) => queueFaults(queue)));
  if (faults.length > 0) throw new CompositionError(faults);
  return { registrars, queues };
}
