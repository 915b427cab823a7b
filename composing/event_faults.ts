import type { EventType, InOrder, Subscription } from "../ports/event.ts";
import type { Handler } from "../ports/handler.ts";
import type { Kind, Queue } from "../ports/kind.ts";
import { NAME_LENGTH_MAX } from "../ports/limits.ts";
import { show } from "../ports/show.ts";
import { isEventGlob, isEventTypeName, matchesGlob } from "../shared/event_glob.ts";
import {
  flag,
  isRecord,
  oneOf,
  type Option,
  optionFaults,
  type Options,
  PRIORITY,
  required,
  UNCHECKED,
} from "../shared/options.ts";
import { kindFaults, label, nameFaults } from "./declaration_faults.ts";

const QUEUE_DEFAULT = "default";
const ATTEMPTS_DEFAULT = 10;
const TIMEOUT_MS_DEFAULT = 30_000;

const TEXT: Option = {
  expected: "some text",
  accepts: (value) => typeof value === "string" && value !== "",
};
const EVENT_TYPE: Options<EventType> = {
  type: UNCHECKED,
  description: required(TEXT),
  subject: required(TEXT),
  exposure: { ...oneOf(["internal", "webhook"]), expected: '"internal" or "webhook"' },
};

/** What a subscription says of its kind, which checks it. */
const RUN = {
  queue: UNCHECKED,
  maxAttempts: UNCHECKED,
  timeout: UNCHECKED,
  backoff: UNCHECKED,
  isolation: UNCHECKED,
  permissions: UNCHECKED,
  memory: UNCHECKED,
  ownThread: UNCHECKED,
  unique: UNCHECKED,
  debounce: UNCHECKED,
} as const;

/** Each member of a subscription. */
export const SUBSCRIPTION: Options<Subscription> = {
  name: UNCHECKED,
  types: required({
    expected: "a list of at least one glob of event types",
    accepts: (types) => Array.isArray(types) && types.length > 0,
  }),
  exposure: { ...oneOf(["webhook"]), expected: '"webhook"' },
  handler: UNCHECKED,
  coalesce: flag(),
  data: flag(),
  inOrder: { expected: "{ isWanted, take }, two functions", accepts: isInOrder },
  priority: PRIORITY,
  ...RUN,
};

/** What is wrong with an event type. */
export function eventTypeFaults(declared: EventType): string[] {
  if (!isRecord(declared)) {
    return [`an event type is ${show(declared)}, expected { type, description, subject }`];
  }
  const name = label("event type", declared.type);
  const faults = nameFaults(name, declared.type, NAME_LENGTH_MAX);
  if (faults.length === 0 && !isEventTypeName(declared.type)) {
    faults.push(`${name}: expected a noun and a verb with a dot between, of letters, digits, _ and -`);
  }
  return [...faults, ...optionFaults(name, declared, EVENT_TYPE)];
}

/** What is wrong with a subscription, its globs' matches excepted. */
export function subscriptionFaults(subscription: Subscription, queues: ReadonlyMap<string, Queue>): string[] {
  if (!isRecord(subscription)) {
    return [`a subscription is ${show(subscription)}, expected { name, types, handler }`];
  }
  const name = label("subscription", subscription.name);
  const faults = [
    ...optionFaults(name, subscription, SUBSCRIPTION),
    ...kindFaults(subscriptionKind(subscription), queues, "subscription"),
    ...byFaults(name, subscription),
  ];
  for (const glob of Array.isArray(subscription.types) ? subscription.types : []) {
    if (isEventGlob(glob)) continue;
    faults.push(
      `${name}: ${show(glob)} is no glob of event types, expected segments or * with dots between`,
    );
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

function isInOrder(value: unknown): boolean {
  const { isWanted, take } = (isRecord(value) ? value : {}) as Partial<InOrder>;
  return typeof isWanted === "function" && typeof take === "function";
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
  const given = Object.entries(subscription).filter(([key, value]) => key in RUN && value !== undefined);
  return {
    queue: QUEUE_DEFAULT,
    maxAttempts: ATTEMPTS_DEFAULT,
    timeout: TIMEOUT_MS_DEFAULT,
    ...Object.fromEntries(given),
    name: subscription.name,
    // Its args are the event as the relay made it.
    handler: subscription.handler as Handler | string | URL,
  };
}
