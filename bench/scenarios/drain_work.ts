import { CONTESTANTS, INLINE, LIMIT, PEERS, THREADS } from "../contestants.ts";
import type { Bench } from "../bench.ts";
import { interleave } from "../interleave.ts";
import { bestOf, type Figure, figureOf, type Result, type Target } from "../result.ts";
import type { Scenario } from "../scenario.ts";
import { drainRate } from "./drain.ts";

/** Some 4 ms of computing on the machine of the published figures. */
const FIB = 29;
const WAIT_MS = 20;
const ARGS_BYTES = 8192;
const CAP_MS = 20_000;

/** How many threads Millrace has, or which contestant it is. */
interface Way {
  readonly contestant: string;
  readonly measure: string;
  readonly open?: Record<string, unknown>;
}

const THREAD_WAYS: readonly Way[] = [
  { contestant: THREADS, measure: "1 thread", open: { threads: 1 } },
  { contestant: THREADS, measure: "2 threads", open: { threads: 2 } },
];

async function run(
  bench: Bench,
  scenario: Pick<Result, "scenario" | "title" | "reference">,
  usualJobs: number,
  work: { bytes?: number; fib?: number; waitMs?: number },
  ways: readonly Way[],
  targets: (figures: readonly Figure[]) => Target[],
): Promise<Result> {
  const jobs = bench.jobs(usualJobs);
  const rounds = bench.rounds();
  const present = await bench.present(({ name }) => ways.some((way) => way.contestant === name));
  const figures: Figure[] = [];
  const skipped = [...present.skipped];
  // A way is a contestant with a setting; each takes its turn in every round.
  const turns = ways.filter((way) => present.contestants.some(({ name }) => name === way.contestant));
  const measured = await interleave(
    bench,
    rounds,
    "jobs/s",
    turns.map((way) => ({
      ...CONTESTANTS.find(({ name }) => name === way.contestant)!,
      name: way.measure === "" ? way.contestant : `${way.contestant}, ${way.measure}`,
      open: { ...CONTESTANTS.find(({ name }) => name === way.contestant)!.open, ...way.open },
    })),
    async (contestant) => ({ "": await drainRate(bench, contestant, { jobs, capMs: CAP_MS, work }) }),
  );
  figures.push(...measured.figures);
  return {
    ...scenario,
    better: "more",
    conditions: `${jobs} jobs, ${rounds} rounds`,
    figures,
    skipped: [...skipped, ...measured.skipped],
    targets: targets(figures),
  };
}

const others = (names: readonly string[]): Way[] => names.map((contestant) => ({ contestant, measure: "" }));
const TUNED_PEERS = PEERS.filter((name) => name.endsWith("tuned"));

/** Long args. */
export const drainLargeArgs: Scenario = {
  name: "drain-8kb",
  run: (bench) =>
    run(
      bench,
      { scenario: "drain-8kb", title: "No-op jobs with 8 KB of args, queued before", reference: LIMIT },
      10_000,
      { bytes: ARGS_BYTES },
      [...others([LIMIT]), ...THREAD_WAYS, ...others([INLINE, ...TUNED_PEERS])],
      (figures) => [{
        what: "threads, of the fastest peer",
        reached: figureOf(figures, `${THREADS}, 2 threads`) / bestOf(figures, PEERS, "more"),
        atLeast: 1,
      }],
    ),
};

/** Jobs that compute. */
export const drainComputing: Scenario = {
  name: "drain-cpu",
  run: (bench) =>
    run(
      bench,
      {
        scenario: "drain-cpu",
        title: `Jobs that compute (fib(${FIB}), some 4 ms), queued before`,
        reference: `${THREADS}, 1 thread`,
      },
      3000,
      { fib: FIB },
      [...THREAD_WAYS, ...others([INLINE, ...TUNED_PEERS])],
      (figures) => [{
        what: "two threads, of one",
        reached: figureOf(figures, `${THREADS}, 2 threads`) / figureOf(figures, `${THREADS}, 1 thread`),
        atLeast: 1.9,
      }],
    ),
};

/** Jobs that wait for something. */
export const drainWaiting: Scenario = {
  name: "drain-wait",
  run: (bench) =>
    run(
      bench,
      {
        scenario: "drain-wait",
        title: `Jobs that wait ${WAIT_MS} ms, queued before`,
        reference: `${THREADS}, 1 thread`,
      },
      20_000,
      { waitMs: WAIT_MS },
      [...THREAD_WAYS, ...others([INLINE, ...TUNED_PEERS])],
      () => [],
    ),
};
