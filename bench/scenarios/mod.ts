import type { Scenario } from "../scenario.ts";
import { cost } from "./cost.ts";
import { drain, drainDefaults } from "./drain.ts";
import { drainComputing, drainLargeArgs, drainWaiting } from "./drain_work.ts";
import { enqueue, enqueueBulk, enqueueInTransaction } from "./enqueue.ts";
import { fleet } from "./fleet.ts";
import { heldVacuum } from "./held_vacuum.ts";
import { history } from "./history.ts";
import { kills } from "./kills.ts";
import { lateRows } from "./late_rows.ts";
import { latency } from "./latency.ts";
import { latencyUnderLoad } from "./latency_under_load.ts";
import { memory } from "./memory.ts";
import { processor } from "./processor.ts";
import { relay } from "./relay.ts";
import { staleStatistics } from "./stale_statistics.ts";
import { webhooks } from "./webhooks.ts";

/** Everything that can be measured, in the order in which it is. */
export const SCENARIOS: readonly Scenario[] = [
  drain,
  drainDefaults,
  drainLargeArgs,
  drainComputing,
  drainWaiting,
  enqueue,
  enqueueInTransaction,
  enqueueBulk,
  latency,
  latencyUnderLoad,
  history,
  heldVacuum,
  staleStatistics,
  lateRows,
  fleet,
  kills,
  memory,
  cost,
  processor,
  relay,
  webhooks,
];
