import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { InvalidOptionError } from "../ports/errors.ts";
import { fixture } from "./testdata/executor_fixture.ts";
import { until } from "./testdata/until.ts";

const DOUBLE = new URL("./testdata/double.ts", import.meta.url);

Deno.test("call() runs a module in a host process with only the permissions given", async () => {
  await using f = fixture();
  assertEquals(await f.executor.call(DOUBLE, 21), 42);
  const refused = await assertRejects(() => f.executor.call(DOUBLE, "read"), Error);
  assertStringIncludes(refused.message, "Requires read access");
  const length = await f.executor.call(DOUBLE, "read", { permissions: { read: ["/etc/hostname"] } });
  assertEquals(typeof length, "number");
  assertEquals(f.executor.stats().hosts, 2);
  await assertRejects(() => f.executor.call(DOUBLE, 1, { timeout: NaN }), InvalidOptionError);
});

Deno.test("call() rejects when the module passes its limit or ends its process", async () => {
  await using f = fixture();
  const begin = performance.now();
  const late = await assertRejects(() => f.executor.call(DOUBLE, "spin", { timeout: 200 }), Error);
  assertStringIncludes(late.message, "passed its limit of 200 ms");
  assert(performance.now() - begin < 20_000);
  await until(() => f.executor.stats().hosts === 0);
  const run = { permissions: { run: true } } as const;
  const died = await assertRejects(() => f.executor.call(DOUBLE, "die", run), Error);
  assertStringIncludes(died.message, "SIGKILL");
});

Deno.test("ctx.call() works from a thread and from a host process", async () => {
  await using f = fixture();
  const args = { do: "call", module: DOUBLE.href, input: 4 };
  for (const isolation of ["thread", "process"] as const) {
    assertEquals(await f.run({ isolation, args }).ended, {
      type: "completed",
      output: "8",
      completedIn: false,
    });
  }
  const failed = await f.run({ args: { ...args, input: "spin", timeout: 100 } }).ended;
  assert(failed.type === "failed");
  assertStringIncludes(failed.message, "passed its limit of 100 ms");
});
