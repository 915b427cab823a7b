import { discard, type JobContext, type Json } from "../../ports/mod.ts";
import type { LoadedDelivery } from "./_delivery.ts";
import { type DeliverTools, end, GONE, keyOnly, later, ofEndpoint, tellHealth } from "./_delivery_ends.ts";
import { type Lease, occupiedMs } from "./_endpoint_health.ts";
import { delayMs, faultDelayMs } from "./settings.ts";

/** So long after its start a job begins no further attempt: the last one must end within the job's limit. */
const WORK_MS_MAX = 2000;

/**
 * Delivers in the order of the line. Whoever has the endpoint's lease works through its backlog, whichever job that
 * belongs to, so attempts are counted on the delivery and not on its job. The first that fails holds up the rest.
 */
export async function deliverInOrder(
  tools: DeliverTools,
  own: LoadedDelivery,
  ctx: JobContext,
): Promise<Json> {
  const { turns, health, settings } = tools;
  const { endpointId, endpoint } = own;
  if (endpoint.pauseMs !== null && endpoint.pauseMs > 0) {
    throw await later(tools, own, health.backInMs(endpointId, endpoint.pauseMs));
  }
  const turn = await turns.take(endpointId, 1);
  if (turn.type === "later") throw await later(tools, own, turn.inMs);
  let worked = NOTHING_MADE;
  try {
    const lease = await health.lease(endpointId);
    if (!("renew" in lease)) {
      // Another process works through the backlog, this delivery perhaps among it.
      throw await later(tools, own, health.backInMs(endpointId, occupiedMs(settings, lease)));
    }
    try {
      worked = await workThrough(tools, own, lease, ctx);
    } finally {
      await lease.giveBack();
    }
  } finally {
    turn.leave(worked.attempts === 0 ? null : worked.tookMs / worked.attempts);
  }
  const now = await tools.deliveries.load(keyOnly(own));
  if (now === null) throw discard(ofEndpoint(own, GONE));
  if (now.state === "delivered") return { delivered: true };
  if (now.state === "discarded") throw discard(ofEndpoint(own, now.reason ?? "it was discarded"));
  throw await later(
    tools,
    now,
    Math.max(now.endpoint.pauseMs ?? 0, worked.faultMs, settings.scheduleMs[0]! / 10),
  );
}

/** What came of working through a line. */
interface Worked {
  readonly attempts: number;
  readonly tookMs: number;
  /** For how long a fault of ours holds the line up, in ms; 0 for none. */
  readonly faultMs: number;
}

const NOTHING_MADE: Worked = { attempts: 0, tookMs: 0, faultMs: 0 };

/**
 * Delivers the first of the line again and again: until one fails, the line is empty, or the time is up. It goes on past
 * the own one, for the jobs of those behind it may come back late.
 */
async function workThrough(
  tools: DeliverTools,
  own: LoadedDelivery,
  lease: Lease,
  ctx: JobContext,
): Promise<Worked> {
  const began = performance.now();
  let attempts = 0;
  const worked = (faultMs: number): Worked => ({ attempts, tookMs: performance.now() - began, faultMs });
  for (let isFirst = true; !ctx.signal.aborted && performance.now() - began < WORK_MS_MAX; isFirst = false) {
    if (!isFirst && !await lease.renew()) break;
    const next = await tools.deliveries.first(own.endpointId);
    if (next === null) break;
    attempts++;
    const end = await attemptFirst(tools, next, ctx);
    if (end === "fault") return worked(faultDelayMs(tools.settings, next.ageMs));
    if (end === "stop") break;
  }
  return worked(0);
}

/** What may follow: the next one, or nothing, by the endpoint's fault or ours. */
async function attemptFirst(
  tools: DeliverTools,
  next: LoadedDelivery,
  ctx: JobContext,
): Promise<"next" | "stop" | "fault"> {
  const { health, settings, deliveries, attempts } = tools;
  const { result, facts } = await attempts.make(next, next.attempts + 1, ctx);
  const attempt = next.attempts + 1;
  if (result.type === "delivered" || result.type === "discard") await tellHealth(health, next, result);
  if (result.type === "delivered") {
    const entry = { ...facts, attempt, error: null };
    await deliveries.write({ ...keyOnly(next), state: "delivered", reason: null, attempts: attempt, entry });
    return "next";
  }
  const entry = { ...facts, attempt, error: result.error };
  if (result.type === "discard" || (result.type === "retry" && attempt >= settings.maxAttempts)) {
    await end(tools, next, entry, result.error);
    return result.type === "discard" && result.isGone ? "stop" : "next";
  }
  const spent = result.type === "retry" ? attempt : next.attempts;
  await deliveries.write({ ...keyOnly(next), state: "waiting", reason: null, attempts: spent, entry });
  if (result.type === "fault") return "fault";
  const askedMs = result.type === "later" ? result.askedMs : 0;
  await health.failed(
    { endpointId: next.endpointId, url: next.endpoint.url },
    true,
    Math.max(askedMs, delayMs(settings, attempt)),
  );
  return "stop";
}
