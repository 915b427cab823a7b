import type { JobContext } from "../../ports/handler.ts";
import type { AttemptMade } from "./attempt.ts";
import { type AttemptFacts, isRefusal, type Result } from "./classify.ts";
import { type DeliveryEntry, dueInMs, type LoadedDelivery } from "./delivery.ts";
import { type DeliverTools, end, ENDED, isTooOld, keyOnly, tooOld } from "./delivery_ends.ts";
import type { Recovery } from "../endpoints/endpoint_health.ts";
import { TEST_REPLAY } from "./test_message.ts";
import { delayMs, faultDelayMs } from "../settings.ts";

/** What became of a delivery by one attempt. */
export type Made =
  | {
    readonly type: "delivered";
    /** What its endpoint was before if it works again: what waits for that is to be brought forward. */
    readonly recovery: Recovery | null;
  }
  | {
    readonly type: "discarded";
    /** What ends its job. */
    readonly error: Error;
    /** Whether nothing more goes to its endpoint. */
    readonly isGone: boolean;
  }
  | {
    readonly type: "waits";
    /** In how many ms its next attempt is due. */
    readonly dueMs: number;
    /** In how many ms its endpoint may be tried before that; null when it need not be. */
    readonly probeMs: number | null;
    /** Whether the fault is ours. */
    readonly isFault: boolean;
  };

/** What comes later than at this share of its delay is in time, and no try before it. */
export const EARLY_SHARE = 0.8;
/** So many addresses of a name there may be. What comes before its time takes any of them first. */
const ADDRESSES = 8;

interface Attempt extends AttemptMade {
  /** Whether it came before its time: then it spends nothing. */
  readonly isEarly: boolean;
}

/**
 * Makes one attempt of a delivery and writes what became of it. One that comes before its time, to try an endpoint or because
 * it works again, spends no attempt, and the schedule stays as it is.
 */
export async function makeDelivery(
  tools: DeliverTools,
  delivery: LoadedDelivery,
  ctx: JobContext,
): Promise<Made> {
  const { attempts, underWay, settings } = tools;
  const isEarly = dueInMs(delivery) > delayMs(settings, delivery.attempts) * (1 - EARLY_SHARE);
  const address = isEarly ? Math.ceil(Math.random() * ADDRESSES) : delivery.attempts + 1;
  underWay.add(delivery.seq);
  try {
    return await settle(tools, delivery, { ...await attempts.make(delivery, address, ctx), isEarly });
  } finally {
    underWay.delete(delivery.seq);
  }
}

async function settle(tools: DeliverTools, delivery: LoadedDelivery, attempt: Attempt): Promise<Made> {
  const { deliveries, health } = tools;
  const { result, facts } = attempt;
  const number = delivery.attempts + 1;
  if (result.type === "delivered") {
    await deliveries.write({
      ...keyOnly(delivery),
      ...ENDED,
      state: "delivered",
      reason: null,
      attempts: number,
      heldMs: delivery.heldMs,
      entry: { ...facts, attempt: number, error: null },
    });
    return { type: "delivered", recovery: await health.succeeded(delivery) };
  }
  const entry = { ...facts, attempt: number, error: result.error };
  if (result.type === "discard") {
    // It answers, so the others need not wait; but it is no success either.
    if (result.isGone) await health.disable(delivery, result.error);
    else await health.failed(delivery, { sign: null, isOwn: false, askedMs: 0 });
    const error = await end(tools, delivery, { reason: result.error, entry, attempts: number });
    return { type: "discarded", error, isGone: result.isGone };
  }
  return await keepOrGiveUp(tools, delivery, { ...attempt, result }, entry);
}

/** What follows from an attempt that may be repeated. */
async function keepOrGiveUp(
  tools: DeliverTools,
  delivery: LoadedDelivery,
  { result, facts, isEarly }: Attempt & {
    readonly result: Exclude<Result, { type: "delivered" | "discard" }>;
  },
  entry: DeliveryEntry["entry"],
): Promise<Made> {
  const { deliveries, health } = tools;
  const spends = result.type === "retry" && !isEarly;
  const attempts = delivery.attempts + (spends ? 1 : 0);
  const isOwn = result.type === "retry" && result.isAnswered && health.hasItselfToBlame(delivery);
  const dueMs = dueAfter(tools, delivery, result, isEarly);
  const probeMs = result.type === "fault" ? null : await health.failed(delivery, {
    sign: result.type === "retry" && !result.isAnswered ? "silent" : "refused",
    isOwn,
    askedMs: result.type === "later" && delivery.endpoint.isOrdered ? dueMs : 0,
  });
  const heldMs = heldMsBy(delivery, facts);
  const reason = whyGivenUp(tools, { ...delivery, heldMs }, result, facts, spends);
  const error = reason === null ? null : await end(tools, { ...delivery, heldMs }, {
    reason,
    detail: result.type === "fault" ? `${reason}: ${result.detail}` : reason,
    entry,
    attempts,
  });
  if (error === null) {
    await deliveries.write({
      ...keyOnly(delivery),
      state: "waiting",
      reason: null,
      attempts,
      dueMs,
      waitCause: result.type === "later" ? "asked" : isOwn ? "own" : null,
      heldMs,
      isGivenUp: false,
      entry,
    });
  }
  if (error !== null) return { type: "discarded", error, isGone: false };
  return {
    type: "waits",
    dueMs,
    probeMs: result.type === "later" ? null : probeMs,
    isFault: result.type === "fault",
  };
}

function dueAfter(
  { settings }: DeliverTools,
  delivery: LoadedDelivery,
  result: Result,
  isEarly: boolean,
): number {
  const scheduledMs = delayMs(settings, delivery.attempts + 1);
  // The later of our schedule and what was asked, so that an answer can't make a hot loop.
  if (result.type === "later") return Math.max(result.askedMs, scheduledMs);
  if (result.type === "fault") return faultDelayMs(settings, delivery.ageMs);
  return isEarly ? dueInMs(delivery) : scheduledMs;
}

/** The time between two refusals counts, and no other. */
function heldMsBy({ endpoint, heldMs, lastTry, loadedAt }: LoadedDelivery, { status }: AttemptFacts): number {
  if (!endpoint.isOrdered || !isRefusal(status) || lastTry === null || !isRefusal(lastTry.status)) {
    return heldMs;
  }
  return heldMs + lastTry.agoMs + performance.now() - loadedAt;
}

function whyGivenUp(
  tools: DeliverTools,
  delivery: LoadedDelivery,
  result: Exclude<Result, { type: "delivered" | "discard" }>,
  { status }: AttemptFacts,
  spends: boolean,
): string | null {
  const { settings } = tools;
  if (delivery.replay === TEST_REPLAY) return result.type === "later" ? null : result.error;
  if (spends && delivery.attempts + 1 >= settings.maxAttempts) return result.error;
  if (delivery.endpoint.isOrdered && isRefusal(status) && delivery.heldMs >= settings.holdMs) {
    return `it held up the others for ${Math.round(delivery.heldMs / 1000)} s: ${result.error}`;
  }
  return isTooOld(tools, delivery) ? `${tooOld(tools)}: ${result.error}` : null;
}
