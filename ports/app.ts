import type { Queue } from "./kind.ts";
import type { RegistrarInput } from "./registrar.ts";

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

/**
 * Puts an application together: its domains and its queue table. Data only: the runtime checks it, and names all faults at
 * once.
 *
 * @example
 * ```ts ignore
 * export default defineApp({ registrars: [orders, mail, search], queues: { outbound: 8, notify: 4 } });
 * ```
 */
export function defineApp(spec: AppSpec): App {
  const table = { ...DEFAULT_QUEUES, ...spec.queues };
  return {
    registrars: spec.registrars,
    queues: Object.entries(table).map(([name, concurrency]) => ({ name, concurrency })),
  };
}
