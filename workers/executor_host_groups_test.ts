import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fixture, HANDLERS } from "./testdata/executor_fixture.ts";
import { forgetInLock } from "./testdata/forget_in_lock.ts";
import { until } from "./testdata/until.ts";

Deno.test("two kinds share no process, whatever their permissions: neither globals nor stored caches", async () => {
  await using f = fixture();
  for (
    const confined of [{ permissions: {} }, { isolation: "process" as const }, { memory: 512 * 1024 * 1024 }]
  ) {
    const outputOf = async (name: string, args: unknown) => {
      const outcome = await f.run({ ...confined, name, args }).ended;
      assert(outcome.type === "completed", JSON.stringify(outcome));
      return outcome.output;
    };
    await outputOf("one", { do: "replaceGlobal" });
    assertEquals(await outputOf("two", { do: "isReplaced" }), "false");
    if (confined.permissions === undefined) continue;
    await outputOf("one", { do: "cache", put: "secret" });
    assertEquals(await outputOf("one", { do: "cache" }), '"secret"');
    assertEquals(await outputOf("two", { do: "cache" }), null);
  }
});

Deno.test("many kinds share few places for processes: all get their turn, and none waits in its timeout", async () => {
  await using f = fixture({ hosts: 2, hostIdleMs: 60_000 });
  let most = 0;
  const jobs = Array.from({ length: 8 }, (_, i) =>
    f.run({
      name: `kind.${i}`,
      isolation: "process",
      timeout: 5000,
      args: { do: "sleep", ms: 200 },
    }));
  await until(() => {
    most = Math.max(most, f.executor.stats().hosts);
    return jobs.every(({ endings }) => endings.length === 1);
  }, 60_000);
  for (const { ended } of jobs) {
    const outcome = await ended;
    assertEquals(outcome.type, "completed", JSON.stringify(outcome));
  }
  assertEquals(most, 2);
});

Deno.test("a kind that always has work yields its place to one that waits", async () => {
  await using f = fixture({ hosts: 1 });
  let goesOn = true;
  const busy = async () => {
    while (goesOn) await f.run({ name: "busy", isolation: "process", args: { do: "sleep", ms: 100 } }).ended;
  };
  const all = [busy(), busy(), busy()];
  await until(() => f.executor.stats().hosts === 1);
  const other = await f.run({ name: "other", isolation: "process", args: { do: "nothing" } }).ended;
  goesOn = false;
  assertEquals(other.type, "completed");
  await Promise.all(all);
});

Deno.test("handlers are loaded at the start within the same places", async () => {
  await using f = fixture({ hosts: 2 });
  let most = 0;
  let done = false;
  const kinds = Array.from({ length: 6 }, (_, i) => ({
    name: `kind.${i}`,
    queue: "default",
    maxAttempts: 1,
    timeout: 1000,
    handler: HANDLERS,
    permissions: {},
  }));
  const checked = f.executor.check(kinds).finally(() => done = true);
  await until(() => {
    most = Math.max(most, f.executor.stats().hosts);
    return done;
  }, 60_000);
  assertEquals(await checked, []);
  assertEquals(most, 2);
});

Deno.test("processes that can't even start slow down those of no other kind", async () => {
  await using f = fixture();
  const broken = { name: "broken", permissions: { net: ["not a host!"] }, args: { do: "nothing" } };
  for (let i = 0; i < 6; i++) {
    const { key, ended } = f.run(broken);
    // The sixth waits, after five that died early.
    if (i === 5) f.executor.abort(key, "cancel");
    const outcome = await ended;
    assertEquals(outcome.type, i === 5 ? "released" : "failed");
  }
  const begin = performance.now();
  assertEquals(
    (await f.run({ name: "sound", permissions: {}, args: { do: "nothing" } }).ended).type,
    "completed",
  );
  assert(performance.now() - begin < 5000);
});

Deno.test("a confined handler reaches no server by an import: neither http nor npm nor jsr, also from a thread of its own", async () => {
  const requests: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    requests.push(request.url);
    return new Response("export default 1", { headers: { "content-type": "text/javascript" } });
  });
  const origin = `http://127.0.0.1:${server.addr.port}`;
  Deno.env.set("NPM_CONFIG_REGISTRY", origin);
  Deno.env.set("JSR_URL", origin);
  try {
    await using f = fixture();
    const specifiers = [`${origin}/x.ts?secret=42`, "npm:secret-42", "jsr:@secret/42"];
    const wrapped = specifiers.map((specifier) => `data:text/javascript,import ${JSON.stringify(specifier)}`);
    for (const permissions of [{}, { read: true }, { import: ["example.com"] }] as const) {
      for (const module of [...specifiers, ...wrapped]) {
        const outcome = await f.run({ permissions, args: { do: "import", module } }).ended;
        assert(outcome.type === "failed", `${module}: ${JSON.stringify(outcome)}`);
      }
    }
    for (const how of ["import", "new Worker"]) {
      const code = how === "import"
        ? `import('${origin}/x.ts').then(() => self.postMessage('it came'), () => self.postMessage('refused'))`
        : `new Worker('${origin}/x.ts', { type: 'module' }).onerror = (event) => { event.preventDefault(); ` +
          "self.postMessage('refused') }";
      const outcome = await f.run({ permissions: {}, args: { do: "nested", code } }).ended;
      assertEquals(outcome, { type: "completed", output: '"refused"', completedIn: false }, how);
    }
    assertEquals(requests, []);
    const allowed = await f.run({
      permissions: { import: [new URL(origin).host] },
      args: { do: "import", module: `${origin}/x.ts` },
    }).ended;
    assertEquals(allowed, { type: "completed", output: '["default"]', completedIn: false });
    assertEquals(requests, [`${origin}/x.ts`]);
    const refused = await f.run({ permissions: {}, args: { do: "import", module: "npm:secret-42" } }).ended;
    assert(refused.type === "failed");
    assertStringIncludes(refused.message, "--cached-only");
  } finally {
    Deno.env.delete("NPM_CONFIG_REGISTRY");
    Deno.env.delete("JSR_URL");
    await server.shutdown();
    forgetInLock(origin);
  }
});
