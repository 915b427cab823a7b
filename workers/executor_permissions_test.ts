import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { fixture } from "./testdata/executor_fixture.ts";

Deno.test("a kind with permissions can do what they name, and nothing else", async () => {
  await using f = fixture();
  const folder = await Deno.makeTempDir();
  const allowed = join(folder, "allowed");
  const denied = join(folder, "denied");
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  Deno.env.set("MILLRACE_TEST_NAMED", "named");
  Deno.env.set("MILLRACE_TEST_SECRET", "secret");
  try {
    for (const path of [allowed, denied]) {
      Deno.mkdirSync(path);
      Deno.writeTextFileSync(join(path, "file"), "12345");
    }
    const permissions = { read: [allowed], env: ["MILLRACE_TEST_NAMED"] };
    const outcomeOf = (args: unknown) => f.run({ permissions, args }).ended;
    const outputOf = async (args: unknown) => {
      const outcome = await outcomeOf(args);
      assert(outcome.type === "completed", JSON.stringify(outcome));
      return outcome.output;
    };
    const refusalOf = async (args: unknown) => {
      const outcome = await outcomeOf(args);
      assert(outcome.type === "failed", JSON.stringify(outcome));
      return outcome.message;
    };
    assertEquals(await outputOf({ do: "read", path: join(allowed, "file") }), "5");
    assertStringIncludes(await refusalOf({ do: "read", path: join(denied, "file") }), "Requires read access");
    assertStringIncludes(await refusalOf({ do: "read", path: "/proc/self/environ" }), "Requires");
    assertEquals(await outputOf({ do: "env", name: "MILLRACE_TEST_NAMED" }), '"named"');
    assertEquals(await outputOf({ do: "env", name: "MILLRACE_TEST_SECRET" }), null);
    const port = (listener.addr as Deno.NetAddr).port;
    assertStringIncludes(await refusalOf({ do: "net", port }), "Requires net access");
    assertStringIncludes(await refusalOf({ do: "run" }), "Requires run access");
    assertEquals(f.executor.stats().hosts, 1);
    const connected = await f.run({ permissions: { net: [`127.0.0.1:${port}`] }, args: { do: "net", port } })
      .ended;
    assertEquals(connected, { type: "completed", output: '"connected"', completedIn: false });
    const denies = { net: true, denyNet: ["127.0.0.0/8"] } as const;
    const refused = await f.run({ permissions: denies, args: { do: "net", port } }).ended;
    assert(refused.type === "failed", "denyNet did not hold");
  } finally {
    listener.close();
    Deno.env.delete("MILLRACE_TEST_NAMED");
    Deno.env.delete("MILLRACE_TEST_SECRET");
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a kind without permissions in a host process may do what the process may", async () => {
  await using f = fixture();
  const args = { do: "env", name: "PATH" };
  const outcome = await f.run({ isolation: "process", args }).ended;
  assertEquals(outcome, {
    type: "completed",
    output: JSON.stringify(Deno.env.get("PATH")),
    completedIn: false,
  });
});

Deno.test("a confined handler has the packages that its code imports", async () => {
  await using f = fixture();
  const handler = new URL("./testdata/uses_package.ts", import.meta.url);
  assertEquals(await f.run({ handler, permissions: {} }).ended, {
    type: "completed",
    output: "true",
    completedIn: false,
  });
});
