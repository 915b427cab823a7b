/**
 * Checks every TypeScript example in the documents and in the doc comments against the real types. An example is a module of
 * its own. What it takes for granted (`millrace`, `tx`, `orderId`) is declared in `tests/docs/surroundings.d.ts`, and one
 * that begins with `// name.ts` can be imported by the others of its page. `ts ignore: REASON` leaves one out.
 *
 * @module
 */
const root = decodeURIComponent(new URL("..", import.meta.url).pathname);
const SURROUNDINGS = new URL("../tests/docs/surroundings.d.ts", import.meta.url).href;

/** One example. */
interface Example {
  readonly page: string;
  /** Where it begins, from 1. */
  readonly line: number;
  readonly code: string;
}

/** The examples of a page, and the lines that leave one out without a reason. */
function examplesIn(page: string, text: string): { examples: Example[]; unexplained: string[] } {
  const examples: Example[] = [];
  const unexplained: string[] = [];
  const isCode = page.endsWith(".ts");
  const fence = isCode
    ? /^ *\* ```(ts[^\n]*)\n([\s\S]*?)^ *\* ```/gm
    : /^ *```(ts[^\n]*)\n([\s\S]*?)^ *```/gm;
  for (const { 1: info, 2: body, index } of text.matchAll(fence)) {
    const line = text.slice(0, index).split("\n").length;
    const code = isCode ? body!.replaceAll(/^ *\* ?/gm, "") : body!;
    if (info === "ts") examples.push({ page, line, code });
    else if (!/^ts ignore: \S/.test(info!)) unexplained.push(`${page}:${line}: \`${info}\` says no reason`);
  }
  return { examples, unexplained };
}

async function trackedFiles(): Promise<string[]> {
  const { stdout } = await new Deno.Command("git", {
    args: [
      "ls-files",
      "README.md",
      "docs/*.md",
      "CONTRIBUTING.md",
      "*.ts",
      ":!*_test.ts",
      ":!tests",
      ":!tools",
      ":!bench",
    ],
    cwd: root,
  }).output();
  return [
    ...new TextDecoder().decode(stdout).split("\n").filter((file) => file !== ""),
    "tests/conformance/mod.ts",
  ];
}

/** Writes the examples as modules. Returns which example each module is. */
async function write(folder: string, examples: readonly Example[]): Promise<Map<string, Example>> {
  const modules = new Map<string, Example>();
  for (const [index, example] of examples.entries()) {
    const place = `${folder}/${example.page.replaceAll(/[^\w]/g, "_")}`;
    const name = /^\/\/ ([\w/]+\.ts)/.exec(example.code)?.[1] ?? `example_${index}.ts`;
    await Deno.mkdir(`${place}/${name}`.replace(/\/[^/]*$/, ""), { recursive: true });
    const path = `${place}/${name}`;
    await Deno.writeTextFile(path, `/// <reference types="${SURROUNDINGS}" />\nexport {};\n${example.code}`);
    modules.set(path, example);
  }
  return modules;
}

const found = await Promise.all(
  (await trackedFiles()).map(async (page) => examplesIn(page, await Deno.readTextFile(root + page))),
);
const examples = found.flatMap((each) => each.examples);
const unexplained = found.flatMap((each) => each.unexplained);
const folder = await Deno.makeTempDir({ dir: `${root}examples`, prefix: ".snippets_" });
let failed = unexplained.length > 0;
try {
  const modules = await write(folder, examples);
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["check", "--quiet", ...modules.keys()],
    cwd: root,
    env: { NO_COLOR: "1" },
  }).output();
  failed ||= !success;
  let text = new TextDecoder().decode(stderr);
  for (const [path, { page, line }] of modules) {
    text = text.replaceAll(
      new RegExp(`file://${path}:(\\d+)`, "g"),
      // Two lines come before the example, and its fence before its first line.
      (_, at) => `${page}:${line + Number(at) - 2}`,
    );
  }
  await Deno.stderr.write(new TextEncoder().encode([...unexplained, text].join("\n")));
} finally {
  await Deno.remove(folder, { recursive: true });
}
await Deno.stdout.write(
  new TextEncoder().encode(`${examples.length} examples ${failed ? "do not all" : "all"} check.\n`),
);
Deno.exit(failed ? 1 : 0);
