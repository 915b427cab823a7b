import { THREADS } from "../contestants.ts";
import { interleave } from "../interleave.ts";
import { figureOf } from "../result.ts";
import { pause } from "../pause.ts";
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
            await peer.call("startWork");
            while (await ended() < dead) await pause(LOOK_MS);
            const [committed] = await late.unsafe("select clock_timestamp() as at");
            await late`commit`;
            const waitedMs = await untilClaimed(row!.id, committed!.at as Date);
            await peer.call("stopWork");
            return { "": waitedMs };
          } finally {
            late.release();
          }

          /** The worker may have come to the end of all others before it: it is waited for by itself. */
          async function untilClaimed(id: unknown, committedAt: Date): Promise<number> {
            for (const began = performance.now(); performance.now() - began < CAP_MS; await pause(LOOK_MS)) {
              const [waited] = await bench.sql.unsafe(
                `select extract(epoch from claimed_at - $1::text::timestamptz)::float8 * 1000 as ms
                 from ${schema}.job_history where id = $2`,
                [committedAt.toISOString(), id as string],
              );
              if (waited !== undefined) return waited.ms as number;
            }
            throw new Error(`the job that was committed late has not run within ${CAP_MS} ms`);
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
