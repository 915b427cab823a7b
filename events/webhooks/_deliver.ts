import { discard, type Handler, type JobContext, type Json } from "../../ports/mod.ts";
import type { AttemptFacts, Result } from "./_classify.ts";
import { deliverInOrder } from "./_deliver_in_order.ts";
import type { DeliveryKey, LoadedDelivery } from "./_delivery.ts";
import { occupiedMs } from "./_endpoint_health.ts";
import { type DeliverTools, end, GONE, keyOnly, later, ofEndpoint, tellHealth } from "./_delivery_ends.ts";
import { TEST_REPLAY } from "./_test_message.ts";
import { delayMs, faultDelayMs } from "./settings.ts";

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

/** The handler of `webhook.deliver`. */
export function deliverHandler(tools: DeliverTools): Handler {
  return async (args, ctx) => {
    const key = keyOf(args);
    let delivery = await tools.deliveries.load(key);
    if (delivery !== null && await tools.health.tookBack(delivery.endpointId, delivery.endpoint.pauseMs)) {
      delivery = await tools.deliveries.load(key);
    }
    if (delivery === null) throw discard(ofEndpoint(key, GONE));
    if (delivery.state === "delivered") return { delivered: true };
    if (delivery.state === "discarded") {
      throw discard(ofEndpoint(key, delivery.reason ?? "it was discarded"));
    }
    if (!delivery.endpoint.isEnabled) {
      throw await end(
        tools,
        delivery,
        null,
        `the endpoint is disabled: ${delivery.endpoint.disabledReason ?? "by hand"}`,
      );
    }
    if (delivery.endpoint.isOrdered && delivery.replay !== TEST_REPLAY) {
      return await deliverInOrder(tools, delivery, ctx);
    }
    return await deliverByItself(tools, delivery, ctx);
  };
}

async function deliverByItself(
  tools: DeliverTools,
  delivery: LoadedDelivery,
  ctx: JobContext,
): Promise<Json> {
  const { turns, health, settings } = tools;
  const { endpointId, endpoint } = delivery;
  // A person who sends a test wants to know now.
  const isProbe = endpoint.isFailing && endpoint.pauseMs !== null && delivery.replay !== TEST_REPLAY;
  if (isProbe && endpoint.pauseMs! > 0) {
    throw await later(tools, delivery, health.backInMs(endpointId, endpoint.pauseMs!));
  }
  const turn = await turns.take(endpointId, settings.inFlight);
  if (turn.type === "later") throw await later(tools, delivery, turn.inMs);
  let tookMs: number | null = null;
  try {
    // It may have begun to fail while this one waited for its turn.
    const pauseMs = isProbe || delivery.replay === TEST_REPLAY
      ? 0
      : health.pauseMs(endpointId, delivery.loadedAt);
    if (pauseMs > 0) throw await later(tools, delivery, health.backInMs(endpointId, pauseMs));
    const lease = isProbe ? await health.lease(endpointId) : null;
    if (lease !== null && !("renew" in lease)) {
      throw await later(tools, delivery, health.backInMs(endpointId, occupiedMs(settings, lease)));
    }
    try {
      const began = performance.now();
      const { result, facts } = await tools.attempts.make(delivery, ctx.attempt, ctx);
      tookMs = performance.now() - began;
      return await settle(tools, delivery, result, facts, ctx);
    } finally {
      await lease?.giveBack();
    }
  } finally {
    turn.leave(tookMs);
  }
}

async function settle(
  tools: DeliverTools,
  delivery: LoadedDelivery,
  result: Result,
  facts: AttemptFacts,
  ctx: JobContext,
): Promise<Json> {
  const { health, settings, deliveries } = tools;
  const { attempt } = ctx;
  await tellHealth(health, delivery, result);
  if (result.type === "delivered") {
    await deliveries.write({
      ...keyOnly(delivery),
      state: "delivered",
      reason: null,
      attempts: attempt,
      entry: { ...facts, attempt, error: null },
    });
    return { delivered: true };
  }
  const isTest = delivery.replay === TEST_REPLAY;
  const isLast = isTest ? result.type !== "later" : result.type === "retry" && attempt >= ctx.maxAttempts;
  const made = { ...facts, attempt, error: result.error };
  if (result.type === "discard" || isLast) throw await end(tools, delivery, made, result.error);
  if (result.type === "later") {
    // The later of our schedule and what was asked, so that an answer can't make a hot loop.
    throw await later(tools, delivery, Math.max(result.askedMs, delayMs(settings, attempt)), made);
  }
  if (result.type === "fault") {
    throw await later(tools, delivery, faultDelayMs(settings, delivery.ageMs), made);
  }
  await deliveries.write({
    ...keyOnly(delivery),
    state: "waiting",
    reason: null,
    attempts: attempt,
    entry: made,
  });
  throw new Error(ofEndpoint(delivery, result.error));
}

function keyOf(args: Json): DeliveryKey {
  const { endpoint_id: endpointId, event_id: messageId, replay_id: replay = "" } = args as Record<
    string,
    unknown
  >;
  if (
    typeof endpointId !== "string" || typeof messageId !== "string" || typeof replay !== "string" ||
    !UUID.test(endpointId) || !UUID.test(messageId)
  ) throw discard("its args name no delivery, expected endpoint_id and event_id");
  return { endpointId, messageId, replay };
}
