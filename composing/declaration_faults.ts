import { isArgsSchema } from "../ports/args_schema.ts";
import type { Beside, Kind, Queue } from "../ports/kind.ts";
import { DELAY_MS_MAX, NAME_LENGTH_MAX, PERIODIC_PREFIX, TIMER_MS_MAX } from "../ports/limits.ts";
import type { Permissions } from "../ports/permissions.ts";
import type { PartMigrations, Registrar } from "../ports/registrar.ts";
import type { Service } from "../ports/runtime.ts";
import { show } from "../ports/show.ts";
import {
  callback,
  flag,
  integer,
  isRecord,
  limitMs,
  number,
  oneOf,
  type Option,
  optionFaults,
  type Options,
  required,
  UNCHECKED,
} from "../shared/options.ts";
import { keyRuleFaults } from "./key_rule_faults.ts";

const MEMORY_BYTES_MIN = 64 * 1024 * 1024;
const CONCURRENCY_MAX = 10_000;
const ATTEMPTS_MAX = 1_000_000;

const REGISTRAR: Options<Registrar> = {
  kinds: UNCHECKED,
  periodics: UNCHECKED,
  eventTypes: UNCHECKED,
  subscriptions: UNCHECKED,
  keepEvents: callback("a function"),
  alerts: callback("a function"),
  services: UNCHECKED,
  migrations: UNCHECKED,
};

/** Each member of a queue. */
export const QUEUE: Options<Queue> = {
  name: UNCHECKED,
  concurrency: required(integer({ min: 1, max: CONCURRENCY_MAX })),
};

/** What says where a handler runs. */
export const PLACE: Options<Pick<Kind, "handler" | "isolation" | "permissions" | "memory">> = {
  handler: UNCHECKED,
  isolation: { ...oneOf(["thread", "process"]), expected: '"thread" or "process"' },
  permissions: UNCHECKED,
  memory: {
    ...integer({ min: MEMORY_BYTES_MIN, max: Number.MAX_SAFE_INTEGER }),
    expected: `whole bytes, at least ${MEMORY_BYTES_MIN} (64 MiB)`,
  },
};

/** What says how attempts are made. */
export const ATTEMPTS: Options<
  Pick<Kind, "maxAttempts" | "timeout" | "backoff" | "ownThread" | "discardAlert">
> = {
  maxAttempts: integer({ min: 1, max: ATTEMPTS_MAX }),
  timeout: limitMs({ max: DELAY_MS_MAX }),
  backoff: callback("a function of the attempt that returns ms"),
  ownThread: flag(),
  discardAlert: flag(),
};

/** Each member of a kind. */
export const KIND: Options<Kind> = {
  name: UNCHECKED,
  args: { expected: "a schema of a Standard Schema library, version 1", accepts: isArgsSchema },
  queue: UNCHECKED,
  ...ATTEMPTS,
  maxAttempts: required(ATTEMPTS.maxAttempts),
  timeout: required(ATTEMPTS.timeout),
  beside: UNCHECKED,
  unique: UNCHECKED,
  debounce: UNCHECKED,
  ...PLACE,
};

/** Each member of `beside`. */
export const BESIDE: Options<Beside> = {
  afterMs: required({ ...number({ min: 0, max: TIMER_MS_MAX }), expected: `ms from 0 to ${TIMER_MS_MAX}` }),
  most: required(integer({ min: 1, max: CONCURRENCY_MAX })),
};

const TEXTS: Option = {
  expected: "a list of texts",
  accepts: (value) =>
    Array.isArray(value) && value.every((entry) => typeof entry === "string" && entry !== ""),
};
const TEXTS_OR_ALL: Option = {
  expected: "a list of texts or true",
  accepts: (value) => value === true || TEXTS.accepts(value),
};
const PERMISSIONS: Options<Permissions> = {
  read: TEXTS_OR_ALL,
  write: TEXTS_OR_ALL,
  net: TEXTS_OR_ALL,
  denyNet: TEXTS,
  env: TEXTS_OR_ALL,
  run: TEXTS_OR_ALL,
  sys: TEXTS_OR_ALL,
  ffi: TEXTS_OR_ALL,
  import: TEXTS_OR_ALL,
  enqueue: TEXTS_OR_ALL,
};

/** What is wrong with a registrar itself. */
export function registrarFaults(registrar: Registrar): string[] {
  if (!isRecord(registrar)) {
    return [
      `a registrar is ${show(registrar)}, expected { ${Object.keys(REGISTRAR).join("?, ")}? }`,
    ];
  }
  // It has no members that are unknown, and would be a registrar of nothing.
  if (registrar instanceof Promise) {
    return ["a registrar is a promise, expected what it resolves to: await it before the runtime is built"];
  }
  return optionFaults("a registrar", registrar, REGISTRAR);
}

