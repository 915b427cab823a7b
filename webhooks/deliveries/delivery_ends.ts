import { discard, snooze } from "../../ports/handler.ts";
import type { Inspector } from "../../ports/inspector.ts";
import type { Log } from "../../ports/log.ts";
import type { Attempts } from "./attempt.ts";
import type { Deliveries, DeliveryEntry, DeliveryKey, LoadedDelivery } from "./delivery.ts";
import type { EndpointHealth } from "../endpoints/endpoint_health.ts";
import { TEST_REPLAY } from "./test_message.ts";
import type { Turns } from "./turns.ts";
import type { WebhookSettings } from "../settings.ts";

/** Why there is nothing to do for a job. */
export const GONE = "it is gone, or its record of this delivery is";

const SPREAD_MS_MAX = 60_000;

/** What deliveries are made with. */
export interface DeliverTools {
  /** Reads and writes them. */
  readonly deliveries: Deliveries;
  /** Makes attempts. */
  readonly attempts: Attempts;
  /** Knows how endpoints are. */
  readonly health: EndpointHealth;
  /** Bounds what is under way. */
  readonly turns: Turns;
  /** Brings jobs forward. */
  readonly inspector: Pick<Inspector, "bringForward">;
  /** The numbers of the deliveries that are under way in this process. */
  readonly underWay: Set<string>;
  /** Those that the jobs of others have tried an endpoint with, and when, by `performance.now()`. */
  readonly probed: Map<string, number>;
  /** Times and bounds. */
  readonly settings: WebhookSettings;
  /** For what goes wrong. */
  readonly log: Log;
}

/** How a delivery ends that was not made. */
export interface Discarded {
  /** Why, for whoever may see the delivery. */
  readonly reason: string;
  /** Why, for whoever may see its job. Default the same. */
  readonly detail?: string;
  /** The last attempt; null when none was made. */
  readonly entry?: DeliveryEntry["entry"];
  /** How many attempts were spent. Default as many as before. */
  readonly attempts?: number;
  /** Whether a person did it. Default false. */
  readonly isByHand?: boolean;
}

/** Puts a delivery back, for a little longer than asked so that many do not come back together. Ends what is too old. */
export async function putBack(tools: DeliverTools, delivery: LoadedDelivery, ms: number): Promise<Error> {
  if (isTooOld(tools, delivery)) return await end(tools, delivery, { reason: tooOld(tools) });
  return snooze(spread(ms));
}

/** A little longer, so that many do not come back together. */
export function spread(ms: number): number {
  return ms + Math.random() * Math.min(ms / 4, SPREAD_MS_MAX);
}

/** Whether a delivery has waited for so long that it is given up. */
export function isTooOld({ settings }: DeliverTools, { ageMs }: LoadedDelivery): boolean {
  return ageMs > settings.giveUpAfterMs;
}

/** Why what is too old is given up. */
export function tooOld({ settings }: DeliverTools): string {
  return `it could not be delivered within ${Math.round(settings.giveUpAfterMs / 1000)} s`;
}

/** Ends a delivery for good. Resolves to what ends its job. */
export async function end(
  tools: DeliverTools,
  delivery: LoadedDelivery,
  { reason, detail = reason, entry = null, attempts = delivery.attempts, isByHand = false }: Discarded,
): Promise<Error> {
  await tools.deliveries.write({
    ...keyOnly(delivery),
    ...ENDED,
    state: "discarded",
    reason,
    attempts,
    heldMs: delivery.heldMs,
    // Whoever sends a test looks at what becomes of it.
    isGivenUp: !isByHand && delivery.replay !== TEST_REPLAY,
    entry,
  });
  return discard(ofEndpoint(delivery, detail));
}

/** Of a delivery that does not wait any more. */
export const ENDED = { dueMs: null, waitCause: null, isGivenUp: false } as const;

/** For the log and the errors of jobs: there, nothing else tells which endpoint it was. Never its URL, which may be secret. */
export function ofEndpoint({ endpointId }: DeliveryKey, text: string): string {
  return `webhook endpoint ${endpointId}: ${text}`;
}

/** The key alone. */
export function keyOnly({ endpointId, messageId, replay }: DeliveryKey): DeliveryKey {
  return { endpointId, messageId, replay };
}
