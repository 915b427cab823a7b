/**
 * Measures Millrace beside the peers and beside what PostgreSQL alone can do (`deno task bench`). Only the ratios of
 * one run mean something on another machine. See `bench/README.md`.
 *
 * @module
 */
import { parseArguments, USAGE } from "./arguments.ts";
import { Bench } from "./bench.ts";
import { toSvg } from "./plot.ts";
import { toMarkdown, toText } from "./report.ts";

if (Deno.args.includes("--help")) {
  say(USAGE);
  Deno.exit(0);
}
const given = readArguments();
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

async function start(): Promise<Bench> {
  try {
    await Deno.mkdir(given.out, { recursive: true });
    return await Bench.start({ ...given, url: Deno.env.get("DATABASE_URL") || null, say });
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
