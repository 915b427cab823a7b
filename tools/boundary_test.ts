import { assertEquals } from "@std/assert";
import { findViolations } from "./boundary.ts";

/** A tree with these files, tracked by git as the real one is. */
async function plant(files: Readonly<Record<string, string>>): Promise<string> {
  const root = await Deno.realPath(await Deno.makeTempDir({ prefix: "boundary " }));
  const base = {
    "deno.json": JSON.stringify({ imports: { postgres: "npm:postgres@3.4.9", croner: "npm:croner@10.0.1" } }),
    "mod.ts": 'import "./ports/mod.ts"; import "./runtime/mod.ts"; import "./assembly/create_runtime.ts";',
    "assembly/create_runtime.ts": 'import "../runtime/mod.ts"; import "../adapters/postgres/mod.ts";',
    "adapter/mod.ts": 'import "../runtime/mod.ts"; import "../adapters/postgres/mod.ts";',
    "ports/mod.ts": "export interface Port {}\nexport const port = 1;",
    "runtime/mod.ts": 'import "../ports/mod.ts";',
    "events/mod.ts": 'import "../ports/mod.ts";',
    "workers/mod.ts": 'import "../ports/mod.ts"; import "node:process";',
    "adapters/postgres/mod.ts": 'import "postgres"; import "../../ports/mod.ts";',
    "adapters/memory/mod.ts": 'import "../../ports/mod.ts";',
    "adapters/croner/mod.ts": 'import "croner";',
    "embedded/mod.ts": 'import "../ports/mod.ts"; import "node:process";',
    "programs/worker.ts": 'import "../mod.ts"; import "../embedded/mod.ts";',
    "tests/conformance/mod.ts": 'import "../../ports/mod.ts"; import "../support/assert.ts";',
    "tests/support/assert.ts": 'import "node:assert/strict";',
    "runtime/mod_test.ts": 'import "../tests/support/assert.ts"; import "./mod.ts";',
    "examples/app.ts": 'import "postgres"; import "../mod.ts";',
  };
  for (const [path, text] of Object.entries({ ...base, ...files })) {
    await Deno.mkdir(`${root}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(`${root}/${path}`, text);
  }
  await new Deno.Command("git", { args: ["init", "-q"], cwd: root }).output();
  return root;
}

async function violations(files: Readonly<Record<string, string>>): Promise<string[]> {
  const root = await plant(files);
  try {
    return await findViolations(root);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

Deno.test("findViolations() finds nothing in a tree that keeps the rules", async () => {
  assertEquals(await violations({}), []);
});

Deno.test("findViolations() finds one planted sample for each rule", async () => {
  const samples: Record<string, [path: string, target: string]> = {
    "ports/out.ts": ["../runtime/mod.ts", "runtime/mod.ts"],
    "ports/node.ts": ["node:process", "node:process"],
    "ports/library.ts": ["croner", "npm:croner@10.0.1"],
    "runtime/adapter.ts": ["../adapters/memory/mod.ts", "adapters/memory/mod.ts"],
    "runtime/workers.ts": ["../workers/mod.ts", "workers/mod.ts"],
    "runtime/driver_test.ts": ["postgres", "npm:postgres@3.4.9"],
    "events/driver.ts": ["postgres", "npm:postgres@3.4.9"],
    "events/adapter.ts": ["../adapters/postgres/mod.ts", "adapters/postgres/mod.ts"],
    "workers/adapter.ts": ["../adapters/postgres/mod.ts", "adapters/postgres/mod.ts"],
    "workers/runtime.ts": ["../runtime/mod.ts", "runtime/mod.ts"],
    "workers/croner.ts": ["croner", "npm:croner@10.0.1"],
    "adapters/memory/postgres.ts": ["../postgres/mod.ts", "adapters/postgres/mod.ts"],
    "adapters/postgres/croner.ts": ["croner", "npm:croner@10.0.1"],
    "adapters/croner/postgres.ts": ["postgres", "npm:postgres@3.4.9"],
    "adapters/postgres/workers.ts": ["../../workers/mod.ts", "workers/mod.ts"],
    "adapters/croner/runtime.ts": ["../../runtime/mod.ts", "runtime/mod.ts"],
    "embedded/root.ts": ["../mod.ts", "mod.ts"],
    "embedded/driver.ts": ["postgres", "npm:postgres@3.4.9"],
    "programs/driver.ts": ["postgres", "npm:postgres@3.4.9"],
    "programs/tests.ts": ["../tests/support/assert.ts", "tests/support/assert.ts"],
    "examples/runtime.ts": ["../runtime/mod.ts", "runtime/mod.ts"],
    "tests/conformance/runtime.ts": ["../../runtime/mod.ts", "runtime/mod.ts"],
    "tests/conformance/root.ts": ["../../mod.ts", "mod.ts"],
    "workers/remote.ts": ["data:text/javascript,1", "data:text/javascript,1"],
  };
  const files = Object.fromEntries(
    Object.entries(samples).map(([file, [path]]) => [file, `import "${path}";`]),
  );
  const expected = Object.entries(samples).map(([file, [, target]]) => `${file}: must not import ${target}`);
  assertEquals((await violations(files)).sort(), expected.sort());
});

Deno.test("findViolations() sees types, dynamic imports, re-exports, and files that no rule or nothing knows", async () => {
  assertEquals(
    await violations({
      "ports/dynamic.ts": 'export const late = () => import("../runtime/mod.ts");',
      "ports/reexport.ts": 'export * from "../runtime/mod.ts";',
      "ports/types.ts": 'import type { Port } from "../runtime/mod.ts"; export type Mine = Port;',
      "surprise/mod.ts": "",
      "workers/missing.ts": 'import "./not_there.ts";',
    }).then((found) => found.map((line) => line.replace(/Module not found .*/, "missing"))),
    [
      "ports/dynamic.ts: must not import runtime/mod.ts",
      "ports/reexport.ts: must not import runtime/mod.ts",
      "ports/types.ts: must not import runtime/mod.ts",
      "surprise/mod.ts: no rule says what it may import; add one to tools/boundary.ts",
      "workers/missing.ts: missing",
    ],
  );
});

Deno.test("findViolations() keeps the embedded PostgreSQL out of the graph of mod.ts, however it gets there", async () => {
  assertEquals(
    await violations({
      "mod.ts": 'import "./workers/pool.ts";',
      "workers/pool.ts": 'import "../embedded/mod.ts";',
    }),
    ["mod.ts: must not reach embedded/mod.ts", "workers/pool.ts: must not import embedded/mod.ts"],
  );
});

Deno.test("findViolations() finds circles of files, of types and of values, and the shortest way around each", async () => {
  assertEquals(
    await violations({
      "ports/a.ts": 'import type { B } from "./b.ts"; export type A = B;',
      "ports/b.ts": 'import type { C } from "./c.ts"; import "./mod.ts"; export type B = C;',
      "ports/c.ts": 'import "./d.ts"; import "./a.ts"; export interface C {}',
      "ports/d.ts": 'import "./c.ts";',
      "ports/self.ts": 'import "./self.ts";',
    }),
    [
      "ports/a.ts: imports itself through ports/b.ts, ports/c.ts, ports/a.ts",
      "ports/self.ts: imports itself through ports/self.ts",
    ],
  );
});
