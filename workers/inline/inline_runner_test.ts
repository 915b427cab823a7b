import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fixture } from "../testdata/executor_fixture.ts";

Deno.test("a function runs in the main thread, with args and context", async () => {
  await using f = fixture();
  const seen: unknown[] = [];
  const running = f.run({
    name: "a.function",
    args: { a: 1 },
    handler: (args, ctx) => {
      seen.push(args, ctx.kind, ctx.attempt);
      ctx.progress(0.5, "half");
      return { ok: true };
    },
  });
  assertEquals(await running.ended, { type: "completed", output: '{"ok":true}', completedIn: false });
  assertEquals(seen, [{ a: 1 }, "a.function", 1]);
  assertEquals(running.told, [{ done: 0.5, note: "half" }]);
  assertEquals(f.executor.stats().threads, 0);
});

Deno.test("a function that heeds its signal at the timeout has timed out", async () => {
  await using f = fixture();
  const running = f.run({
    timeout: 50,
    handler: (_args, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  });
  const outcome = await running.ended;
  assert(outcome.type === "failed");
  assertEquals(outcome.class, "timeout");
});

Deno.test("a function that ignores its signal gives its slot up after the grace, and a warning says that it runs on", async () => {
  await using f = fixture({ graceMs: 50 });
  const { promise, resolve } = Promise.withResolvers<void>();
  const running = f.run({ timeout: 50, handler: () => promise });
  const outcome = await running.ended;
  assert(outcome.type === "failed");
  assertEquals(outcome.class, "timeout");
  assertStringIncludes(f.lines.join("\n"), "it still runs");
  assertEquals(f.executor.stats().running, 0);
  resolve();
  await promise;
  assertEquals(running.endings.length, 1);
});

Deno.test("abort() of a function: the signal's reason says why, a failing stop is a release", async () => {
  await using f = fixture();
  const reasons: unknown[] = [];
  const start = () =>
    f.run({
      handler: (_args, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            reasons.push(signal.reason.message);
            reject(signal.reason);
          });
        }),
    });
  const cancelled = start();
  const stopped = start();
  await Promise.resolve();
  f.executor.abort(cancelled.key, "cancel");
  f.executor.abort(stopped.key, "stop");
  assertEquals((await cancelled.ended).type, "failed");
  assertEquals((await stopped.ended).type, "released");
  assertEquals(reasons, ["the job was cancelled", "the runtime stops"]);
});

Deno.test("a main loop that stands still is logged with the kinds that ran", async () => {
  await using f = fixture({ standstillMs: 100 });
  const running = f.run({
    name: "slow.function",
    handler: async () => {
      const end = performance.now() + 300;
      while (performance.now() < end);
      await new Promise((resolve) => setTimeout(resolve, 100));
    },
  });
  await running.ended;
  const line = f.lines.find((line) => line.includes("stood still"));
  assert(line !== undefined);
  assertStringIncludes(line, "slow.function");
});
