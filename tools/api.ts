/**
 * Writes the public API as text, a file per entry under docs/api/: every exported symbol with its signature, without what is
 * said of it. `--check` writes nothing and fails when a file is not what would be written, so that no change of the API goes
 * unseen in a review.
 *
 * @module
 */
const root = decodeURIComponent(new URL("..", import.meta.url).pathname);
const FOLDER = `${root}docs/api`;

/** How a line begins that is no comment: with a name and what follows it, a keyword, or a bracket. */
const SIGNATURE = /^(?:[\w#$]+\??[:(<]|(?:readonly|static|override|get|set|new|async|constructor)\b|[[{}|])/;

const isCheck = Deno.args.includes("--check");
const { exports } = JSON.parse(await Deno.readTextFile(`${root}deno.json`)) as {
  readonly exports: Readonly<Record<string, string>>;
};
const pages = new Map<string, string>();
for (const [entry, file] of Object.entries(exports)) {
  const page = await pageOf(file);
  if (page !== "") pages.set(`${fileName(entry)}.txt`, page);
}
const stale = await staleFiles();
if (isCheck && stale.length > 0) {
  say(`The public API is not as docs/api/ says: ${stale.join(", ")}. To write it: deno run -A tools/api.ts`);
  Deno.exit(1);
}
if (!isCheck) {
  await Deno.remove(FOLDER, { recursive: true }).catch(() => {});
  await Deno.mkdir(FOLDER, { recursive: true });
  for (const [name, page] of pages) await Deno.writeTextFile(`${FOLDER}/${name}`, page);
}

/** The files that are missing, that differ, or that are of no entry. */
async function staleFiles(): Promise<string[]> {
  const found = new Map<string, string>();
  try {
    for await (const { name } of Deno.readDir(FOLDER)) {
      found.set(name, await Deno.readTextFile(`${FOLDER}/${name}`));
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return [...new Set([...pages.keys(), ...found.keys()])].filter((name) =>
    pages.get(name) !== found.get(name)
  );
}

/** The signatures of an entry, each symbol with its members below it, in the order of their names. */
async function pageOf(file: string): Promise<string> {
  const docs = docLines(JSON.parse(await doc("--json", file)));
  const [said, allSaid] = [new Set(docs), docs.join(" ")];
  const symbols: string[][] = [];
  for (const line of (await doc(file)).split("\n")) {
    const text = line.trim();
    if (text === "" || text.startsWith("@") || text.startsWith("Defined in ")) continue;
    // Long lines of comments are shown in parts.
    if (said.has(text) || (!SIGNATURE.test(text) && allSaid.includes(text))) continue;
    if (/^\S/.test(line)) symbols.push([line]);
    else symbols.at(-1)?.push(line.trimEnd());
  }
  const byName = symbols.map((lines) => lines.join("\n")).sort((a, b) =>
    nameOf(a).localeCompare(nameOf(b), "en")
  );
  return byName.length === 0 ? "" : `${byName.join("\n\n")}\n`;
}

/** The name of a symbol: the word behind what it is. */
function nameOf(symbol: string): string {
  return /^(?:async |abstract )*(?:function|class|interface|type|const|enum) (\w+)/.exec(symbol)?.[1] ??
    symbol;
}

/** All lines of all comments. */
function docLines(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === "doc" && typeof inner === "string"
      ? inner.split("\n").map((line) => line.trim())
      : docLines(inner)
  );
}

async function doc(...args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["doc", ...args],
    cwd: root,
    env: { NO_COLOR: "1" },
  }).output();
  if (!success) throw new Error(`deno doc ${args.join(" ")} failed: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout);
}

function fileName(entry: string): string {
  return entry === "." ? "main" : entry.slice(2).replaceAll("/", "_");
}

function say(line: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(`${line}\n`));
}
