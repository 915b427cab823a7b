import { INLINE, LIMIT, PEERS, THREADS } from "../contestants.ts";
import { percentile } from "../figures.ts";
import { interleave, type Measured } from "../interleave.ts";
import { bestOf, figureOf } from "../result.ts";
import type { Scenario } from "../scenario.ts";

const PAUSE_MS = 5;
/** A peer that only polls would take an hour. */
const CAP_MS = 5000;

/** The percentiles that are told. */
export function percentiles(ms: readonly number[]): Measured {
  return { p50: percentile(ms, 0.5), p95: percentile(ms, 0.95), p99: percentile(ms, 0.99) };
}

/** From the call that enqueues to the handler's start, on a worker that has nothing to do. */
export const latency: Scenario = {
  name: "latency",
  async run(bench) {
    const samples = bench.jobs(1000);
    const rounds = bench.rounds();
    const { contestants, skipped } = await bench.present((one) => !one.isDefault);
    const measured = await interleave(
      bench,
      rounds,
      "ms",
      contestants,
      (contestant) =>
        bench.with(contestant, {}, async ({ peer }) => {
          const { ms } = (await peer.call<{ ms: number[] }>("latency", {
            samples,
            pauseMs: PAUSE_MS,
            capMs: CAP_MS,
          }))!;
          return percentiles(ms);
        }),
    );
    const { figures } = measured;
    return {
      scenario: "latency",
      title: "From the call that enqueues to the handler's start, idle worker",
      better: "less",
      conditions: `${samples} jobs a round, one at a time, ${rounds} rounds`,
      reference: LIMIT,
      figures,
      skipped: [...skipped, ...measured.skipped],
      targets: [
        {
          what: "p50 of threads above that of commit, LISTEN, claim alone, in ms",
          reached: figureOf(figures, THREADS, "p50") - figureOf(figures, LIMIT, "p50"),
          atMost: 1,
        },
        ...[THREADS, INLINE].map((name) => ({
          what: `p99 of ${name}, of the best peer's`,
          reached: figureOf(figures, name, "p99") / bestOf(figures, PEERS, "less", "p99"),
          atMost: 1,
        })),
      ],
    };
  },
};
