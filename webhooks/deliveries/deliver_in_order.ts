import { discard, type JobContext } from "../../ports/handler.ts";
import type { Json } from "../../ports/json.ts";
import { bringForward } from "./bring_forward.ts";
import type { LoadedDelivery } from "./delivery.ts";
import { type DeliverTools, GONE, keyOnly, ofEndpoint, putBack } from "./delivery_ends.ts";
import { type Lease, occupiedMs } from "../endpoints/endpoint_health.ts";
import { makeDelivery } from "./make_delivery.ts";

/** So many jobs come when an endpoint works again: who has the lease goes on with the line by itself. */
const LINE_JOBS = 8;
/** So many jobs come for the rest of a line. */
const NEXT_JOBS = 2;
/** So long after its start a job begins no further attempt: the last one must end within the job's limit. */
const WORK_MS_MAX = 2000;

/**
 * Delivers in the order of the line. Whoever has the endpoint's lease works through its backlog, whichever job that
 * belongs to. The first that fails holds up the rest.
 */
export async function deliverInOrder(
  tools: DeliverTools,
  own: LoadedDelivery,
  ctx: JobContext,
): Promise<Json> {
  const { turns, health, settings } = tools;
  const { endpointId, endpoint } = own;
  if (endpoint.pauseMs !== null && endpoint.pauseMs > 0) {
    throw await putBack(tools, own, health.backInMs(endpointId, endpoint.pauseMs));
  }
  const turn = await turns.take(endpointId, 1);
  if (turn.type === "later") throw await putBack(tools, own, turn.inMs);
  let worked = NOTHING_MADE;
  try {
    const lease = await health.lease(endpointId);
    if (!("renew" in lease)) {
      // Another process works through the backlog, this delivery perhaps among it.
      throw await putBack(tools, own, health.backInMs(endpointId, occupiedMs(settings, lease)));
    }
    try {
      worked = await workThrough(tools, own, lease, ctx);
    } finally {
      await lease.giveBack();
    }
  } finally {
    turn.leave(worked.attempts === 0 ? null : worked.tookMs / worked.attempts);
  }
  // Whoever was sent away may be back late.
  if (worked.isMore) await bringForward(tools, endpointId, { most: NEXT_JOBS });
  const now = await tools.deliveries.load(keyOnly(own));
  if (now === null) throw discard(ofEndpoint(own, GONE));
  if (now.state === "delivered") return { delivered: true };
  if (now.state === "discarded") throw discard(ofEndpoint(own, now.reason ?? "it was discarded"));
  throw await putBack(
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
  /** Whether the time was up, and others may go on. */
  readonly isMore: boolean;
}

const NOTHING_MADE: Worked = { attempts: 0, tookMs: 0, faultMs: 0, isMore: false };

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
  const worked = (faultMs: number): Worked => ({
    attempts,
    tookMs: performance.now() - began,
    faultMs,
    isMore: false,
  });
  for (let isFirst = true; !ctx.signal.aborted && performance.now() - began < WORK_MS_MAX; isFirst = false) {
    if (!isFirst && !await lease.renew()) break;
    const next = await tools.deliveries.first(own.endpointId);
    if (next === null) return worked(0);
    attempts++;
    const made = await makeDelivery(tools, next, ctx);
    if (made.type === "delivered" && made.recovery !== null) {
      await bringForward(tools, own.endpointId, { most: LINE_JOBS });
    }
    if (made.type === "waits") return worked(made.isFault ? made.dueMs : 0);
    if (made.type === "discarded" && made.isGone) return worked(0);
  }
  return { ...worked(0), isMore: true };
}