/** What is wrong with what works beside the jobs. */
export function serviceFaults(service: Service): string[] {
  const steps = ["open", "start", "stop"] as const;
  if (isRecord(service) && steps.every((step) => typeof service[step] === "function")) return [];
  return [`services of a registrar hold ${show(service)}, expected { open(), start(), stop() }`];
}

/** What is wrong with the history of a part's tables. */
export function migrationsFaults(migrations: PartMigrations, taken: ReadonlySet<string>): string[] {
  if (!isRecord(migrations)) {
    return [`migrations of a registrar hold ${show(migrations)}, expected { part, steps }`];
  }
  const name = label("migrations of the part", migrations.part);
  const faults = nameFaults(name, migrations.part, NAME_LENGTH_MAX);
  if (taken.has(migrations.part)) faults.push(`${name}: the name is taken`);
  if (!Array.isArray(migrations.steps)) {
    faults.push(`${name}: steps is ${show(migrations.steps)}, expected a list`);
  }
  return faults;
}

/** What is wrong with a queue. */
export function queueFaults(queue: Queue): string[] {
  if (!isRecord(queue)) return [`a queue is ${show(queue)}, expected { name, concurrency }`];
  const name = label("queue", queue.name);
  return [...nameFaults(name, queue.name, NAME_LENGTH_MAX), ...optionFaults(name, queue, QUEUE)];
}

/** What is wrong with a kind, or with the kind that something else becomes. */
export function kindFaults(kind: Kind, queues: ReadonlyMap<string, Queue>, what: string = "kind"): string[] {
  if (!isRecord(kind)) {
    return [`a kind is ${show(kind)}, expected { name, queue, maxAttempts, timeout, handler }`];
  }
  const name = label(what, kind.name);
  const faults = [...nameFaults(name, kind.name, NAME_LENGTH_MAX), ...optionFaults(name, kind, KIND)];
  if (typeof kind.name === "string" && kind.name.startsWith(PERIODIC_PREFIX)) {
    faults.push(`${name}: names that begin with ${PERIODIC_PREFIX} are the periodics'`);
  }
  faults.push(...queueNameFaults(name, kind.queue, queues), ...keyRuleFaults(name, kind));
  faults.push(...besideFaults(name, kind.beside), ...handlerFaults(name, kind));
  return faults;
}

function besideFaults(name: string, beside: Kind["beside"]): string[] {
  if (beside === undefined) return [];
  if (!isRecord(beside)) return [`${name}: beside is ${show(beside)}, expected { afterMs, most }`];
  return optionFaults(name, beside, BESIDE, "beside.");
}

/** What is wrong with the queue that something names. */
export function queueNameFaults(name: string, queue: string, queues: ReadonlyMap<string, Queue>): string[] {
  if (queues.has(queue)) return [];
  const known = [...queues.keys()].map((each) => JSON.stringify(each)).join(", ");
  return [`${name}: its queue ${show(queue)} is not declared, declared are ${known}`];
}

/** What is wrong with a handler and where it runs. */
export function handlerFaults(
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
  const confined = isolation === "process" || declared.permissions !== undefined || memory !== undefined ||
    declared.ownThread === true;
  for (const key of ["permissions", "memory"] as const) {
    if (declared[key] === undefined || isolation !== "thread") continue;
    faults.push(
      `${name}: has both ${key} and isolation "thread", expected "process": ${key} can bind a process alone`,
    );
  }
  if (memory !== undefined && declared.ownThread === true) {
    faults.push(
      `${name}: has both memory and ownThread, expected one: with memory each job has a process to itself`,
    );
  }
  if (declared.permissions !== undefined) faults.push(...permissionFaults(name, declared.permissions));
  if (typeof handler === "function" && confined) {
    faults.push(
      `${name}: a function runs in the main thread, expected a module for isolation, permissions or memory`,
    );
  }
  return faults;
}

/** What is wrong with the kinds that a handler may enqueue. */
export function enqueueFaults(
  { name, permissions }: Pick<Kind, "name" | "permissions">,
  kinds: ReadonlySet<string>,
): string[] {
  const allowed: unknown = isRecord(permissions) ? permissions?.enqueue : undefined;
  if (!Array.isArray(allowed)) return [];
  return allowed.filter((kind) => !kinds.has(kind)).map((kind) =>
    `${label("the handler of", name)}: permissions.enqueue names ${show(kind)}, which is no declared kind`
  );
}

/** A misspelt permission must not read as none asked for, nor as all given. */
function permissionFaults(name: string, permissions: Permissions): string[] {
  if (!isRecord(permissions)) {
    return [`${name}: permissions is ${show(permissions)}, expected { read: [...], ... }`];
  }
  return optionFaults(name, permissions, PERMISSIONS, "permissions.");
}

/** What is wrong with a name. */
export function nameFaults(label: string, name: unknown, lengthMax: number): string[] {
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

/** How a declaration is named in messages. */
export function label(what: string, name: unknown): string {
  return `${what} ${show(name)}`;
}
