import { isArgsSchema } from "../ports/args_schema.ts";
import type { Kind, Queue } from "../ports/kind.ts";
import { DELAY_MS_MAX, NAME_LENGTH_MAX, PERIODIC_PREFIX, TIMER_MS_MAX } from "../ports/limits.ts";
import type { Permissions } from "../ports/permissions.ts";
import type { PartMigrations, Registrar } from "../ports/registrar.ts";
import type { Service } from "../ports/runtime.ts";
import { show } from "../ports/show.ts";
import { keyRuleFaults } from "./key_rule_faults.ts";

const MEMORY_BYTES_MIN = 64 * 1024 * 1024;
const CONCURRENCY_MAX = 10_000;
const ATTEMPTS_MAX = 1_000_000;

const REGISTRAR_KEYS = [
  "kinds",
  "periodics",
  "eventTypes",
  "subscriptions",
  "keepEvents",
  "alerts",
  "services",
  "migrations",
];
const QUEUE_KEYS = ["name", "concurrency"];
/** What says where a handler runs. */
export const CONFINED_KEYS: readonly string[] = ["handler", "isolation", "permissions", "memory"];
const KIND_KEYS = [
  "name",
  "args",
  "queue",
  "maxAttempts",
  "timeout",
  "backoff",
  "ownThread",
  "discardAlert",
  "beside",
  "unique",
  "debounce",
  ...CONFINED_KEYS,
];
const BESIDE_KEYS = ["afterMs", "most"];
const PERMISSION_KEYS = ["read", "write", "net", "denyNet", "env", "run", "sys", "ffi", "import", "enqueue"];

/** What is wrong with a registrar itself. */
export function registrarFaults(registrar: Registrar): string[] {
  if (!isRecord(registrar)) {
    return [
      `a registrar is ${show(registrar)}, expected { ${REGISTRAR_KEYS.map((key) => `${key}?`).join(", ")} }`,
    ];
  }
  // It has no members that are unknown, and would be a registrar of nothing.
  if (registrar instanceof Promise) {
    return ["a registrar is a promise, expected what it resolves to: await it before the runtime is built"];
  }
  const faults = unknownKeys("a registrar", registrar, REGISTRAR_KEYS);
  for (const key of ["keepEvents", "alerts"] as const) {
    const given: unknown = registrar[key];
    if (given === undefined || typeof given === "function") continue;
    faults.push(`${key} of a registrar is ${show(given)}, expected a function`);
  }
  return faults;
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
  const faults = [...nameFaults(name, queue.name, NAME_LENGTH_MAX), ...unknownKeys(name, queue, QUEUE_KEYS)];
  if (!isIntegerFrom(queue.concurrency, 1, CONCURRENCY_MAX)) {
    faults.push(
      `${name}: concurrency is ${show(queue.concurrency)}, expected an integer from 1 to ${CONCURRENCY_MAX}`,
    );
  }
  return faults;
}

/** What is wrong with a kind, or with the kind that something else becomes. */
export function kindFaults(kind: Kind, queues: ReadonlyMap<string, Queue>, what: string = "kind"): string[] {
  if (!isRecord(kind)) {
    return [`a kind is ${show(kind)}, expected { name, queue, maxAttempts, timeout, handler }`];
  }
  const name = label(what, kind.name);
  const faults = [...nameFaults(name, kind.name, NAME_LENGTH_MAX), ...unknownKeys(name, kind, KIND_KEYS)];
  if (typeof kind.name === "string" && kind.name.startsWith(PERIODIC_PREFIX)) {
    faults.push(`${name}: names that begin with ${PERIODIC_PREFIX} are the periodics'`);
  }
  faults.push(...queueNameFaults(name, kind.queue, queues), ...kindNumberFaults(name, kind));
  if (kind.args !== undefined && !isArgsSchema(kind.args)) {
    faults.push(
      `${name}: args is ${typeof kind.args}, expected a schema of a Standard Schema library, version 1`,
    );
  }
  for (const key of ["ownThread", "discardAlert"] as const) faults.push(...flagFaults(name, key, kind[key]));
  faults.push(...besideFaults(name, kind.beside), ...keyRuleFaults(name, kind), ...handlerFaults(name, kind));
  return faults;
}

