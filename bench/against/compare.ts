import type { Bench } from "../bench.ts";
import { type Contestant, localProgram } from "../contestants.ts";
import { median, readable } from "../figures.ts";
import type { Comparison } from "./comparisons.ts";
import { canCountStatements, spend } from "./counters.ts";
import { type Interval, intervalOf } from "./interval.ts";
import type { Revision } from "./revision.ts";

/** The fewest pairs that are worth a verdict, and how many are run unless told otherwise. */
export const PAIRS_MIN = 15;
/** What a rate may have lost, at the lower end of its interval. */
const RATE_MIN = 0.95;
/** What bytes, statements and processor time may have grown by: these are steady. */
const SPENT_MAX = 1.02;

/** How one figure of this revision stands to the other revision's. */
export interface Ratio {
  /** Which figure. */
  readonly what: string;
  /** This revision's, divided by the other's, pair by pair. */
  readonly ratios: readonly number[];
  /** The median of the pairs, and its interval. */
  readonly interval: Interval;
  /** This revision's median value. */
  readonly value: number;
  /** What is asked of it, in words. */
  readonly bound: string;
  /** Whether it holds; null when there are too few pairs to say. */
  readonly isMet: boolean | null;
}

/** What one comparison came to. */
export interface Compared {
  /** The comparison. */
  readonly name: string;
  /** What it measures. */
  readonly title: string;
  /** The other revision. */
  readonly against: string;
  /** How many pairs of how many items. */
  readonly conditions: string;
  /** One for each figure. */
  readonly ratios: readonly Ratio[];
}

/** The figures of one run of one side. */
type Run = ReadonlyMap<
  string,
  { readonly value: number; readonly better: "more" | "less"; readonly isSpent: boolean }
>;

/**
 * Runs this revision and another one in turn, in pairs, on one server. Which of the two goes first changes with each pair.
 * The first pair warms both up and is not counted.
 */
export async function compare(bench: Bench, comparison: Comparison, revision: Revision): Promise<Compared> {
  await canCountStatements(bench);
  const pairs = bench.options.rounds ?? (bench.options.quick ? 1 : PAIRS_MIN);
  const items = bench.jobs(comparison.items);
  const sides = [
    sideOf("this revision", decodeURIComponent(new URL("../..", import.meta.url).pathname), comparison),
    sideOf(revision.name, `${revision.folder}/`, comparison),
  ] as const;
  const runs: [Run, Run][] = [];
  try {
    for (let pair = 0; pair <= pairs; pair++) {
      const order = pair % 2 === 0 ? [0, 1] as const : [1, 0] as const;
      const both: Run[] = [];
      for (const index of order) both[index] = await measure(bench, comparison, sides[index], items);
      if (pair === 0) continue;
      runs.push([both[0]!, both[1]!]);
      bench.options.say(`  pair ${pair}: ${sayPair(both[0]!, both[1]!)}`);
    }
  } finally {
    for (const side of sides) await bench.end(side.name);
  }
  return {
    name: comparison.name,
    title: comparison.title,
    against: revision.name,
    conditions: `${pairs} pairs of ${items}`,
    ratios: [...runs[0]![0].keys()].map((what) => ratioOf(what, runs)),
  };
}

/** The result as a table for a terminal. */
export function compareText({ name, title, against, conditions, ratios }: Compared): string {
  const lines = ratios.map(({ what, interval: { median, low, high }, value, bound, isMet }) =>
    `  ${(isMet === null ? "no verdict" : isMet ? "holds" : "MISSED").padEnd(11)} ${what.padEnd(32)} ${
      median.toFixed(3)
    } ` +
    `[${low.toFixed(3)} to ${high.toFixed(3)}]  ${bound}; now ${readable(value)}`
  );
  const few = ratios.some(({ isMet }) => isMet === null) ? [`  a verdict takes ${PAIRS_MIN} pairs`] : [];
  return [`${name}: ${title}; ratios to ${against} (${conditions})`, ...lines, ...few, ""].join("\n");
}

function sideOf(name: string, folder: string, { program }: Comparison): Contestant {
  return {
    name: `${name}, ${program}`,
    side: "millrace",
    isDefault: false,
    open: {},
    needsRedis: false,
    program: () => Promise.resolve(localProgram(`${folder}bench/${program}`)),
  };
}

async function measure(
  bench: Bench,
  { prepare, run, open, item }: Comparison,
  side: Contestant,
  items: number,
): Promise<Run> {
  return await bench.with(side, open, async ({ peer }) => {
    await prepare(peer, items);
    await bench.sql`analyze`;
    const { result, spent } = await spend(bench, peer, () => run(peer, items));
    const figures = new Map(
      result.figures.map(({ what, better, value }) => [what, { value, better, isSpent: false }]),
    );
    const note = (what: string, value: number | null) => {
      if (value !== null) {
        figures.set(`${what} a ${item}`, { value: value / result.items, better: "less", isSpent: true });
      }
    };
    note("bytes of log", spent.walBytes);
    note("statements", spent.statements);
    note("µs of processor time", spent.processorUs);
    return figures;
  });
}

function ratioOf(what: string, runs: readonly (readonly [Run, Run])[]): Ratio {
  const figures = runs.map(([mine, other]) => [mine.get(what)!, other.get(what)!] as const);
  const ratios = figures.map(([mine, other]) => mine.value / other.value);
  const { better, isSpent } = figures[0]![0];
  return {
    what,
    ratios,
    value: median(figures.map(([mine]) => mine.value)),
    ...judge(ratios, isSpent ? "spent" : better),
  };
}

/** Whether the ratios of some pairs are good enough: of a rate, of a time, or of what was spent. */
export function judge(
  ratios: readonly number[],
  what: "more" | "less" | "spent",
): Pick<Ratio, "interval" | "bound" | "isMet"> {
  const interval = intervalOf(ratios);
  const [bound, isMet] = what === "spent"
    ? [`median at most ${SPENT_MAX}`, interval.median <= SPENT_MAX]
    : what === "more"
    ? [`lower end at least ${RATE_MIN}`, interval.low >= RATE_MIN]
    : [`upper end at most ${(1 / RATE_MIN).toFixed(3)}`, interval.high <= 1 / RATE_MIN];
  return { interval, bound, isMet: ratios.length < PAIRS_MIN ? null : isMet };
}

function sayPair(mine: Run, other: Run): string {
  return [...mine].map(([what, { value }]) => `${what} ${(value / other.get(what)!.value).toFixed(3)}`).join(
    ", ",
  );
}
