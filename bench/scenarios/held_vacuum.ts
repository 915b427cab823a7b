import { THREADS } from "../contestants.ts";
import { interleave } from "../interleave.ts";
import { figureOf } from "../result.ts";
import type { Scenario } from "../scenario.ts";
import { seedJobs } from "../seed.ts";

const FIRST = "first tenth";
const LAST = "last tenth";
const CAP_MS = 120_000;

/** A transaction elsewhere keeps its snapshot, so that nothing that was claimed can be vacuumed away. */
export const heldVacuum: Scenario = {
  name: "held-vacuum",
  async run(bench) {
    const jobs = bench.jobs(200_000);
    const rounds = bench.rounds();
    const { contestants } = await bench.present(({ name }) => name === THREADS);
    const { figures } = await interleave(
      bench,
      rounds,
      "jobs/s",
      contestants,
      (contestant) =>
        bench.with(contestant, {}, async ({ peer, schema }) => {
          await seedJobs(bench, schema, jobs);
          await bench.sql.unsafe(`analyze ${schema}.job`);
          return await bench.sql.begin("isolation level repeatable read", async (held) => {
            await held.unsafe(`select count(*) from ${schema}.job`);
            await peer.call("drain", { jobs, capMs: CAP_MS });
            const [row] = await bench.sql.unsafe(`
            with ended as (
              select finished_at, row_number() over (order by finished_at) as place from ${schema}.job_history
            ), tenths as (
              select (place - 1) * 10 / ${jobs} as tenth,
                (count(*) - 1) / extract(epoch from max(finished_at) - min(finished_at)) as rate
              from ended
              group by 1
            )
            select
              (select rate from tenths where tenth = 0)::float8 as first,
              (select rate from tenths where tenth = 9)::float8 as last`);
            return { [FIRST]: row!.first as number, [LAST]: row!.last as number };
          });
        }),
    );
    return {
      scenario: "held-vacuum",
      title: "No-op jobs while a transaction elsewhere stays open",
      better: "more",
      conditions: `${jobs} jobs, ${rounds} rounds`,
      reference: null,
      figures,
      skipped: [],
      targets: [{
        what: "the last tenth, of the first",
        reached: figureOf(figures, THREADS, LAST) / figureOf(figures, THREADS, FIRST),
        atLeast: 0.9,
      }],
    };
  },
};
