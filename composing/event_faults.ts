import type { EventType, InOrder, Subscription } from "../ports/event.ts";
import type { Handler } from "../ports/handler.ts";
import type { Kind, Queue } from "../ports/kind.ts";
import { NAME_LENGTH_MAX } from "../ports/limits.ts";
import { show } from "../ports/show.ts";
import { isEventGlob, isEventTypeName, matchesGlob } from "../shared/event_glob.ts";
import { isIntegerFrom, isRecord, kindFaults, label, nameFaults, unknownKeys } from "./declaration_faults.ts";

const QUEUE_DEFAULT = "default";
const ATTEMPTS_DEFAULT = 10;
const TIMEOUT_MS_DEFAULT = 30_000;

const TYPE_KEYS = ["type", "description", "subject", "exposure"];
const RUN_KEYS = [
  "queue",
  "maxAttempts",
  "timeout",
  "backoff",
  "isolation",
  "permissions",
  "memory",
  "ownThread",
  "unique",
  "debounce",
] as const;
const SUBSCRIPTION_KEYS = [
  "name",
  "types",
  "exposure",
  "handler",
  "coalesce",
  "data",
  "inOrder",
  "priority",
  ...RUN_KEYS,
];

/** What is wrong with an event type. */
export function eventTypeFaults(declared: EventType): string[] {
  if (!isRecord(declared)) {
    return [`an event type is ${show(declared)}, expected { type, description, subject }`];
  }
  const name = label("event type", declared.type);
  const faults = [
    ...nameFaults(name, declared.type, NAME_LENGTH_MAX),
    ...unknownKeys(name, declared, TYPE_KEYS),
  ];
  if (faults.length === 0 && !isEventTypeName(declared.type)) {
    faults.push(`${name}: expected a noun and a verb with a dot between, of letters, digits, _ and -`);
  }
  for (const key of ["description", "subject"] as const) {
    if (typeof declared[key] === "string" && declared[key] !== "") continue;
    faults.push(`${name}: ${key} is ${show(declared[key])}, expected some text`);
  }
  const { exposure } = declared;
  if (exposure !== undefined && exposure !== "internal" && exposure !== "webhook") {
    faults.push(`${name}: exposure is ${show(exposure)}, expected "internal" or "webhook"`);
  }
  return faults;
}

/** What is wrong with a subscription, its globs' matches excepted. */
export function subscriptionFaults(subscription: Subscription, queues: ReadonlyMap<string, Queue>): string[] {
  if (!isRecord(subscription)) {
    return [`a subscription is ${show(subscription)}, expected { name, types, handler }`];
  }
  const name = label("subscription", subscription.name);
  const faults = [
    ...unknownKeys(name, subscription, SUBSCRIPTION_KEYS),
    ...kindFaults(subscriptionKind(subscription), queues, "subscription"),
  ];
  const { types, coalesce, priority } = subscription;
  if (!Array.isArray(types) || types.length === 0) {
    faults.push(`${name}: types is ${show(types)}, expected a list of at least one glob of event types`);
  } else {
    for (const glob of types) {
      if (isEventGlob(glob)) continue;
      faults.push(
        `${name}: ${show(glob)} is no glob of event types, expected segments or * with dots between`,
      );
    }
  }
  if (subscription.exposure !== undefined && subscription.exposure !== "webhook") {
    faults.push(`${name}: exposure is ${show(subscription.exposure)}, expected "webhook"`);
  }
  if (coalesce !== undefined && typeof coalesce !== "boolean") {
    faults.push(`${name}: coalesce is ${show(coalesce)}, expected true or false`);
  }
  if (subscription.data !== undefined && typeof subscription.data !== "boolean") {
    faults.push(`${name}: data is ${show(subscription.data)}, expected true or false`);
  }
  const { inOrder } = subscription;
  if (inOrder !== undefined && !isInOrder(inOrder)) {
    faults.push(`${name}: inOrder is ${show(inOrder)}, expected { isWanted, take }, two functions`);
  }
  faults.push(...byFaults(name, subscription));
  if (priority !== undefined && !isIntegerFrom(priority, 1, 4)) {
    faults.push(`${name}: priority is ${show(priority)}, expected 1 (first), 2, 3 or 4`);
  }
  return faults;
}

/** No two events are the same in all of their members, and one that is not handed over would be missing from each. */
function byFaults(name: string, { unique, debounce, data }: Subscription): string[] {
  return Object.entries({ unique, debounce }).flatMap(([key, rule]) => {
    if (!isRecord(rule)) return [];
    if (rule!.by === undefined) return [`${name}: ${key} has no by, expected paths of the event`];
    if (data !== false || !Array.isArray(rule!.by)) return [];
    return rule!.by.filter((path) => /^data\./.test(path)).map((path) =>
      `${name}: ${key}.by holds ${show(path)}, but its events come without data`
    );
  });
}

function isInOrder(value: Partial<InOrder>): boolean {
  return isRecord(value) && typeof value.isWanted === "function" && typeof value.take === "function";
}

/** Which globs of a subscription match nothing. */
export function unmatchedGlobFaults(
  subscription: Subscription,
  types: ReadonlyMap<string, EventType>,
): string[] {
  if (!isRecord(subscription) || !Array.isArray(subscription.types)) return [];
  // Which types are exposed is the other domains' affair, and may be none.
  if (subscription.exposure !== undefined) return [];
  return subscription.types
    .filter(isEventGlob)
    .filter((glob) => ![...types.keys()].some((type) => typeof type === "string" && matchesGlob(glob, type)))
    .map((glob) => {
      const declared = [...types.keys()].map((type) => show(type)).join(", ") || "none";
      return `${label("subscription", subscription.name)}: ${show(glob)} matches no declared event type, ` +
        `declared are ${declared}`;
    });
}

/** A subscription to exposed types alone, with those types in the place of its globs. */
export function resolveExposure(
  subscription: Subscription,
  types: ReadonlyMap<string, EventType>,
): Subscription {
  if (subscription.exposure === undefined) return subscription;
  const exposed = [...types.values()].filter(({ type, exposure }) =>
    exposure === subscription.exposure && subscription.types.some((glob) => matchesGlob(glob, type))
  );
  return { ...subscription, types: exposed.map(({ type }) => type) };
}

/** The kind of a subscription's jobs. */
export function subscriptionKind(subscription: Subscription): Kind {
  const given = Object.fromEntries(
    RUN_KEYS.filter((key) => subscription[key] !== undefined).map((key) => [key, subscription[key]]),
  );
  return {
    queue: QUEUE_DEFAULT,
    maxAttempts: ATTEMPTS_DEFAULT,
    timeout: TIMEOUT_MS_DEFAULT,
    ...given,
    name: subscription.name,
    // Its args are the event as the relay made it.
    handler: subscription.handler as Handler | string | URL,
  };
}
