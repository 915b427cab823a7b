import { discard, snooze } from "../../ports/mod.ts";
import type { Attempts } from "./_attempt.ts";
import type { Result } from "./_classify.ts";
import type { Deliveries, DeliveryEntry, DeliveryKey, LoadedDelivery } from "./_delivery.ts";
import type { EndpointHealth } from "./_endpoint_health.ts";
import type { Turns } from "./_turns.ts";
import type { WebhookSettings } from "./settings.ts";

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
  /** Times and bounds. */
  readonly settings: WebhookSettings;
}

/** What an attempt says of its endpoint. */
export async function tellHealth(
  health: EndpointHealth,
  { endpointId, endpoint }: LoadedDelivery,
  result: Result,
): Promise<void> {
  const attempted = { endpointId, url: endpoint.url };
  switch (result.type) {
    case "delivered":
      if (endpoint.isFailing) await health.succeeded(attempted);
      break;
    case "retry":
      await health.failed(attempted, true, 0);
      break;
    case "later":
      await health.failed(attempted, true, result.askedMs);
      break;
    case "fault":
      break;
    case "discard":
      // It answers, so the others need not wait; but it is no success either.
      if (result.isGone) await health.disable(attempted, result.error);
      else await health.failed(attempted, false, 0);
      break;
  }
}

/** Puts a delivery back, for a little longer than asked so that many do not come back together. Ends what is too old. */
export async function later(
  tools: DeliverTools,
  delivery: LoadedDelivery,
  ms: number,
  made: DeliveryEntry["entry"] = null,
): Promise<Error> {
  const { giveUpAfterMs } = tools.settings;
  if (delivery.ageMs > giveUpAfterMs) {
    const last = made?.error ?? null;
    const within = `it could not be delivered within ${Math.round(giveUpAfterMs / 1000)} s`;
    const reason = last === null ? within : `${within}: ${last}`;
    return await end(tools, delivery, made, reason, delivery.attempts);
  }
  if (made !== null) {
    await tools.deliveries.write({
      ...keyOnly(delivery),
      state: "waiting",
      reason: null,
      attempts: delivery.attempts,
      entry: made,
    });
  }
  return snooze(ms + Math.random() * Math.min(ms / 4, SPREAD_MS_MAX));
}

/** Ends a delivery for good. The attempt that was made counts, unless it is said how many do. */
export async function end(
  tools: DeliverTools,
  delivery: LoadedDelivery,
  made: DeliveryEntry["entry"],
  reason: string,
  attempts: number = made?.attempt ?? delivery.attempts,
): Promise<Error> {
  await tools.deliveries.write({ ...keyOnly(delivery), state: "discarded", reason, attempts, entry: made });
  return discard(ofEndpoint(delivery, reason));
}

/** For the log and the errors of jobs: there, nothing else tells which endpoint it was. Never its URL, which may be secret. */
export function ofEndpoint({ endpointId }: DeliveryKey, text: string): string {
  return `webhook endpoint ${endpointId}: ${text}`;
}

/** The key alone. */
export function keyOnly({ endpointId, messageId, replay }: DeliveryKey): DeliveryKey {
  return { endpointId, messageId, replay };
}
