import { CompositionError } from "./errors.ts";
import type { Kind, Periodic, Queue, Registrar } from "./kind.ts";
import { DELAY_MS_MAX, NAME_LENGTH_MAX } from "./limits.ts";
import type { Schedule } from "./schedule.ts";

/** What an application is made of: what its domains contribute, and the central queue table. */
export interface CompositionInput {
  /** One per domain. */
  readonly registrars: readonly Registrar[];
  /** The queue table. `maintenance` (2) exists by itself; without a table there is `default` (5) too. */
  readonly queues?: readonly Queue[];
}

/** A composition whose declarations have been checked against each other. */
export interface Composition {
  /** Kinds by name, those of the periodics included. */
  readonly kinds: ReadonlyMap<string, Kind>;
  /** Queues by name. */
  readonly queues: ReadonlyMap<string, Queue>;
  /** Periodics by name. */
  readonly periodics: ReadonlyMap<string, Periodic>;
}

/** The queue of the periodics. */
export const MAINTENANCE_QUEUE: string = "maintenance";

/** What the kind of a periodic's jobs begins with. */
export const PERIODIC_PREFIX: string = "periodic:";

/** The shortest period, in ms. */
export const PERIOD_MS_MIN: number = 100;

const PERIODIC_TIMEOUT_MS_MAX = 10 * 60 * 1000;
const MEMORY_BYTES_MIN = 64 * 1024 * 1024;
const CONCURRENCY_MAX = 10_000;
const ATTEMPTS_MAX = 1_000_000;

/**
 * Checks all declarations and puts them together.
 *
 * @throws {CompositionError} naming every fault at once.
 */
export function compose(input: CompositionInput, schedule: Schedule): Composition {
  const faults: string[] = [];
  const queues = composeQueues(input.queues, faults);
  const kinds = new Map<string, Kind>();
  const periodics = new Map<string, Periodic>();
  for (const registrar of input.registrars) {
    for (const kind of registrar.kinds ?? []) {
      faults.push(...kindFaults(kind, queues));
      if (typeof kind.name === "string" && kind.name.startsWith(PERIODIC_PREFIX)) {
        faults.push(
          `${label("kind", kind.name)}: names that begin with ${PERIODIC_PREFIX} are the periodics'`,
        );
      }
      if (kinds.has(kind.name)) faults.push(`${label("kind", kind.name)} is declared twice`);
      kinds.set(kind.name, kind);
    }
    for (const periodic of registrar.periodics ?? []) {
      faults.push(...periodicFaults(periodic, schedule));
      if (periodics.has(periodic.name)) faults.push(`${label("periodic", periodic.name)} is declared twice`);
      periodics.set(periodic.name, periodic);
    }
  }
  if (faults.length > 0) throw new CompositionError(faults);
  for (const periodic of periodics.values()) {
    const kind = periodicKind(periodic, schedule);
    kinds.set(kind.name, kind);
  }
  return { kinds, queues, periodics };
}

/** The kind of a periodic's jobs. A failed run is not retried: the next tick is the retry. */
export function periodicKind(periodic: Periodic, schedule: Schedule): Kind {
  return {
    name: PERIODIC_PREFIX + periodic.name,
    queue: MAINTENANCE_QUEUE,
    maxAttempts: 1,
    timeout: Math.min(periodMs(periodic, schedule), PERIODIC_TIMEOUT_MS_MAX),
    handler: periodic.handler,
    ...(periodic.isolation !== undefined ? { isolation: periodic.isolation } : {}),
    ...(periodic.permissions !== undefined ? { permissions: periodic.permissions } : {}),
    ...(periodic.memory !== undefined ? { memory: periodic.memory } : {}),
  };
}

function periodMs(periodic: Periodic, schedule: Schedule): number {
  if ("every" in periodic) return periodic.every;
  // Between two ticks of a cron expression the distance varies; the limit is 10 min, so one distance is enough.
  const first = schedule.next(periodic.cron, periodic.timezone, 0);
  const second = first === null ? null : schedule.next(periodic.cron, periodic.timezone, first);
  return first === null || second === null ? PERIODIC_TIMEOUT_MS_MAX : second - first;
}

function composeQueues(table: readonly Queue[] | undefined, faults: string[]): Map<string, Queue> {
  const queues = new Map<string, Queue>([[MAINTENANCE_QUEUE, { name: MAINTENANCE_QUEUE, concurrency: 2 }]]);
  if (table === undefined) queues.set("default", { name: "default", concurrency: 5 });
  const seen = new Set<string>();
  for (const queue of table ?? []) {
    const name = label("queue", queue.name);
    faults.push(...nameFaults(name, queue.name, NAME_LENGTH_MAX));
    if (!isIntegerFrom(queue.concurrency, 1, CONCURRENCY_MAX)) {
      faults.push(
        `${name}: concurrency is ${queue.concurrency}, expected an integer from 1 to ${CONCURRENCY_MAX}`,
      );
    }
    if (seen.has(queue.name)) faults.push(`${name} is declared twice`);
    seen.add(queue.name);
    queues.set(queue.name, queue);
  }
  return queues;
}

