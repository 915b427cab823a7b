/**
 * Work under fire (`deno task chaos [--minutes N] [--seed S]`): real worker programs, a real PostgreSQL, and faults of
 * every kind that a seed determines. Then the proof that nothing was lost and all is accounted for.
 *
 * @module
 */
import { parseArgs } from "node:util";
import { run, type RunResult } from "./run.ts";
import { FIXED_SEEDS, type FixedRun } from "./seeds.ts";

const HELP = `Work under fire.

Usage: deno task chaos [--minutes N] [--seed S] [--pair] [--keep]
       deno task test:chaos

  --minutes N   for how long faults are made (default 2)
  --seed S      what determines faults and work (default a new one)
  --pair        a standby follows the server, and takes its place now and then
  --keep        leave the journal and the programs' output where they are, also when all is well
  --fixed       the runs of tests/chaos/seeds.ts, one after the other: what test:chaos does

Exit code 1: a rule was broken. The report names it with the job and its history.
`;

const SHOWN = 10;
const HISTORY_SHOWN = 40;

/**
 * The application's own transactions are the driver's, which throws outside of any promise when their session ends, as the
 * guide says: an application listens for it.
 */
function listenForTheDriver(): void {
  addEventListener("error", (event) => {
    if (/\/postgres\/.*connection\.js/.test(event.error?.stack ?? "")) event.preventDefault();
  });
}

async function main(): Promise<number> {
  listenForTheDriver();
  const { values } = parseArgs({
    args: Deno.args,
    options: {
      minutes: { type: "string", default: "2" },
      seed: { type: "string" },
      pair: { type: "boolean", default: false },
      keep: { type: "boolean", default: false },
      fixed: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    say(HELP.trimEnd());
    return 0;
  }
  const runs = values.fixed ? FIXED_SEEDS : [{
    seed: number("seed", values.seed ?? newSeed()),
    seconds: 60 * number("minutes", values.minutes),
    pair: values.pair,
  }];
  let broken = 0;
  for (const one of runs) broken += await make(one, values.keep) ? 0 : 1;
  if (values.fixed) say(`Tests on chaos: ${runs.length - broken} passed, ${broken} failed, 0 ignored`);
  return broken === 0 ? 0 : 1;
}

/** Makes one run and reports it. Resolves to whether all is well. */
async function make({ seed, seconds, pair }: FixedRun, keep: boolean): Promise<boolean> {
  const folder = await Deno.makeTempDir({ prefix: "millrace_chaos_" });
  say(`Seed ${seed}, faults for ${seconds} s${pair ? ", with a standby" : ""}.`);
  const result = await run({ seed, ms: seconds * 1000, pair, folder, say });
  report(result);
  const isWell = result.violations.length === 0;
  if (isWell && !keep) await Deno.remove(folder, { recursive: true });
  else say(`The journal and what the programs printed: ${folder}`);
  say(
    isWell
      ? `Seed ${seed}: all is accounted for.`
      : `Seed ${seed}: BROKEN, ${result.violations.length} times.`,
  );
  return isWell;
}

function report(result: RunResult): void {
  const { violations, faults, jobs, executions, duplicates, recoveryMs, events, deliveries, receipts } =
    result;
  const made = [...faults].toSorted(([, one], [, other]) => other - one);
  const sum = made.reduce((total, [, count]) => total + count, 0);
  say(`Faults: ${sum} (${made.map(([name, count]) => `${name} ${count}`).join(", ")})`);
  say(
    `Jobs: ${jobs}, handlers started: ${executions}, runs beside another of the same job: ${duplicates}, ` +
      `events: ${events}, deliveries: ${deliveries} in ${receipts} requests, ` +
      `all done ${(recoveryMs / 1000).toFixed(1)} s after the last fault`,
  );
  const rules = Map.groupBy(violations, ({ rule }) => rule);
  for (const [rule, broken] of rules) say(`BROKEN: ${rule}, ${broken.length} times`);
  const shown = [...rules.values()].flatMap((broken) => broken.slice(0, SHOWN));
  for (const { rule, job, event, text, history } of shown) {
    const whose = job !== undefined ? ` (job ${job})` : event !== undefined ? ` (event ${event})` : "";
    say(`\n${rule}${whose}: ${text}`);
    for (const line of history.slice(0, HISTORY_SHOWN)) say(`    ${line}`);
  }
}

function number(name: string, text: string): number {
  const value = Number(text);
  if (!(value >= 0)) throw new Error(`Cannot use --${name} ${text}: expected a number from 0`);
  return value;
}

function newSeed(): string {
  return String(crypto.getRandomValues(new Uint32Array(1))[0]);
}

function say(line: string): void {
  const bytes = new TextEncoder().encode(line + "\n");
  for (let written = 0; written < bytes.length;) written += Deno.stdout.writeSync(bytes.subarray(written));
}

if (import.meta.main) Deno.exit(await main());
