import { discard, type Handler, type JobContext, snooze } from "../../ports/handler.ts";
import type { Json } from "../../ports/json.ts";
import { bringForwardTwice } from "./bring_forward.ts";
import { deliverInOrder } from "./deliver_in_order.ts";
import { type DeliveryKey, dueInMs, type LoadedDelivery } from "./delivery.ts";
import { type DeliverTools, end, GONE, ofEndpoint, putBack, spread } from "./delivery_ends.ts";
import { DISABLED_BY_HAND } from "../endpoints/endpoints.ts";
import { occupiedMs, type Recovery } from "../endpoints/endpoint_health.ts";
import { EARLY_SHARE, type Made, makeDelivery } from "./make_delivery.ts";
import { TEST_REPLAY } from "./test_message.ts";

const PROBED_MAX = 1000;
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

/** The handler of `webhook.deliver`. Attempts are counted on the delivery: its job only comes when it may go. */
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
      const why = delivery.endpoint.disabledReason ?? DISABLED_BY_HAND;
      throw await end(tools, delivery, {
        reason: `the endpoint is disabled: ${why}`,
        isByHand: why === DISABLED_BY_HAND,
      });
    }
    if (delivery.endpoint.isOrdered && delivery.replay !== TEST_REPLAY) {
      return await deliverInOrder(tools, delivery, ctx);
    }
    return await deliverByItself(tools, delivery, ctx);
  };
}

async function deliverByItself(tools: DeliverTools, own: LoadedDelivery, ctx: JobContext): Promise<Json> {
  const { turns, health, settings } = tools;
  const { endpointId } = own;
  // A person who sends a test wants to know now.
  const isTest = own.replay === TEST_REPLAY;
  const isProbe = !isTest && goesAsProbe(own);
  const waitMs = isTest ? dueInMs(own) : waitMsOf(tools, own, isProbe);
  if (waitMs > 0) throw await putBack(tools, own, waitMs);
  const turn = await turns.take(endpointId, settings.inFlight);
  if (turn.type === "later") throw await putBack(tools, own, turn.inMs);
  let tried: Tried = { made: 0, recovery: null };
  let tookMs: number | null = null;
  try {
    // It may have begun to fail while this one waited for its turn.
    const backMs = isProbe || isTest ? null : health.pausedSince(endpointId, own.askedAt);
    if (backMs !== null) throw await putBack(tools, own, backMs);
    // Or another job has tried the endpoint with it, and it is no longer what was loaded.
    if ((tools.probed.get(own.seq) ?? -Infinity) > own.askedAt) throw await putBack(tools, own, 0);
    const began = performance.now();
    tried = isProbe ? await probe(tools, own, ctx) : asTried(await makeDelivery(tools, own, ctx));
    if (typeof tried.made !== "number") tookMs = performance.now() - began;
  } finally {
    turn.leave(tookMs);
  }
  if (tried.recovery !== null) {
    // Where the others did not wait, a backlog of them is in line already.
    await bringForwardTwice(tools, endpointId, { failedOnly: tried.recovery === "failing" }, ctx.signal);
  }
  if (typeof tried.made === "number") throw await putBack(tools, own, tried.made);
  return conclude(tools, own, tried.made);
}

/** What came of a turn. */
interface Tried {
  /** What became of the own delivery; or in how many ms it is to come back. */
  readonly made: Made | number;
  /** What the endpoint was before if it works again. */
  readonly recovery: Recovery | null;
}

function asTried(made: Made): Tried {
  return { made, recovery: made.type === "delivered" ? made.recovery : null };
}

/** Whether it may only go to try its endpoint: because all wait, or it has failed and its time has not come. */
function goesAsProbe(delivery: LoadedDelivery): boolean {
  const { endpoint: { isFailing, isPaused }, waitCause } = delivery;
  const isDue = dueInMs(delivery) === 0;
  return isFailing && (isPaused || !isDue) && (isDue || waitCause !== "asked");
}

/** How long a delivery waits that has come, in ms; 0 when it may go. */
function waitMsOf({ health, settings }: DeliverTools, delivery: LoadedDelivery, isProbe: boolean): number {
  const { endpointId, endpoint: { isPaused, pauseMs }, waitCause, lastTry, loadedAt } = delivery;
  const dueMs = dueInMs(delivery);
  if (isProbe) {
    const backMs = pauseMs !== null && pauseMs > 0 ? health.backInMs(endpointId, pauseMs) : 0;
    return isPaused ? backMs : Math.min(backMs, dueMs);
  }
  // One that the receiver put off waits as it asked. Another one was brought forward: not too soon after its last try.
  if (waitCause === "asked" || lastTry === null) return dueMs;
  const agoMs = lastTry.agoMs + performance.now() - loadedAt;
  return Math.min(dueMs, Math.max(0, settings.probeMs - agoMs));
}

/** Tries a failing endpoint, with whichever of its deliveries shows best whether it works again. */
async function probe(tools: DeliverTools, own: LoadedDelivery, ctx: JobContext): Promise<Tried> {
  const { deliveries, health, settings, underWay } = tools;
  const { endpointId } = own;
  const back = (ms: number): Tried => ({ made: ms, recovery: null });
  const lease = await health.lease(endpointId);
  if (!("renew" in lease)) return back(health.backInMs(endpointId, occupiedMs(settings, lease)));
  try {
    const chosen = await deliveries.probe(endpointId, underWay);
    // Its own job may have begun with it meanwhile.
    if (chosen === null || underWay.has(chosen.seq)) return back(settings.scheduleMs[0]! / 10);
    if (chosen.seq !== own.seq) noteProbed(tools, chosen);
    const tried = asTried(await makeDelivery(tools, chosen, ctx));
    if (chosen.seq === own.seq) return tried;
    const { made, recovery } = tried;
    const probeMs = typeof made !== "number" && made.type === "waits" ? made.probeMs : null;
    return { made: probeMs === null ? 0 : health.backInMs(endpointId, probeMs), recovery };
  } finally {
    await lease.giveBack();
  }
}

function noteProbed({ probed }: DeliverTools, { seq }: LoadedDelivery): void {
  if (probed.size >= PROBED_MAX) probed.clear();
  probed.set(seq, performance.now());
}

/** The end of a job by what became of its delivery. */
function conclude({ health }: DeliverTools, { endpointId }: LoadedDelivery, made: Made): Json {
  if (made.type === "delivered") return { delivered: true };
  if (made.type === "discarded") throw made.error;
  const { dueMs, probeMs } = made;
  // What is due about when the endpoint may be tried need not come before.
  if (probeMs === null || probeMs > dueMs * EARLY_SHARE) throw snooze(spread(dueMs));
  throw snooze(spread(Math.min(dueMs, health.backInMs(endpointId, probeMs))));
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
