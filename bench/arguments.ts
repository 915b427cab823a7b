import { type Comparison, COMPARISONS } from "./against/comparisons.ts";
import { CONTESTANTS, nameContains } from "./contestants.ts";
import { SCENARIOS } from "./scenarios/mod.ts";
import type { Scenario } from "./scenario.ts";

/** What the command line asked for. */
export interface BenchArguments {
  /** Which scenarios. */
  readonly scenarios: readonly Scenario[];
  /** How many rounds; null for each scenario's own number. */
  readonly rounds: number | null;
  /** How many jobs; null for each scenario's own number. */
  readonly jobs: number | null;
  /** Whether everything works, not how fast it is. */
  readonly quick: boolean;
  /** Parts of contestants' names; empty for all. */
  readonly only: readonly string[];
  /** Where results are written. */
  readonly out: string;
  /** The revision to compare this one with; null to measure beside the peers. */
  readonly against: string | null;
  /** What revisions are compared by. */
  readonly comparisons: readonly Comparison[];
}

/** How it is called. */
export const USAGE: string =
  `deno task bench [scenario...] [--rounds N] [--jobs N] [--quick] [--only a,b] [--out folder]
deno task bench [comparison...] --against REVISION [--rounds PAIRS] [--jobs N] [--quick] [--out folder]

scenarios: ${SCENARIOS.map((scenario) => scenario.name).join(", ")}; without any, all of them
comparisons: ${COMPARISONS.map((comparison) => comparison.name).join(", ")}; without any, all of them
--against  compares this tree with another revision of it, in pairs; exits with 1 when a bound is missed
--only     takes part: contestants whose names contain one of these
--quick    a hundredth of the jobs, one round: whether it works
--out      where each scenario's .json, .svg and .md go. Default bench/results`;

/**
 * Reads the command line.
 *
 * @throws {TypeError} naming what is not understood.
 */
export function parseArguments(args: readonly string[]): BenchArguments {
  const names: string[] = [];
  const options: Record<string, string> = {};
  let quick = false;
  for (let index = 0; index < args.length; index++) {
    const arg = args[index]!;
    if (arg === "--quick") quick = true;
    else if (["--rounds", "--jobs", "--only", "--out", "--against"].includes(arg)) {
      const value = args[++index];
      if (value === undefined) throw new TypeError(`${arg} needs a value`);
      options[arg.slice(2)] = value;
    } else if (arg.startsWith("-")) throw new TypeError(`There is no option "${arg}"`);
    else names.push(arg);
  }
  const against = options.against ?? null;
  const known = against === null ? SCENARIOS : COMPARISONS;
  const unknown = names.find((name) => !known.some((one) => one.name === name));
  if (unknown !== undefined) {
    throw new TypeError(`There is no ${against === null ? "scenario" : "comparison"} "${unknown}"`);
  }
  const isNamed = ({ name }: { readonly name: string }) => names.length === 0 || names.includes(name);
  return {
    scenarios: SCENARIOS.filter(isNamed),
    comparisons: COMPARISONS.filter(isNamed),
    against,
    rounds: count("rounds", options.rounds),
    jobs: count("jobs", options.jobs),
    quick,
    only: options.only === undefined ? [] : contestants(options.only),
    out: options.out ?? "bench/results",
  };
}

function contestants(list: string): string[] {
  const parts = list.split(",");
  const unknown = parts.find((part) =>
    part === "" || !CONTESTANTS.some(({ name }) => nameContains(name, part))
  );
  if (unknown === undefined) return parts;
  const names = CONTESTANTS.map(({ name }) => `"${name}"`).join(", ");
  throw new TypeError(`--only: "${unknown}" was given, expected a part of a contestant's name: ${names}`);
}

/** More than a run can have, and few enough to be counted. */
const COUNT_MAX = 100_000_000;

function count(name: string, value: string | undefined): number | null {
  if (value === undefined) return null;
  const number = Number(value);
  if (Number.isInteger(number) && number > 0 && number <= COUNT_MAX) return number;
  throw new TypeError(`--${name}: "${value}" was given, expected an integer from 1 to ${COUNT_MAX}`);
}
