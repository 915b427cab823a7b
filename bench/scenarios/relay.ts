import { median } from "../figures.ts";
import { figureOf } from "../result.ts";
import { measureRelay } from "../relay.ts";
import type { Scenario } from "../scenario.ts";

const MS = 2000;
const RELAY = "Millrace, relay";
const BARE = "a bare insert of the event's row";
const RECORDING = "Millrace, recording";

/** Events: how fast they are fanned out, and what recording one costs a transaction. */
export const relay: Scenario = {
  name: "relay",
  async run(bench) {
    const events = bench.jobs(100_000);
    const rounds = bench.rounds();
    const { fanout, bare, recording, capture } = await measureRelay({
      url: bench.url,
      events,
      rounds,
      ms: bench.options.quick ? MS / 10 : MS,
    });
    const figures = [
      { contestant: RELAY, measure: "fanned out", unit: "events/s", values: fanout },
      { contestant: BARE, measure: "", unit: "transactions/s", values: bare },
      { contestant: RECORDING, measure: "", unit: "transactions/s", values: recording },
    ];
    return {
      scenario: "relay",
      title: "Events: fan-out of a backlog, and recording in a transaction",
      better: "more",
      conditions: `${events} events, ${rounds} rounds`,
      reference: BARE,
      figures,
      skipped: [],
      targets: [
        {
          what: "events fanned out a second",
          reached: figureOf(figures, RELAY, "fanned out"),
          atLeast: 15_000,
        },
        {
          what: "a transaction that records, of one with a bare insert",
          reached: figureOf(figures, RECORDING) / figureOf(figures, BARE),
          atLeast: 0.95,
        },
        {
          what:
            "an update of 10,000 rows and one insert of their events, of the update with capture (1 / 1.2)",
          reached: 1 / median(capture),
          atLeast: 0.83,
        },
      ],
    };
  },
};
