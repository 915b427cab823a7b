import type { Bench } from "../bench.ts";
import { type Contestant, THREADS } from "../contestants.ts";
import { interleave } from "../interleave.ts";
import { figureOf } from "../result.ts";
import type { Scenario } from "../scenario.ts";
import { seedJobs } from "../seed.ts";

const PER_SECOND = 300;
const WAIT_MS = 50;
const CONCURRENCY = 32;
const KILLS = 4;
/** From one kill to the next, in seconds: the rescue comes within, by the default settings. */
const APART_S = 22;
/** The rate is told of windows of so many seconds. */
const WINDOW_S = 5;
const LEFT_MS_MAX = 120_000;
/** In a quick run a death is noticed soon. */
const QUICK = { heartbeatMs: 200, lostAfterMs: 800, pollMs: 100 };
const DRAIN_CONCURRENCY = 64;
const DRAIN_WAIT_MS = 20;
const SUSPECTS = 48;
const DRAIN_CAP_MS = 60_000;

const RATE = "least rate of the others";
const P99 = "p99 of the others, ms";
const END = "from the rescue to the last suspect's end, ms";
const DRAIN = "drain beside suspects";

/** One of two worker processes is killed again and again: what its jobs cost the others. */
export const kills: Scenario = {
  name: "kills",
  async run(bench) {
    const { quick } = bench.options;
    const rounds = bench.rounds(1);
    const count = quick ? 1 : KILLS;
    const { contestants } = await bench.present(({ name }) => name === THREADS);
    const { figures } = await interleave(bench, rounds, "", contestants, async (contestant) => ({
      ...await underKills(bench, contestant, count, quick ? 3 : APART_S),
      [DRAIN]: await drainBeside(bench, contestant),
    }));
    await bench.end(workerName);
    await bench.end(producerName);
    return {
      scenario: "kills",
      title: "One of two worker processes is killed again and again",
      better: "more",
      conditions: `${PER_SECOND} jobs/s of ${WAIT_MS} ms, concurrency ${CONCURRENCY}, ${count} kills; ` +
        `a drain at concurrency ${DRAIN_CONCURRENCY} with ${SUSPECTS} suspects, of one without`,
      reference: null,
      figures,
      skipped: [],
      targets: [
        { what: `${RATE}, of what is enqueued`, reached: figureOf(figures, THREADS, RATE), atLeast: 0.9 },
        { what: P99, reached: figureOf(figures, THREADS, P99), atMost: 1000 },
        { what: END, reached: figureOf(figures, THREADS, END), atMost: 10_000 },
        { what: `${DRAIN}, of one without`, reached: figureOf(figures, THREADS, DRAIN), atLeast: 0.9 },
      ],
    };
  },
};

const workerName = `${THREADS}, killed`;
const producerName = `${THREADS}, producer`;

async function underKills(
  bench: Bench,
  contestant: Contestant,
  count: number,
  apartS: number,
): Promise<Record<string, number>> {
  const open = { concurrency: CONCURRENCY, ...(bench.options.quick ? { settings: QUICK } : {}) };
  return await bench.with(contestant, open, async ({ peer, schema }) => {
    const start = async () => {
      const worker = await bench.process(workerName, contestant);
      await bench.open(worker, contestant, schema, open);
      await worker.call("startWork");
    };
    await start();
    await peer.call("startWork");
    const producer = await bench.process(producerName, contestant);
    await bench.open(producer, contestant, schema, open);
    const seconds = apartS * (count + 0.5);
    const produced = producer.call("produce", { perSecond: PER_SECOND, seconds, waitMs: WAIT_MS });
    for (let kill = 0; kill < count; kill++) {
      await pause(apartS * 1000 * (kill === 0 ? 0.5 : 1));
      await bench.kill(workerName);
      await start();
    }
    await produced;
    await untilNothingIsLeft(bench, schema);
    const figures = await figuresOf(bench, schema);
    const worker = await bench.process(workerName, contestant);
    await Promise.all([peer, worker].map((one) => one.call("stopWork")));
    for (const one of [producer, worker]) await one.call("close");
    return figures;
  });
}

async function untilNothingIsLeft(bench: Bench, schema: string): Promise<void> {
  const end = performance.now() + LEFT_MS_MAX;
  const left = async () =>
    (await bench.sql.unsafe(`select from ${schema}.job where queue = 'default' limit 1`)).length > 0;
  while (await left()) {
    if (performance.now() > end) throw new Error(`jobs were left ${LEFT_MS_MAX} ms after the last kill`);
    await pause(100);
  }
}

/** The others are the jobs that had one run: the process that was killed had not claimed them. */
async function figuresOf(bench: Bench, schema: string): Promise<Record<string, number>> {
  const [row] = await bench.sql.unsafe(`
    with ended as (
      select run, errors, enqueued_at, finished_at,
        extract(epoch from finished_at - enqueued_at) * 1000 - ${WAIT_MS} as ms
      from ${schema}.job_history where queue = 'default'
    ), began as (
      select min(enqueued_at) as at, max(enqueued_at) as over from ended
    ), counts as (
      select (
          select count(*) from ended
          where run = 1 and finished_at >= from_at and finished_at < from_at + interval '${WINDOW_S} s'
        )::float8 / nullif((
          select count(*) from ended
          where run = 1 and enqueued_at >= from_at and enqueued_at < from_at + interval '${WINDOW_S} s'
        ), 0) as share
      from began, generate_series(at + interval '1 s', over - interval '${WINDOW_S} s', interval '1 s') as from_at
    )
    select
      coalesce((select min(share) from counts), 1) as rate,
      (select percentile_cont(0.99) within group (order by ms) from ended where run = 1) as p99,
      (
        select coalesce(max(extract(epoch from finished_at - (errors->0->>'at')::timestamptz)) * 1000, 0)
        from ended where errors is not null
      ) as last_end`);
  return { [RATE]: Number(row!.rate), [P99]: Number(row!.p99), [END]: Number(row!.last_end) };
}

/** The rate of the others in a drain with suspects at its head, of that without. */
async function drainBeside(bench: Bench, contestant: Contestant): Promise<number> {
  const jobs = bench.jobs(15_000);
  const rates: number[] = [];
  for (const suspects of [0, SUSPECTS]) {
    const rate = await bench.with(
      contestant,
      { concurrency: DRAIN_CONCURRENCY },
      async ({ peer, schema }) => {
        await seedJobs(bench, schema, jobs);
        await bench.sql.unsafe(
          `update ${schema}.job set args = args || '{"waitMs": ${DRAIN_WAIT_MS}}',
             alone = id <= ${suspects}, attempt = case when id <= ${suspects} then 1 else 0 end`,
        );
        await bench.sql.unsafe(`analyze ${schema}.job`);
        await peer.call("drain", { jobs, capMs: DRAIN_CAP_MS });
        const [row] = await bench.sql.unsafe(
          `select count(*) / extract(epoch from max(finished_at) - min(claimed_at))::float8 as rate
           from ${schema}.job_history where not alone`,
        );
        return Number(row!.rate);
      },
    );
    rates.push(rate);
  }
  return rates[1]! / rates[0]!;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
