import type { Bench } from "../bench.ts";
import { type Contestant, DEFAULTS, INLINE, INLINE_DEFAULTS, LIMIT, PEERS, THREADS } from "../contestants.ts";
import { interleave } from "../interleave.ts";
import { bestOf, type Figure, figureOf, type Target } from "../result.ts";
import type { Scenario } from "../scenario.ts";

/** What one drain is made of. */
export interface DrainParams {
  /** How many jobs are queued before. */
  readonly jobs: number;
  /** After how long it is broken off, in ms. */
  readonly capMs: number;
  /** What is added to the args, and what the handler does. */
  readonly work?: { readonly bytes?: number; readonly fib?: number; readonly waitMs?: number };
  /** What the contestant is told when it opens. */
  readonly open?: Record<string, unknown>;
}

const CHUNK = 5000;
const DEFAULTS_CAP_MS = 3000;
const CAP_MS = 15_000;

/** Jobs per second of one contestant, from the call that starts its worker to the end of the last job. */
export async function drainRate(bench: Bench, contestant: Contestant, params: DrainParams): Promise<number> {
  return await bench.with(contestant, params.open ?? {}, async ({ peer }) => {
    await peer.call("bulk", { jobs: params.jobs, chunk: CHUNK, ...params.work });
    // What a planner does without them is a scenario of its own.
    await bench.sql`analyze`;
    const { done, seconds } = (await peer.call<{ done: number; seconds: number }>("drain", {
      jobs: params.jobs,
      capMs: params.capMs,
    }))!;
    return done / seconds;
  });
}

/** No-op jobs, tuned: Millrace against the bare statements and every peer. */
export const drain: Scenario = {
  name: "drain",
  async run(bench) {
    const jobs = bench.jobs(50_000);
    const rounds = bench.rounds();
    const { contestants, skipped } = await bench.present((one) => !one.isDefault);
    const measured = await interleave(bench, rounds, "jobs/s", contestants, async (contestant) => ({
      "": await drainRate(bench, contestant, { jobs, capMs: CAP_MS }),
    }));
    const { figures } = measured;
    return {
      scenario: "drain",
      title: "No-op jobs, queued before, one worker process",
      better: "more",
      conditions: `${jobs} jobs, ${rounds} rounds`,
      reference: LIMIT,
      figures,
      skipped: [...skipped, ...measured.skipped],
      targets: [
        ratio("threads, of the statements alone", figures, THREADS, LIMIT, 0.6),
        ratio("inline, of the statements alone", figures, INLINE, LIMIT, 0.75),
        {
          what: "threads, of the fastest peer",
          reached: figureOf(figures, THREADS) / bestOf(figures, PEERS, "more"),
          atLeast: 1,
        },
      ],
    };
  },
};

/** The same with no option set by anyone. */
export const drainDefaults: Scenario = {
  name: "drain-defaults",
  async run(bench) {
    const jobs = bench.jobs(50_000);
    const rounds = bench.rounds();
    const { contestants, skipped } = await bench.present((one) => one.isDefault);
    const measured = await interleave(bench, rounds, "jobs/s", contestants, async (contestant) => ({
      "": await drainRate(bench, contestant, {
        jobs: contestant.side === "millrace" ? jobs : Math.ceil(jobs / 2),
        capMs: contestant.side === "millrace" ? CAP_MS : DEFAULTS_CAP_MS,
      }),
    }));
    const { figures } = measured;
    return {
      scenario: "drain-defaults",
      title: "No-op jobs, queued before, one worker process, no option set",
      better: "more",
      conditions: `${jobs} jobs, peers for ${DEFAULTS_CAP_MS / 1000} s at most, ${rounds} rounds`,
      reference: DEFAULTS,
      figures,
      skipped: [...skipped, ...measured.skipped],
      targets: [
        ratio("defaults, of graphile-worker's", figures, DEFAULTS, "graphile-worker, defaults", 10),
        ratio("defaults, of BullMQ's on PostgreSQL", figures, DEFAULTS, "BullMQ on PostgreSQL, defaults", 10),
        ratio("defaults, of BullMQ's on Redis", figures, DEFAULTS, "BullMQ on Redis, defaults", 10),
        ratio(
          "inline defaults, of BullMQ's on Redis",
          figures,
          INLINE_DEFAULTS,
          "BullMQ on Redis, defaults",
          10,
        ),
      ],
    };
  },
};

/** A target that one figure is at least so much of another. */
export function ratio(
  what: string,
  figures: readonly Figure[],
  one: string,
  other: string,
  atLeast: number,
  measure = "",
): Target {
  return { what, reached: figureOf(figures, one, measure) / figureOf(figures, other, measure), atLeast };
}
