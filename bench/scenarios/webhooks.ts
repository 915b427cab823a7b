import { figureOf } from "../result.ts";
import type { Scenario } from "../scenario.ts";
import { ENDPOINTS, LATENCY_TIMES_MAX, measureWebhooks } from "../webhooks.ts";
import { percentiles } from "./latency.ts";

const RATE = "Millrace, webhooks";
const ALONE = "Millrace, no endpoint dead";
const BESIDE = "Millrace, beside a dead endpoint";

/** Webhooks: deliveries to a local receiver, and what a dead endpoint with a backlog does to the others. */
export const webhooks: Scenario = {
  name: "webhooks",
  async run(bench) {
    const { quick } = bench.options;
    const rounds = bench.rounds();
    const events = quick ? 5 : 200;
    const backlog = quick ? 20 : 10_000;
    const latencyEvents = quick ? 3 : 100;
    const { rates, alone, beside } = await measureWebhooks({
      url: bench.url,
      rounds,
      events,
      backlog,
      latencyEvents,
    });
    const late = (contestant: string, ms: readonly number[]) =>
      Object.entries(percentiles(ms)).map(([measure, value]) => ({
        contestant,
        measure,
        unit: "ms",
        values: [value],
      }));
    const figures = [
      { contestant: RATE, measure: "rate", unit: "deliveries/s", values: rates },
      ...late(ALONE, alone),
      ...late(BESIDE, beside),
    ];
    return {
      scenario: "webhooks",
      title: "Webhooks: deliveries, and how late they arrive beside a dead endpoint",
      better: "more",
      conditions:
        `${ENDPOINTS} endpoints, ${events} events a round, ${rounds} rounds; ${backlog} in line for the dead one`,
      reference: null,
      figures,
      skipped: [],
      targets: [
        { what: "deliveries a second", reached: figureOf(figures, RATE, "rate"), atLeast: 1500 },
        {
          what: "the median beside a dead endpoint, of that without",
          reached: figureOf(figures, BESIDE, "p50") / Math.max(1, figureOf(figures, ALONE, "p50")),
          atMost: LATENCY_TIMES_MAX,
        },
      ],
    };
  },
};
