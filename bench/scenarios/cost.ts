import type { Bench } from "../bench.ts";
import { LIMIT, PEERS, THREADS } from "../contestants.ts";
import { interleave } from "../interleave.ts";
import { bestOf, figureOf } from "../result.ts";
import type { Scenario } from "../scenario.ts";

const SINGLE = "enqueued, single";
const BULK = "enqueued, many a call";
const DRAINED = "from claim to end";
const CHUNK = 5000;
const CAP_MS = 60_000;

/** How much is written to the log for each job: what disks, replicas and archives see. */
export const cost: Scenario = {
  name: "cost",
  async run(bench) {
    const jobs = bench.jobs(10_000);
    const rounds = bench.rounds(3);
    const { contestants, skipped } = await bench.present((one) =>
      !one.isDefault && !one.needsRedis && (one.side !== "millrace" || one.name === THREADS)
    );
    const measured = await interleave(bench, rounds, "bytes", contestants, async (contestant) => {
      const single = await bench.with(contestant, {}, async ({ peer }) => {
        const calls = Math.ceil(jobs / 10);
        return await walBytes(bench, () => peer.call("enqueue", { jobs: calls, atOnce: 10 })) / calls;
      });
      const many = await bench.with(contestant, {}, async ({ peer }) => {
        const bulk = await walBytes(bench, () => peer.call("bulk", { jobs, chunk: CHUNK })) / jobs;
        let done = 0;
        const drained = await walBytes(bench, async () => {
          done = (await peer.call<{ done: number }>("drain", { jobs, capMs: CAP_MS }))!.done;
        });
        return { [BULK]: bulk, [DRAINED]: drained / done };
      });
      return { [SINGLE]: single, ...many };
    });
    const { figures } = measured;
    return {
      scenario: "cost",
      title: "Bytes of write-ahead log a job",
      better: "less",
      conditions: `${jobs} jobs, ${rounds} rounds`,
      reference: LIMIT,
      figures,
      skipped: [...skipped, ...measured.skipped],
      targets: [{
        what: "from claim to end, of the peer that writes least (no bound set)",
        reached: figureOf(figures, THREADS, DRAINED) / bestOf(figures, PEERS, "less", DRAINED),
        atLeast: 0,
      }],
    };
  },
};

async function walBytes(bench: Bench, run: () => Promise<unknown>): Promise<number> {
  const [before] = await bench.sql`select pg_current_wal_insert_lsn()::text as at`;
  await run();
  const [after] = await bench
    .sql`select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), ${before!.at}::text::pg_lsn)::float8 as bytes`;
  return after!.bytes;
}
