import { THREADS } from "../contestants.ts";
import { interleave, type Measured } from "../interleave.ts";
import { figureOf } from "../result.ts";
import type { Scenario } from "../scenario.ts";
import { seedJobs } from "../seed.ts";

const OTHERS = 5000;
const STALE = "stale statistics";
const FRESH = "fresh statistics";
const CAP_MS = 60_000;

/** The planner believes that the queue is empty: it was when the statistics were gathered. */
export const staleStatistics: Scenario = {
  name: "stale-statistics",
  async run(bench) {
    const jobs = bench.jobs(20_000);
    const rounds = bench.rounds();
    const { contestants } = await bench.present(({ name }) => name === THREADS);
    const { figures } = await interleave(bench, rounds, "jobs/s", contestants, async (contestant) => {
      const measured: Record<string, number> = {};
      for (const measure of [FRESH, STALE]) {
        measured[measure] = await bench.with(contestant, {}, async ({ peer, schema }) => {
          await seedJobs(bench, schema, OTHERS, "other");
          if (measure === STALE) await bench.sql.unsafe(`analyze ${schema}.job`);
          await seedJobs(bench, schema, jobs);
          if (measure === FRESH) await bench.sql.unsafe(`analyze ${schema}.job`);
          const { seconds } = (await peer.call<{ seconds: number }>("drain", { jobs, capMs: CAP_MS }))!;
          return jobs / seconds;
        });
      }
      return measured as Measured;
    });
    return {
      scenario: "stale-statistics",
      title: "A burst of no-op jobs after ANALYZE saw the queue empty",
      better: "more",
      conditions: `${jobs} jobs beside ${OTHERS} of a queue that nobody works, ${rounds} rounds`,
      reference: null,
      figures,
      skipped: [],
      targets: [{
        what: "stale, of fresh",
        reached: figureOf(figures, THREADS, STALE) / figureOf(figures, THREADS, FRESH),
        atLeast: 0.9,
      }],
    };
  },
};
