import type { Scenario } from "../scenario.ts";
import { drain, drainDefaults } from "./drain.ts";
import { enqueue, enqueueBulk, enqueueInTransaction } from "./enqueue.ts";
import { latency } from "./latency.ts";

/** Everything that can be measured, in the order in which it is. */
export const SCENARIOS: readonly Scenario[] = [
  drain,
  drainDefaults,
  enqueue,
  enqueueInTransaction,
  enqueueBulk,
  latency,
];
