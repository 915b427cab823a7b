import type { Bench } from "../bench.ts";
import { type Contestant, INLINE, LIMIT, THREADS } from "../contestants.ts";
import { interleave } from "../interleave.ts";
import { figureOf } from "../result.ts";
import type { Scenario } from "../scenario.ts";
import { drainRate } from "./drain.ts";
import { percentiles } from "./latency.ts";

const SECONDS = 5;
const SHARE = 0.5;
const CAP_MS = 15_000;
const SETTLE_MS = 500;

/** A second process enqueues at half the rate at which the worker drains. */
export const latencyUnderLoad: Scenario = {
  name: "latency-under-load",
  async run(bench) {
    const seconds = bench.options.quick ? 0.5 : SECONDS;
    const rounds = bench.rounds();
    const { contestants, skipped } = await bench.present((one) => !one.isDefault && one.name !== LIMIT);
    const rates = new Map<string, number>();
    for (const contestant of contestants) {
      const jobs = bench.jobs(20_000);
      // The second is of warm code.
      for (let time = 0; time < 2; time++) {
        rates.set(contestant.name, await drainRate(bench, contestant, { jobs, capMs: CAP_MS }));
      }
    }
    const measured = await interleave(bench, rounds, "ms", contestants, async (contestant) => {
      const perSecond = Math.round(rates.get(contestant.name)! * SHARE);
      return { ...percentiles(await underLoad(bench, contestant, perSecond, seconds)) };
    });
    const { figures } = measured;
    for (const contestant of contestants) await bench.end(producerName(contestant));
    const said = [...rates].map(([name, rate]) => `${name} ${Math.round(rate * SHARE)}/s`);
    return {
      scenario: "latency-under-load",
      title: "From the call that enqueues to the handler's start, at half the drain rate",
      better: "less",
      conditions: `${seconds} s a round, ${rounds} rounds; sent: ${said.join(", ")}`,
      reference: null,
      figures,
      skipped: [...skipped, ...measured.skipped],
      targets: [THREADS, INLINE].map((name) => ({
        what: `p99 of ${name}, in ms`,
        reached: figureOf(figures, name, "p99"),
        atMost: 25,
      })),
    };
  },
};

const producerName = (contestant: Contestant): string => `${contestant.name}, producer`;

async function underLoad(
  bench: Bench,
  contestant: Contestant,
  perSecond: number,
  seconds: number,
): Promise<number[]> {
  return await bench.with(contestant, {}, async ({ peer, schema }) => {
    const producer = await bench.process(producerName(contestant), contestant);
    await bench.open(producer, contestant, schema, { joins: true });
    await peer.call("startWork");
    await producer.call("produce", { perSecond, seconds });
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    const { ms } = (await peer.call<{ ms: number[] }>("collect"))!;
    await peer.call("stopWork");
    await producer.call("close");
    // The first second is the start's.
    return ms.slice(Math.min(perSecond, Math.floor(ms.length / 3)));
  });
}
