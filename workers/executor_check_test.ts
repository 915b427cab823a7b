import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import type { Kind } from "../ports/kind.ts";
import { fixture } from "./testdata/executor_fixture.ts";

Deno.test("check() tells every module that does not load, where it would run", async () => {
  await using f = fixture();
  const folder = await Deno.makeTempDir({ prefix: "millrace with space " });
  try {
    const write = (name: string, text: string) => {
      Deno.writeTextFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const modules: Record<string, string | URL> = {
      good: write("good.ts", "export default () => 1;"),
      gone: join(folder, "gone.ts"),
      syntax: write("syntax.ts", "export default ( { => nonsense"),
      "missing import": write("missing.ts", "import './nowhere.ts'; export default () => 1;"),
      "no default": new URL("./testdata/no_default.ts", import.meta.url),
      throws: new URL("./testdata/throws_on_load.ts", import.meta.url),
      exits: new URL("./testdata/exits_on_load.ts", import.meta.url),
    };
    const reasons: Record<string, string> = {
      gone: "Module not found",
      syntax: "SyntaxError",
      "missing import": "nowhere.ts",
      "no default": "it has no default export",
      throws: "thrown while loading",
      exits: "Deno.exit(7)",
    };
    const places: Partial<Kind>[] = [{}, { isolation: "process" }, { permissions: {} }];
    for (const place of places) {
      const kinds = Object.entries(modules).map(([name, handler]): Kind => ({
        name,
        handler,
        queue: "default",
        maxAttempts: 1,
        timeout: 1000,
        ...place,
      }));
      const faults = await f.executor.check([...kinds, {
        ...kinds[0]!,
        name: "a function",
        handler: () => {},
      }]);
      assertEquals(faults.length, Object.keys(reasons).length, faults.join("\n"));
      for (const [name, reason] of Object.entries(reasons)) {
        const fault = faults.find((fault) => fault.startsWith(`kind "${name}"`));
        assert(fault !== undefined, `no fault names ${name}`);
        assertStringIncludes(fault, reason);
        assertStringIncludes(fault, String(modules[name]));
      }
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("check() tells a permission that Deno's flags can't name", async () => {
  await using f = fixture();
  const handler = new URL("./testdata/noop.ts", import.meta.url);
  const permissions = { read: ["/tmp/files, mine"] };
  const faults = await f.executor.check([
    { name: "a.kind", queue: "default", maxAttempts: 1, timeout: 1000, handler, permissions },
  ]);
  assertEquals(faults.length, 1);
  assertStringIncludes(faults[0]!, "/tmp/files, mine");
  const outcome = await f.run({ handler, permissions }).ended;
  assert(outcome.type === "failed");
  assertStringIncludes(outcome.message, "without a comma");
});

Deno.test("check() loads a module again whose host process was killed meanwhile, a few times", async () => {
  await using f = fixture();
  const folder = await Deno.makeTempDir();
  const ownPid = Deno.pid;
  /** Its process is killed as often as that while it loads, and each time it leaves a mark. */
  const killed = async (name: string, times: number) => {
    const handler = join(folder, `${name}.ts`);
    await Deno.writeTextFile(
      handler,
      `
        if (Deno.pid === ${ownPid}) throw new Error("in the test's own process");
        const marks = ${JSON.stringify(join(folder, name))};
        Deno.writeTextFileSync(marks, "x", { append: true });
        if (Deno.readTextFileSync(marks).length <= ${times}) Deno.kill(Deno.pid, "SIGKILL");
        export default () => 1;
      `,
    );
    const kind: Kind = {
      name,
      queue: "default",
      maxAttempts: 1,
      timeout: 1000,
      handler,
      isolation: "process",
    };
    const faults = await f.executor.check([kind]);
    return { faults, loads: (await Deno.readTextFile(join(folder, name))).length };
  };
  try {
    assertEquals(await killed("by.others", 2), { faults: [], loads: 3 });
    const { faults, loads } = await killed("by.itself", Infinity);
    assertEquals(loads, 3);
    assertStringIncludes(faults[0]!, "its host process ended (SIGKILL)");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("check() leaves threads with the handler modules loaded for the first jobs, four at most; none for functions", async () => {
  const of = { name: "k", queue: "default", maxAttempts: 1, timeout: 1000 };
  await using many = fixture({ threads: 6 });
  await many.executor.check([{ ...of, handler: new URL("./testdata/noop.ts", import.meta.url) }]);
  assertEquals(many.executor.stats().threads, 4);
  await using none = fixture({ threads: 6 });
  await none.executor.check([{ ...of, handler: () => {} }]);
  assertEquals(none.executor.stats().threads, 0);
});
