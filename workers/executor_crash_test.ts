import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { AttemptOutcome } from "../ports/executor.ts";
import { fixture, type Running } from "./testdata/executor_fixture.ts";
import { until } from "./testdata/until.ts";

function assertCrash(outcome: AttemptOutcome, text: string): void {
  assert(outcome.type === "failed", `it is ${outcome.type}`);
  assertEquals(outcome.class, "crash");
  assertStringIncludes(outcome.message, text);
}

/** Jobs that sleep in other threads meanwhile, and must not notice. */
function bystanders(run: (given: { args: unknown; ownThread: true }) => Running): Running[] {
  return [1, 2].map(() => run({ ownThread: true, args: { do: "sleep", ms: 600 } }));
}

async function assertUntouched(running: readonly Running[]): Promise<void> {
  for (const { ended } of running) assertEquals((await ended).type, "completed");
}

Deno.test("a rejection that nobody awaits fails its job at once, and once", async () => {
  await using f = fixture({ threads: 4 });
  const others = bystanders(f.run);
  const begin = performance.now();
  const running = f.run({ args: { do: "rejectNow" } });
  assertCrash(await running.ended, "nobody awaits me");
  assert(performance.now() - begin < 2000, "it waited for the handler");
  assertCrash(await f.run({ args: { do: "throwInTimer" } }).ended, "thrown in a timer");
  await assertUntouched(others);
  assertEquals(running.endings.length, 1);
});

Deno.test("a rejection after the job's end is logged with its id and blamed on no other", async () => {
  await using f = fixture({ threads: 1 });
  const late = f.run({ name: "late.kind", args: { do: "rejectLater" } });
  assertEquals((await late.ended).type, "completed");
  const next = f.run({ args: { do: "sleep", ms: 200 } });
  assertEquals((await next.ended).type, "completed");
  const line = JSON.parse(f.lines.find((line) => line.includes("too late to matter"))!);
  assertEquals([line.kind, line.jobId], ["late.kind", late.id]);
  assertEquals(late.endings.length, 1);
});

Deno.test("Deno.exit() and self.close() fail their job soon; who shared the thread is released uncharged", async () => {
  await using f = fixture({ threads: 1 });
  for (const action of ["exit", "close"]) {
    const others = bystanders(f.run);
    const neighbour = f.run({ args: { do: "sleep", ms: 5000 } });
    const begin = performance.now();
    assertCrash(
      await f.run({ args: { do: action } }).ended,
      action === "exit" ? "Deno.exit(1)" : "self.close()",
    );
    assert(performance.now() - begin < 4500, "it waited for the neighbour");
    const released = await neighbour.ended;
    assert(released.type === "released");
    assertEquals(released.alone, false);
    await assertUntouched(others);
  }
});

Deno.test("a module that fails to load fails its job with the reason, and spins nothing", async () => {
  await using f = fixture({ threads: 2 });
  const others = bystanders(f.run);
  const handler = new URL("./testdata/throws_on_load.ts", import.meta.url);
  for (let i = 0; i < 20; i++) {
    const outcome = await f.run({ handler }).ended;
    assert(outcome.type === "failed");
    assertEquals(outcome.class, "error");
    assertStringIncludes(outcome.message, "thrown while loading");
  }
  const exits = await f.run({ handler: new URL("./testdata/exits_on_load.ts", import.meta.url) }).ended;
  assert(exits.type === "failed");
  assertStringIncludes(exits.message, "Deno.exit(7)");
  const missing = await f.run({ handler: "./there/is/no/such_module.ts" }).ended;
  assert(missing.type === "failed");
  assertStringIncludes(missing.message, "such_module.ts");
  assertEquals((await f.run({}).ended).type, "completed");
  await assertUntouched(others);
});

Deno.test("a host process that dies releases its jobs to run alone; a job that dies alone has failed", async () => {
  await using f = fixture();
  const neighbour = f.run({ isolation: "process", args: { do: "sleep", ms: 5000 } });
  const killer = f.run({ isolation: "process", args: { do: "kill" } });
  for (const { ended } of [neighbour, killer]) {
    const outcome = await ended;
    assert(outcome.type === "released");
    assertEquals(outcome.alone, true);
  }
  assertCrash(await f.run({ alone: true, args: { do: "kill" } }).ended, "SIGKILL");
  assertEquals((await f.run({ alone: true, args: { do: "echo" } }).ended).type, "completed");
  await until(() => f.executor.stats().hosts === 0);
});

Deno.test("a handler that posts or takes messages of its own gets in nobody's way", async () => {
  await using f = fixture({ threads: 1 });
  const posted = await f.run({ args: { do: "postMessage" } }).ended;
  assert(posted.type === "failed");
  assertEquals(posted.class, "error");
  assertStringIncludes(posted.message, "nobody to post a message to");
  assertEquals((await f.run({ args: { do: "takeMessages" } }).ended).type, "completed");
  assertEquals((await f.run({ args: { do: "echo" } }).ended).type, "completed");
});

Deno.test("call() refuses an input that is no JSON at once", async () => {
  await using f = fixture({ threads: 1 });
  const outcome = await f.run({ args: { do: "callWithFunction" } }).ended;
  assert(outcome.type === "failed");
  assertEquals([outcome.class, outcome.message], [
    "error",
    "InvalidJsonError: Cannot store input.f as JSON: function is no JSON",
  ]);
});

for (const isolation of ["thread", "process"] as const) {
  Deno.test(`what Deno would end a process for is an error that a handler can catch: ${isolation}`, async () => {
    await using f = fixture();
    for (const what of ["workerNone", "workerInherit", "workerList", "listen", "connect", "serve"]) {
      const outcome = await f.run({ isolation, args: { do: "unstable", what } }).ended;
      assert(outcome.type === "completed", JSON.stringify(outcome));
      assertStringIncludes(outcome.output!, "TypeError: A handler can't");
    }
  });
}

Deno.test("a handler's own worker works as ever; what it throws is a crash of that job, and what it exits is itself", async () => {
  await using f = fixture({ threads: 1 });
  const nested = (code: string) => f.run({ args: { do: "nested", code } }).ended;
  assertEquals(await nested("self.postMessage(self.name)"), {
    type: "completed",
    output: '"nested"',
    completedIn: false,
  });
  for (const code of ["throw new Error('nested')", "Promise.reject(new Error('nested'))"]) {
    assertCrash(await nested(code), "nested");
  }
  const exits = [
    "Deno.exit(3)",
    "import('node:process').then(({ default: p }) => p.reallyExit(3))",
    "self.close()",
  ];
  const outcomes = exits.map((code) => nested(code));
  for (const outcome of outcomes) assertEquals((await outcome).type, "completed");
});

Deno.test("what a handler's own worker does ends no process that was started with our flags", async () => {
  await using f = fixture();
  const code = "new Worker('data:text/javascript,1', { type: 'module', deno: { permissions: 'none' } });" +
    "self.postMessage('lives')";
  assertEquals(await f.run({ isolation: "process", args: { do: "nested", code } }).ended, {
    type: "completed",
    output: '"lives"',
    completedIn: false,
  });
});
