import { THREADS } from "../contestants.ts";
import { interleave } from "../interleave.ts";
import { figureOf } from "../result.ts";
import type { Scenario } from "../scenario.ts";
import { seedJobs } from "../seed.ts";

const LOOK_MS = 20;
const CAP_MS = 120_000;

/**
 * A job is written before all others and committed when most of them have been claimed. Its own transaction is what
 * keeps their entries in the index from being vacuumed away.
 */
export const lateRows: Scenario = {
  name: "late-rows",
  async run(bench) {
    const jobs = bench.jobs(400_000);
    const dead = Math.round(jobs * 0.75);
    const rounds = bench.rounds();
    const { contestants } = await bench.present(({ name }) => name === THREADS);
    const { figures } = await interleave(
      bench,
      rounds,
      "ms",
      contestants,
      (contestant) =>
        bench.with(contestant, {}, async ({ peer, schema }) => {
          const late = await bench.sql.reserve();
          try {
            await late`begin`;
            const [row] = await late.unsafe(
              `insert into ${schema}.job (kind, queue, priority, max_attempts, args, scheduled_at)
             values ('noop', 'default', 2, 3, '{"late": true}', clock_timestamp())
             returning id`,
            );
            await seedJobs(bench, schema, jobs);
            await bench.sql.unsafe(`analyze ${schema}.job`);
            const drained = peer.call("drain", { jobs: jobs + 1, capMs: CAP_MS });
            while (await ended() < dead) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
            const [committed] = await late.unsafe("select clock_timestamp() as at");
            await late`commit`;
            await drained;
            const [waited] = await bench.sql.unsafe(
              `select extract(epoch from claimed_at - $1::text::timestamptz)::float8 * 1000 as ms
             from ${schema}.job_history where id = $2`,
              [(committed!.at as Date).toISOString(), row!.id],
            );
            return { "": waited!.ms as number };
          } finally {
            late.release();
          }

          async function ended(): Promise<number> {
            // The last id that was ended: a count would be a load of its own.
            const [row] = await bench.sql.unsafe(`select max(id)::int as id from ${schema}.job_history`);
            return row!.id ?? 0;
          }
        }),
    );
    return {
      scenario: "late-rows",
      title: "How long a job that commits late waits under full load",
      better: "less",
      conditions: `${jobs} jobs, committed after ${dead} of them, ${rounds} rounds`,
      reference: null,
      figures,
      skipped: [],
      targets: [{ what: "its wait in ms", reached: figureOf(figures, THREADS), atMost: 1000 }],
    };
  },
};
