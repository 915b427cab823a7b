import type { Bench } from "../bench.ts";
import { type Contestant, LIMIT, PEERS, THREADS } from "../contestants.ts";
import { interleave, type Measured } from "../interleave.ts";
import { bestOf, figureOf } from "../result.ts";
import type { Scenario } from "../scenario.ts";
import { ratio } from "./drain.ts";

const WIDTHS = [10, 32] as const;
const MEASURES = { 10: "10 at a time", 32: "32 at a time" } as const;
const WAKING = "with wake-ups";
const QUIET = "without wake-ups";

/** Everyone once, and of Millrace's setups the one with threads: an enqueue does not know where handlers run. */
const takesPart = (contestant: Contestant): boolean =>
  contestant.side === "millrace" ? contestant.name === THREADS : !contestant.isDefault;

async function rate(
  bench: Bench,
  contestant: Contestant,
  method: string,
  connections: number,
  params: Record<string, unknown> & { jobs: number },
): Promise<number | null> {
  return await bench.with(contestant, { connections }, async ({ peer }) => {
    const result = await peer.call<{ seconds: number }>(method, params);
    return result === null ? null : params.jobs / result.seconds;
  });
}

/** Single calls. */
export const enqueue: Scenario = {
  name: "enqueue",
  async run(bench) {
    const jobs = bench.jobs(6000);
    const rounds = bench.rounds();
    const { contestants, skipped } = await bench.present(takesPart);
    const measured = await interleave(bench, rounds, "jobs/s", contestants, async (contestant) => {
      const rates: Record<string, number> = {};
      for (const atOnce of WIDTHS) {
        rates[MEASURES[atOnce]] = (await rate(bench, contestant, "enqueue", atOnce, { jobs, atOnce }))!;
      }
      return rates;
    });
    const { figures } = measured;
    return {
      scenario: "enqueue",
      title: "Single enqueues, as many connections as calls at a time",
      better: "more",
      conditions: `${jobs} jobs, ${rounds} rounds`,
      reference: LIMIT,
      figures,
      skipped: [...skipped, ...measured.skipped],
      targets: [
        ratio("10 at a time, of a bare insert on 10 connections", figures, THREADS, LIMIT, 1.5, MEASURES[10]),
      ],
    };
  },
};

/** In the caller's transaction, beside a row of its own. */
export const enqueueInTransaction: Scenario = {
  name: "enqueue-in-transaction",
  async run(bench) {
    const jobs = bench.jobs(6000);
    const rounds = bench.rounds();
    const { contestants, skipped } = await bench.present(takesPart);
    const measured = await interleave(
      bench,
      rounds,
      "transactions/s",
      contestants,
      async (contestant): Promise<Measured | null> => {
        const measure = (awake: boolean) =>
          rate(bench, contestant, "enqueueInTransaction", 10, { jobs, atOnce: 10, awake });
        const waking = await measure(false);
        if (waking === null) return null;
        // A bare insert wakes nobody; the peers have no such state.
        if (contestant.side === "bare") return { [QUIET]: waking };
        return contestant.side === "peer"
          ? { [WAKING]: waking }
          : { [QUIET]: (await measure(true))!, [WAKING]: waking };
      },
    );
    const { figures } = measured;
    return {
      scenario: "enqueue-in-transaction",
      title: "A business row and a job in one transaction, 10 connections",
      better: "more",
      conditions: `${jobs} transactions, ${rounds} rounds`,
      reference: LIMIT,
      figures,
      skipped: [...skipped, ...measured.skipped],
      targets: [
        ratio("without wake-ups, of the same with a bare insert", figures, THREADS, LIMIT, 0.95, QUIET),
        {
          what: "with wake-ups, of the same with a bare insert (no bound set)",
          reached: figureOf(figures, THREADS, WAKING) / figureOf(figures, LIMIT, QUIET),
          atLeast: 0,
        },
      ],
    };
  },
};

/** One call for many. */
export const enqueueBulk: Scenario = {
  name: "enqueue-bulk",
  async run(bench) {
    const jobs = bench.jobs(20_000);
    const rounds = bench.rounds();
    const { contestants, skipped } = await bench.present(takesPart);
    const measured = await interleave(bench, rounds, "jobs/s", contestants, async (contestant) => ({
      "": (await rate(bench, contestant, "bulk", 10, { jobs, chunk: jobs }))!,
    }));
    const { figures } = measured;
    return {
      scenario: "enqueue-bulk",
      title: "One call that enqueues many",
      better: "more",
      conditions: `${jobs} jobs a call, ${rounds} rounds`,
      reference: LIMIT,
      figures,
      skipped: [...skipped, ...measured.skipped],
      targets: [
        ratio("of a bare INSERT ... SELECT unnest", figures, THREADS, LIMIT, 0.7),
        {
          what: "of the fastest peer",
          reached: figureOf(figures, THREADS) / bestOf(figures, PEERS, "more"),
          atLeast: 1,
        },
      ],
    };
  },
};
