import type { Bench } from "../bench.ts";
import { type Contestant, THREADS } from "../contestants.ts";
import { interleave } from "../interleave.ts";
import { figureOf } from "../result.ts";
import type { Scenario } from "../scenario.ts";
import { seedJobs } from "../seed.ts";

const SIZES = [1, 2, 4] as const;
const CAP_MS = 60_000;
const FAULTS = "lost or claimed twice";

const measureOf = (size: number): string => size === 1 ? "1 process" : `${size} processes`;

/** Several worker processes on one queue. */
export const fleet: Scenario = {
  name: "fleet",
  async run(bench) {
    const jobs = bench.jobs(50_000);
    const rounds = bench.rounds();
    const { contestants } = await bench.present(({ name }) => name === THREADS);
    let faults = 0;
    const { figures } = await interleave(bench, rounds, "jobs/s", contestants, async (contestant) => {
      const rates: Record<string, number> = {};
      for (const size of SIZES) {
        const result = await drainTogether(bench, contestant, size, jobs);
        rates[measureOf(size)] = result.rate;
        faults += result.faults;
      }
      return rates;
    });
    for (const size of SIZES) {
      for (let index = 1; index < size; index++) await bench.end(workerName(index));
    }
    const one = figureOf(figures, THREADS, measureOf(1));
    return {
      scenario: "fleet",
      title: "1, 2 and 4 worker processes on one queue of no-op jobs",
      better: "more",
      conditions: `${jobs} jobs, ${rounds} rounds`,
      reference: null,
      figures,
      skipped: [],
      targets: [
        { what: FAULTS, reached: faults, atMost: 0 },
        ...SIZES.slice(1).map((size) => ({
          what: `${measureOf(size)}, of one (no bound set; they share the cores)`,
          reached: figureOf(figures, THREADS, measureOf(size)) / one,
          atLeast: 0,
        })),
      ],
    };
  },
};

const workerName = (index: number): string => `${THREADS}, worker ${index}`;

async function drainTogether(
  bench: Bench,
  contestant: Contestant,
  size: number,
  jobs: number,
): Promise<{ rate: number; faults: number }> {
  return await bench.with(contestant, {}, async ({ peer, schema }) => {
    await seedJobs(bench, schema, jobs);
    await bench.sql.unsafe(`analyze ${schema}.job`);
    const workers = [peer];
    for (let index = 1; index < size; index++) {
      const worker = await bench.process(workerName(index), contestant);
      await bench.open(worker, contestant, schema);
      workers.push(worker);
    }
    const drained = await Promise.all(
      workers.map((worker) => worker.call<{ seconds: number }>("drain", { jobs, capMs: CAP_MS })),
    );
    for (const worker of workers.slice(1)) await worker.call("close");
    const [row] = await bench.sql.unsafe(
      `select count(*) filter (where run = 1 and attempt = 1 and state = 'completed')::int as right
       from ${schema}.job_history`,
    );
    const seconds = Math.max(...drained.map((result) => result!.seconds));
    return { rate: jobs / seconds, faults: jobs - (row!.right as number) };
  });
}
