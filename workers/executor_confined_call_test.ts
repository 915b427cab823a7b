import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import type { Permissions } from "../ports/permissions.ts";
import { fixture, HANDLERS } from "./testdata/executor_fixture.ts";
import { forgetInLock } from "./testdata/forget_in_lock.ts";
import { until } from "./testdata/until.ts";

const DOUBLE = new URL("./testdata/double.ts", import.meta.url).href;
const READS_KEY = "data:text/javascript,export default () => Deno.env.get('MILLRACE_TEST_SECRET')";

Deno.test("a confined handler's call does at most what the handler may, and says what goes beyond", async () => {
  await using f = fixture();
  Deno.env.set("MILLRACE_TEST_SECRET", "secret");
  const beyond = async (permissions: Permissions, asked: Permissions, module = HANDLERS.href) => {
    const args = { do: "callCaught", module, permissions: asked };
    const outcome = await f.run({ permissions, args }).ended;
    assert(outcome.type === "completed", JSON.stringify(outcome));
    return JSON.parse(outcome.output!);
  };
  try {
    assertEquals(await beyond({}, { env: true }, READS_KEY), ["env: everything", "module"]);
    assertEquals(await beyond({}, {}, READS_KEY), ["module"]);
    assertEquals(await beyond({}, {}, DOUBLE), ["module"]);
    for (const list of ["read", "write", "net", "env", "run", "sys", "ffi", "import"]) {
      assertEquals(await beyond({}, { [list]: true }), [`${list}: everything`]);
    }
    assertEquals(await beyond({ net: ["a.com"] }, { net: ["a.com:443", "b.com"] }), ["net: b.com"]);
    // Its own module may be called. It is a handler, so it fails on what it is given.
    const own = await f.run({ permissions: {}, args: { do: "call", module: HANDLERS.href, input: {} } })
      .ended;
    assertEquals(own, { type: "completed", output: "{}", completedIn: false });
  } finally {
    Deno.env.delete("MILLRACE_TEST_SECRET");
  }
});

Deno.test("a confined handler's call reads neither what the called module imports nor what the network has", async () => {
  await using f = fixture();
  const folder = await Deno.makeTempDir();
  const work = join(folder, "work");
  let requests = 0;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () => {
    requests++;
    return new Response("export default () => 1", { headers: { "content-type": "text/javascript" } });
  });
  const origin = `127.0.0.1:${server.addr.port}`;
  try {
    Deno.mkdirSync(work);
    Deno.writeTextFileSync(join(folder, "secret.json"), '{"key":"secret"}');
    const write = (name: string, code: string) => Deno.writeTextFileSync(join(work, name), code);
    write(
      "reads.ts",
      `import secret from "../secret.json" with { type: "json" }; export default () => secret;`,
    );
    write("asks.ts", `import "http://${origin}/?secret=42"; export default () => 1;`);
    write("plain.ts", "export default (input) => input;");
    const call = async (module: string, permissions: Permissions) => {
      return await f.run({ permissions, args: { do: "call", module, input: 7 } }).ended;
    };
    const read = { read: [work] };
    assertEquals(await call(join(work, "plain.ts"), read), {
      type: "completed",
      output: "7",
      completedIn: false,
    });
    for (const name of ["reads.ts", "asks.ts"]) {
      const outcome = await call(join(work, name), read);
      assert(outcome.type === "failed", JSON.stringify(outcome));
      assertStringIncludes(outcome.message, "Requires");
    }
    assertEquals((await call(`http://${origin}/x?secret=42`, read)).type, "failed");
    assertEquals(requests, 0);
    assertEquals((await call(`http://${origin}/x`, { import: [origin] })).type, "completed");
    assertEquals(requests, 1);
  } finally {
    await server.shutdown();
    forgetInLock(`http://${origin}`);
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("calls never share a process with another caller's, nor with those of this process's own code", async () => {
  await using f = fixture();
  const permissions = { net: ["127.0.0.1:9"] };
  const module = HANDLERS.href;
  const pidOf = async (name: string) => {
    const args = { do: "call", module, input: { do: "pid" }, permissions };
    const outcome = await f.run({ name, permissions, args }).ended;
    assert(outcome.type === "completed", JSON.stringify(outcome));
    return Number(outcome.output);
  };
  const own = await f.executor.call(module, { do: "pid" }, { permissions });
  const pids = [own, await pidOf("one"), await pidOf("two")];
  assertEquals(new Set(pids).size, 3);
  assertEquals([await pidOf("one"), await f.executor.call(module, { do: "pid" }, { permissions })], [
    pids[1]!,
    own,
  ]);
});

Deno.test("however many different calls a handler makes, few processes run, they end when idle, and all are made", async () => {
  await using f = fixture({ hosts: 4, hostIdleMs: 200 });
  const modules = Array.from({ length: 12 }, (_, i) => `${HANDLERS.href}?v=${i}`);
  let most = 0;
  const many = f.run({
    permissions: {},
    timeout: 60_000,
    args: { do: "callMany", modules, input: { do: "sleep", ms: 20 } },
  });
  await until(() => {
    most = Math.max(most, f.executor.stats().hosts);
    return many.endings.length > 0;
  }, 60_000);
  assertEquals(await many.ended, { type: "completed", output: "12", completedIn: false });
  // The handler's own, and half of the bound of calls, for no kind takes all of it.
  assert(most <= 2, `${most} ran at once`);
  await until(() => f.executor.stats().hosts === 0);
});

Deno.test("a called module is given a signal beside its input, and nothing by which it could call another one", async () => {
  await using f = fixture();
  assertEquals(await f.executor.call(HANDLERS, { do: "contextKeys" }), ["signal"]);
});

Deno.test("a call ends with its caller: at its timeout, at a cancel, and when the handler returns without it", async () => {
  await using f = fixture({ graceMs: 100 });
  const call = { do: "call", module: HANDLERS.href, input: { do: "sleep", ms: 60_000 }, timeout: 60_000 };
  const late = f.run({ permissions: {}, timeout: 500, args: call });
  const lateOutcome = await late.ended;
  assert(lateOutcome.type === "failed" && lateOutcome.class === "timeout", JSON.stringify(lateOutcome));
  await until(() => f.executor.stats().running === 0);
  for (const isolation of ["process", "thread"] as const) {
    const cancelled = f.run({ isolation, args: call });
    await until(() => f.executor.stats().running === 2);
    f.executor.abort(cancelled.key, "cancel");
    assertEquals((await cancelled.ended).type, "failed");
    await until(() => f.executor.stats().running === 0);
  }
});