function kindFaults(kind: Kind, queues: ReadonlyMap<string, Queue>): string[] {
  const name = label("kind", kind.name);
  const faults = nameFaults(name, kind.name, NAME_LENGTH_MAX);
  if (!queues.has(kind.queue)) {
    const known = [...queues.keys()].map((queue) => JSON.stringify(queue)).join(", ");
    faults.push(`${name}: its queue ${show(kind.queue)} is not declared, declared are ${known}`);
  }
  if (!isIntegerFrom(kind.maxAttempts, 1, ATTEMPTS_MAX)) {
    faults.push(`${name}: maxAttempts is ${kind.maxAttempts}, expected an integer from 1 to ${ATTEMPTS_MAX}`);
  }
  if (!(kind.timeout > 0 && kind.timeout <= DELAY_MS_MAX)) {
    faults.push(`${name}: timeout is ${kind.timeout}, expected ms above 0 and at most ${DELAY_MS_MAX}`);
  }
  if (kind.backoff !== undefined && typeof kind.backoff !== "function") {
    faults.push(
      `${name}: backoff is ${typeof kind.backoff}, expected a function of the attempt that returns ms`,
    );
  }
  faults.push(...handlerFaults(name, kind));
  return faults;
}

function periodicFaults(periodic: Periodic, schedule: Schedule): string[] {
  const name = label("periodic", periodic.name);
  const faults = nameFaults(name, periodic.name, NAME_LENGTH_MAX - PERIODIC_PREFIX.length);
  if ("every" in periodic && "cron" in periodic) {
    faults.push(`${name}: has both every and cron, expected one of them`);
  } else if ("every" in periodic) {
    if (!isIntegerFrom(periodic.every, PERIOD_MS_MIN, DELAY_MS_MAX)) {
      faults.push(`${name}: every is ${periodic.every}, expected whole ms, at least ${PERIOD_MS_MIN}`);
    }
  } else if ("cron" in periodic) {
    try {
      schedule.check(periodic.cron, periodic.timezone);
    } catch (error) {
      faults.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  } else {
    faults.push(`${name}: has neither every nor cron with a timezone`);
  }
  faults.push(...handlerFaults(name, periodic));
  return faults;
}

function handlerFaults(
  name: string,
  declared: Pick<Kind, "handler" | "isolation" | "permissions" | "memory" | "ownThread">,
): string[] {
  const faults: string[] = [];
  const { handler, isolation, memory } = declared;
  const isModule = typeof handler === "string" || handler instanceof URL;
  if (!isModule && typeof handler !== "function") {
    faults.push(`${name}: has no handler, expected a module specifier or a function`);
  } else if (handler === "") {
    faults.push(`${name}: its handler is an empty string, expected a module specifier`);
  }
  if (isolation !== undefined && isolation !== "thread" && isolation !== "process") {
    faults.push(`${name}: isolation is ${show(isolation)}, expected "thread" or "process"`);
  }
  if (memory !== undefined && !isIntegerFrom(memory, MEMORY_BYTES_MIN, Number.MAX_SAFE_INTEGER)) {
    faults.push(`${name}: memory is ${memory}, expected whole bytes, at least ${MEMORY_BYTES_MIN} (64 MiB)`);
  }
  const confined = isolation === "process" || declared.permissions !== undefined || memory !== undefined ||
    declared.ownThread === true;
  if (typeof handler === "function" && confined) {
    faults.push(
      `${name}: a function runs in the main thread, expected a module for isolation, permissions or memory`,
    );
  }
  return faults;
}

function nameFaults(label: string, name: unknown, lengthMax: number): string[] {
  if (typeof name !== "string" || name === "") return [`${label}: the name is empty, expected some text`];
  if (name.length > lengthMax) {
    return [`${label}: the name has ${name.length} characters, the most is ${lengthMax}`];
  }
  // deno-lint-ignore no-control-regex
  if (/[\u0000-\u001f\u007f]/.test(name) || !name.isWellFormed()) {
    return [`${label}: the name holds a control character or half a surrogate pair`];
  }
  if (name.trim() !== name) return [`${label}: the name begins or ends with white space`];
  return [];
}

function label(what: string, name: unknown): string {
  const shown = show(name);
  return `${what} ${shown.length > 200 ? shown.slice(0, 200) + "..." : shown}`;
}

function show(value: unknown): string {
  return JSON.stringify(value) ?? String(value);
}

function isIntegerFrom(value: unknown, min: number, max: number): boolean {
  return typeof value === "number" && Number.isInteger(value) && value >= min && value <= max;
}
