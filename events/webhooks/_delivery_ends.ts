import { discard, snooze } from "../../ports/mod.ts";
import type { Attempts } from "./_attempt.ts";
import type { Result } from "./_classify.ts";
import type { Deliveries, DeliveryEntry, DeliveryKey, LoadedDelivery } from "./_delivery.ts";
import type { EndpointHealth } from "./_endpoint_health.ts";
import type { Turns } from "./_turns.ts";
import type { WebhookSettings } from "./settings.ts";

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
  switch (result.type) {
    case "delivered":
      if (endpoint.isFailing) await health.succeeded(endpointId);
      break;
    case "retry":
      await health.failed(endpointId, true, 0);
      break;
    case "later":
      await health.failed(endpointId, true, result.askedMs);
      break;
    case "fault":
      break;
    case "discard":
      // It answers, so the others need not wait; but it is no success either.
      if (result.isGone) await health.disable(endpointId, result.error);
      else await health.failed(endpointId, false, 0);
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
    return await end(
      tools,
      delivery,
      made,
      `it could not be delivered within ${Math.round(giveUpAfterMs / 1000)} s`,
    );
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
  return snooze(ms + Math.random() * ms / 4);
}

/** Ends a delivery for good. */
export async function end(
  tools: DeliverTools,
  delivery: LoadedDelivery,
  made: DeliveryEntry["entry"],
  reason: string,
): Promise<Error> {
  const attempts = made?.attempt ?? delivery.attempts;
  await tools.deliveries.write({ ...keyOnly(delivery), state: "discarded", reason, attempts, entry: made });
  return discard(reason);
}

/** The key alone. */
export function keyOnly({ endpointId, messageId, replay }: DeliveryKey): DeliveryKey {
  return { endpointId, messageId, replay };
}
