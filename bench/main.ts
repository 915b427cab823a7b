/**
 * Measures Millrace beside the peers and beside what PostgreSQL alone can do (`deno task bench`). Only the ratios of
 * one run mean something on another machine. See `bench/README.md`.
 *
 * @module
 */
import { parseArguments, USAGE } from "./arguments.ts";
import { compare, compareText } from "./against/compare.ts";
import { Revision } from "./against/revision.ts";
import { Bench } from "./bench.ts";
import { toSvg } from "./plot.ts";
import { toMarkdown, toText } from "./report.ts";

if (Deno.args.includes("--help")) {
  say(USAGE);
  Deno.exit(0);
}
const given = readArguments();
if (given.against === null) await measureScenarios();
else if (!await compareWith(given.against)) Deno.exitCode = 1;

async function measureScenarios(): Promise<void> {
  await using bench = await start();
  for (const scenario of given.scenarios) {
    say(`${scenario.name} ...`);
    const measured = await scenario.run(bench);
    // So few jobs say whether it works, and nothing of the targets.
    const result = given.quick ? { ...measured, targets: [] } : measured;
    say(toText(result));
    await Deno.writeTextFile(`${given.out}/${scenario.name}.json`, JSON.stringify(result, null, 2) + "\n");
    await Deno.writeTextFile(`${given.out}/${scenario.name}.svg`, toSvg(result));
    await Deno.writeTextFile(`${given.out}/${scenario.name}.md`, toMarkdown(result));
  }
}

/** Whether every bound holds. */
async function compareWith(revision: string): Promise<boolean> {
  await using other = await checkOut(revision);
  await using bench = await start();
  let isMet = true;
  for (const comparison of given.comparisons) {
    say(`${comparison.name}, against ${other.name} ...`);
    const compared = await compare(bench, comparison, other);
    say(compareText(compared));
    await Deno.writeTextFile(
      `${given.out}/${comparison.name}-against.json`,
      JSON.stringify(compared, null, 2) + "\n",
    );
    isMet &&= compared.ratios.every((ratio) => ratio.isMet !== false);
  }
  return isMet;
}

async function checkOut(revision: string): Promise<Revision> {
  try {
    return await Revision.checkOut(revision);
  } catch (error) {
    say((error as Error).message);
    Deno.exit(2);
  }
}

async function start(): Promise<Bench> {
  try {
    await Deno.mkdir(given.out, { recursive: true });
    return await Bench.start({
      ...given,
      countsStatements: given.against !== null,
      url: Deno.env.get("DATABASE_URL") || null,
      say,
    });
  } catch (error) {
    say((error as Error).message);
    Deno.exit(2);
  }
}

function readArguments(): ReturnType<typeof parseArguments> {
  try {
    return parseArguments(Deno.args);
  } catch (error) {
    say(`${(error as Error).message}\n\n${USAGE}`);
    Deno.exit(2);
  }
}

function say(text: string): void {
  const bytes = new TextEncoder().encode(`${text}\n`);
  for (let written = 0; written < bytes.length;) written += Deno.stdout.writeSync(bytes.subarray(written));
}