function besideFaults(name: string, beside: Kind["beside"]): string[] {
  if (beside === undefined) return [];
  if (!isRecord(beside)) return [`${name}: beside is ${show(beside)}, expected { afterMs, most }`];
  const faults = unknownKeys(`${name}: beside`, beside, BESIDE_KEYS);
  const { afterMs, most } = beside;
  if (typeof afterMs !== "number" || !(afterMs >= 0 && afterMs <= TIMER_MS_MAX)) {
    faults.push(`${name}: beside.afterMs is ${show(afterMs)}, expected ms from 0 to ${TIMER_MS_MAX}`);
  }
  if (!isIntegerFrom(most, 1, CONCURRENCY_MAX)) {
    faults.push(`${name}: beside.most is ${show(most)}, expected an integer from 1 to ${CONCURRENCY_MAX}`);
  }
  return faults;
}

/** What is wrong with the queue that something names. */
export function queueNameFaults(name: string, queue: string, queues: ReadonlyMap<string, Queue>): string[] {
  if (queues.has(queue)) return [];
  const known = [...queues.keys()].map((each) => JSON.stringify(each)).join(", ");
  return [`${name}: its queue ${show(queue)} is not declared, declared are ${known}`];
}

/** What is wrong with the attempts of a kind, their limit and the delay between them. */
export function kindNumberFaults(
  name: string,
  { maxAttempts, timeout, backoff }: Pick<Kind, "maxAttempts" | "timeout" | "backoff">,
): string[] {
  const faults: string[] = [];
  if (!isIntegerFrom(maxAttempts, 1, ATTEMPTS_MAX)) {
    faults.push(
      `${name}: maxAttempts is ${show(maxAttempts)}, expected an integer from 1 to ${ATTEMPTS_MAX}`,
    );
  }
  if (typeof timeout !== "number" || !(timeout > 0 && timeout <= DELAY_MS_MAX)) {
    faults.push(`${name}: timeout is ${show(timeout)}, expected ms above 0 and at most ${DELAY_MS_MAX}`);
  }
  if (backoff !== undefined && typeof backoff !== "function") {
    faults.push(`${name}: backoff is ${typeof backoff}, expected a function of the attempt that returns ms`);
  }
  return faults;
}

/** What is wrong with a flag. A text such as "false" would count as true. */
export function flagFaults(name: string, key: string, value: unknown): string[] {
  if (value === undefined || typeof value === "boolean") return [];
  return [`${name}: ${key} is ${show(value)}, expected true or false`];
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
  if (isolation !== undefined && isolation !== "thread" && isolation !== "process") {
    faults.push(`${name}: isolation is ${show(isolation)}, expected "thread" or "process"`);
  }
  if (memory !== undefined && !isIntegerFrom(memory, MEMORY_BYTES_MIN, Number.MAX_SAFE_INTEGER)) {
    faults.push(
      `${name}: memory is ${show(memory)}, expected whole bytes, at least ${MEMORY_BYTES_MIN} (64 MiB)`,
    );
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
  const faults = unknownKeys(`${name}: permissions`, permissions, PERMISSION_KEYS);
  for (const [key, value] of Object.entries(permissions)) {
    const isList = Array.isArray(value) && value.every((entry) => typeof entry === "string" && entry !== "");
    const isAll = value === true && key !== "denyNet";
    if (isAll || isList || !PERMISSION_KEYS.includes(key)) continue;
    faults.push(
      `${name}: permissions.${key} is ${show(value)}, expected a list of texts${
        key === "denyNet" ? "" : " or true"
      }`,
    );
  }
  return faults;
}

/** What is not known is refused: a misspelt `permissions` would run a kind without any bounds. */
export function unknownKeys(name: string, value: object, known: readonly string[]): string[] {
  return Object.keys(value).filter((key) => !known.includes(key)).map((key) =>
    `${name}: ${show(key)} is not known, expected ${known.join(", ")}`
  );
}

/** Whether a value can have members. */
export function isRecord(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
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

/** Whether a value is a whole number within bounds. */
export function isIntegerFrom(value: unknown, min: number, max: number): boolean {
  return typeof value === "number" && Number.isInteger(value) && value >= min && value <= max;
}
