import type { EventSettings } from "../../mod.ts";
import { Webhooks, type WebhookSettings } from "../../webhooks/mod.ts";
import type { EventType, Subscription } from "../../ports/event.ts";
import type { Evidence } from "./check/evidence.ts";
import { LONG_MS, MANY } from "./kinds.ts";

/** One that leaves the house and one that does not. */
export const EVENT_TYPES: readonly EventType[] = [
  {
    type: "fact.told",
    description: "Something happened. Data: { tag }.",
    subject: "one of a few",
    exposure: "webhook",
  },
  { type: "fact.kept", description: "The same, for the house alone.", subject: "one of a few" },
];

const HEAR: string = new URL("./handlers/hear.ts", import.meta.url).href;

/** Who is told. Both count on nothing but their jobs. */
export const SUBSCRIPTIONS: readonly Subscription[] = [
  subscription("fact.log", {}),
  subscription("fact.index", { coalesce: true }),
];

/** The types that webhooks tell. */
export const EXPOSED: readonly string[] = EVENT_TYPES.filter(({ exposure }) => exposure === "webhook")
  .map(({ type }) => type);

/** Everyone who is to have a job of an event, the product's own subscriber among them. */
export const SUBSCRIBERS: Evidence["subscribers"] = [
  ...SUBSCRIPTIONS.map(({ name, coalesce }) => ({
    name,
    types: EVENT_TYPES.map(({ type }) => type),
    coalesces: coalesce === true,
  })),
  { name: "webhook.fanout", types: EXPOSED, coalesces: false },
];

/** A name with two addresses, and nobody listens on the first one. */
const HALF_DEAD = { name: "half-dead.test", addresses: ["127.0.0.9", "127.0.0.1"] } as const;

/** Where webhooks go. */
export const ENDPOINTS: readonly {
  readonly name: string;
  /** A name, or an address, of this machine. */
  readonly host: string;
  readonly ordered: boolean;
  readonly signature: "v1" | "v1a";
}[] = [
  { name: "any-order", host: "127.0.0.1", ordered: false, signature: "v1" },
  { name: "in-order", host: "127.0.0.1", ordered: true, signature: "v1a" },
  { name: "two-addresses", host: HALF_DEAD.name, ordered: false, signature: "v1" },
];

/** About a tenth of the defaults. */
export const EVENT_SETTINGS: Partial<EventSettings> = {
  sweepMs: 4000,
  pollMs: 250,
  backoffMs: 200,
  backoffMaxMs: 1000,
};

/** Days become seconds, and nothing is ever given up. */
const WEBHOOK_SETTINGS: Partial<WebhookSettings> = {
  scheduleMs: [200, 500, 1000],
  maxAttempts: 1000,
  requestMs: 2000,
  retryAfterMs: 2000,
  probeMs: 1000,
  leaseMs: 6000,
};

/** The same in every process of a run. It guards nothing. */
const SECRET_KEY: string = btoa("this key keeps no secret at all!");

/** Webhooks for one runtime. */
export function makeWebhooks(): Webhooks {
  return new Webhooks({
    secretKey: SECRET_KEY,
    egress: {
      allowHttp: true,
      allowAddresses: HALF_DEAD.addresses,
      resolve: (name) =>
        name === HALF_DEAD.name
          ? Promise.resolve(HALF_DEAD.addresses)
          : Promise.reject(new Error(`Cannot resolve ${name}: no endpoint has it`)),
    },
    settings: WEBHOOK_SETTINGS,
  });
}

function subscription(name: string, change: Partial<Subscription>): Subscription {
  return {
    name,
    types: ["fact.*"],
    handler: HEAR,
    maxAttempts: MANY,
    timeout: LONG_MS,
    backoff: () => 200,
    ...change,
  };
}
