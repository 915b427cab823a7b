import { errorText } from "../../ports/error_text.ts";
import type { Inspector } from "../../ports/inspector.ts";
import type { Log } from "../../ports/log.ts";
import { pause } from "../../shared/pause.ts";
import type { Deliveries } from "./delivery.ts";

const STEP = 1000;
/** The rest of a backlog that takes longer than this, in ms, comes back by itself. */
const WORK_MS_MAX = 5000;

/** After so long whoever was just being sent away has been, in ms. */
const SENT_AWAY_MS = 500;

/** What deliveries are brought forward with. */
export interface BringForwardTools {
  /** Knows which wait. */
  readonly deliveries: Pick<Deliveries, "waiting">;
  /** Brings jobs forward. */
  readonly inspector: Pick<Inspector, "bringForward">;
  /** For what goes wrong. */
  readonly log: Log;
}

/** What is brought forward of an endpoint. */
export interface BringForwardOptions {
  /** At most so many, the first of the line. Default all. */
  readonly most?: number;
  /** Whether only what has failed and waits for its next attempt. Default all that waits. */
  readonly failedOnly?: boolean;
}

/**
 * Makes the jobs of what waits for an endpoint due now. Whether a delivery goes then is decided by its job. It rejects with
 * nothing: what is not brought forward comes back by itself.
 */
export async function bringForward(
  { deliveries, inspector, log }: BringForwardTools,
  endpointId: string,
  { most = Infinity, failedOnly = false }: BringForwardOptions = {},
): Promise<void> {
  const until = performance.now() + WORK_MS_MAX;
  try {
    let left = most;
    for (let after = "0"; left > 0 && performance.now() < until;) {
      const limit = Math.min(left, STEP);
      const rows = await deliveries.waiting(endpointId, { after, limit, failedOnly });
      await inspector.bringForward(rows.map(({ jobId }) => jobId));
      if (rows.length < limit) return;
      left -= rows.length;
      after = rows.at(-1)!.seq;
    }
  } catch (error) {
    log.warn("deliveries were not brought forward, they come back by themselves", {
      endpointId,
      error: errorText(error),
    });
  }
}

/** The same twice, for the first time finds no job that is just being sent away. */
export async function bringForwardTwice(
  tools: BringForwardTools,
  endpointId: string,
  options: BringForwardOptions = {},
  signal?: AbortSignal,
): Promise<void> {
  await bringForward(tools, endpointId, options);
  await pause(SENT_AWAY_MS);
  if (signal?.aborted !== true) await bringForward(tools, endpointId, options);
}
