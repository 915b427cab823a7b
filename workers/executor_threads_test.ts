import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { InvalidOptionError } from "../ports/errors.ts";
import { silentLog } from "../shared/log.ts";
import { createExecutor } from "./executor.ts";
import { fixture } from "./testdata/executor_fixture.ts";
import { until } from "./testdata/until.ts";

Deno.test("createExecutor() refuses options out of range and names them", () => {
  const error = assertThrows(() => createExecutor({ log: silentLog, threads: 0 }), InvalidOptionError);
  assertEquals(error.option, "threads");
});

Deno.test("a handler module gets exactly the args that were given, and null as {}", async () => {
  await using f = fixture();
  for (const argsText of ['{"a":[1,null,"x"]}', "[1,2]", '"text"', "0", "false"]) {
    const outcome = await f.run({ argsText, handler: new URL("./testdata/mirror.ts", import.meta.url) })
      .ended;
    assertEquals(outcome, { type: "completed", output: argsText, completedIn: false });
  }
  const none = await f.run({ argsText: "null" }).ended;
  assertEquals(none, { type: "completed", output: "{}", completedIn: false });
});

Deno.test("jobs that compute end in order, each when it does, also where they waited for their module", async () => {
  await using f = fixture({ threads: 1, jobsPerThread: 6000 });
  const order: number[] = [];
  const endedAt = await Promise.all(
    Array.from({ length: 6000 }, async (_, index) => {
      await f.run({ id: String(index), args: { do: "compute", ms: index < 20 ? 20 : 0 } }).ended;
      order.push(index);
      return performance.now();
    }),
  );
  assertEquals(order, order.toSorted((one, other) => one - other));
  const apartMs = endedAt[19]! - endedAt[0]!;
  assert(apartMs > 200, `the first 20 ended within ${apartMs} ms, after 20 ms of computing each`);
});

Deno.test("args with an integer beyond 2^53 discard the job and name the path", async () => {
  await using f = fixture();
  const outcome = await f.run({ argsText: '{"id":1970670598291982290}' }).ended;
  assert(outcome.type === "discarded");
  assertStringIncludes(outcome.reason, "args.id");
  assertStringIncludes(outcome.reason, "1970670598291982290");
});

Deno.test("a handler's context tells its job", async () => {
  await using f = fixture();
  const outcome = await f.run({
    id: "job-7",
    name: "a.kind",
    queue: "q",
    attempt: 2,
    maxAttempts: 3,
    args: { do: "context" },
  }).ended;
  assert(outcome.type === "completed");
  assertEquals(JSON.parse(outcome.output!), {
    args: { do: "context" },
    id: "job-7",
    kind: "a.kind",
    queue: "q",
    attempt: 2,
    maxAttempts: 3,
    aborted: false,
  });
});

Deno.test("what a handler throws decides the outcome", async () => {
  await using f = fixture();
  const outcomeOf = (action: string, more = {}) => f.run({ args: { do: action, ...more } }).ended;
  assertEquals(await outcomeOf("snooze", { ms: 1234 }), { type: "snoozed", delayMs: 1234 });
  assertEquals(await outcomeOf("discard"), { type: "discarded", reason: "the receiver is gone" });
  const failed = await outcomeOf("fail", { message: "no luck" });
  assert(failed.type === "failed");
  assertEquals([failed.class, failed.message], ["error", "no luck"]);
  assertStringIncludes(failed.stack!, "handlers.ts");
});

Deno.test("thrown undefined, text and hostile objects are recorded as text", async () => {
  await using f = fixture();
  const messageOf = async (action: string) => {
    const outcome = await f.run({ args: { do: action } }).ended;
    assert(outcome.type === "failed");
    assertEquals(outcome.class, "error");
    return outcome.message;
  };
  assertEquals(await messageOf("throwUndefined"), "thrown: undefined");
  assertEquals(await messageOf("throwString"), "just text");
  assertEquals(await messageOf("throwGetter"), "a value that can't be told as text");
  const long = await messageOf("throwLong");
  assertEquals(long.length, 8191);
  assert(long.isWellFormed());
});

Deno.test("a result that is no JSON, or too large, fails the attempt and says why", async () => {
  await using f = fixture();
  const messageOf = async (action: string) => {
    const outcome = await f.run({ args: { do: action } }).ended;
    assert(outcome.type === "failed");
    assertEquals(outcome.class, "error");
    return outcome.message;
  };
  assertStringIncludes(await messageOf("returnFunction"), "output.f");
  assertStringIncludes(await messageOf("returnLarge"), "the most is 65536 bytes");
});

Deno.test("progress, log lines and output of a handler arrive with its name", async () => {
  await using f = fixture();
  const progress = f.run({ args: { do: "progress" } });
  await progress.ended;
  assertEquals(progress.told, [{ done: 0.25, note: "a quarter" }, { done: 1, note: undefined }]);
  const log = f.run({ name: "a.kind", args: { do: "log" } });
  await log.ended;
  const line = JSON.parse(f.lines[0]!);
  assertEquals([line.event, line.n, line.kind, line.jobId], ["hello", 1, "a.kind", log.id]);
  const print = f.run({ name: "a.kind", args: { do: "print" } });
  await print.ended;
  assertEquals(f.printed, ["two", "lines", "and one"].map((text) => `[a.kind ${print.id}] ${text}`));
  const bad = await f.run({ args: { do: "badProgress" } }).ended;
  assert(bad.type === "failed");
  assertStringIncludes(bad.message, "Cannot use progress 2");
});

Deno.test("completeIn() runs the store's statement, and the returned value is not kept", async () => {
  await using f = fixture({ completion: { text: "complete $1 $2 $3", transaction: "the transaction" } });
  const outcome = await f.run({ args: { do: "completeIn", rows: [{ id: 1 }] } }).ended;
  assertEquals(outcome, { type: "completed", output: null, completedIn: true });
});

Deno.test("completeIn() throws FenceLostError when no row came back", async () => {
  await using f = fixture({ completion: { text: "complete $1 $2 $3", transaction: "the transaction" } });
  const outcome = await f.run({ args: { do: "completeIn", rows: [] } }).ended;
  assert(outcome.type === "failed");
  assertStringIncludes(outcome.message, "FenceLostError");
});

Deno.test("completeIn() throws TransactionConflictError for a conflict, whatever the driver's error is", async () => {
  await using f = fixture({ completion: { text: "complete $1 $2 $3", transaction: "the transaction" } });
  const outcome = await f.run({ args: { do: "completeIn", rows: [], code: "40001" } }).ended;
  assert(outcome.type === "failed");
  assertStringIncludes(outcome.message, "TransactionConflictError");
});

Deno.test("a timeout counts from the start of the handler, and its signal aborts first", async () => {
  await using f = fixture({ threads: 1, jobsPerThread: 1 });
  // The second waits in line for longer than its limit, and is not to pay for it.
  const first = f.run({ args: { do: "sleep", ms: 400 } });
  const second = f.run({ timeout: 250, args: { do: "sleep", ms: 1 } });
  assertEquals((await first.ended).type, "completed");
  assertEquals((await second.ended).type, "completed");
  const begin = performance.now();
  const heeds = await f.run({ timeout: 100, args: { do: "sleep", ms: 5000, heed: true } }).ended;
  assert(heeds.type === "failed");
  assertEquals(heeds.class, "timeout");
  assert(performance.now() - begin < 1500);
  assertEquals(f.executor.stats().lostThreads, 0);
});

Deno.test("a handler that awaits past the grace is ended with its thread, which is not lost", async () => {
  await using f = fixture({ threads: 1 });
  const neighbour = f.run({ args: { do: "sleep", ms: 5000 } });
  const outcome = await f.run({ timeout: 100, args: { do: "sleep", ms: 5000 } }).ended;
  assert(outcome.type === "failed");
  assertEquals(outcome.class, "timeout");
  const released = await neighbour.ended;
  assert(released.type === "released");
  assertEquals(released.alone, false);
  assertEquals(f.executor.stats().lostThreads, 0);
  assertEquals((await f.run({}).ended).type, "completed");
});

Deno.test("abort() ends what does not heed: failed for a cancel, released for a stop", async () => {
  await using f = fixture({ threads: 3 });
  const start = (heed: boolean) => f.run({ args: { do: "sleep", ms: 9000, heed, tell: true } });
  const [cancelled, stopped, heeds] = [start(false), start(false), start(true)];
  await until(() => [cancelled, stopped, heeds].every(({ told }) => told.length > 0));
  f.executor.abort(heeds.key, "stop");
  assertEquals((await heeds.ended).type, "released");
  f.executor.abort(cancelled.key, "cancel");
  f.executor.abort(stopped.key, "stop");
  const outcome = await cancelled.ended;
  assert(outcome.type === "failed", JSON.stringify(outcome));
  assertEquals(outcome.class, "timeout");
  assertEquals((await stopped.ended).type, "released");
  f.executor.abort(4711, "cancel");
});

Deno.test("abort() of what waits for a thread releases it at once", async () => {
  await using f = fixture({ threads: 1, jobsPerThread: 1 });
  const first = f.run({ args: { do: "sleep", ms: 9000, tell: true } });
  await until(() => first.told.length > 0);
  const waiting = f.run({});
  f.executor.abort(waiting.key, "cancel");
  assertEquals((await waiting.ended).type, "released");
  assertEquals(first.endings.length, 0);
});

Deno.test("abort() of what waits for its module releases it at once, and leaves the others to it", async () => {
  await using f = fixture({ threads: 1, graceMs: 5000 });
  const handler = new URL("./testdata/slow_load.ts", import.meta.url);
  const [one, two, three] = [1, 2, 3].map(() => f.run({ handler }));
  // The thread has taken them when another kind's job has run there.
  await f.run({ args: { do: "context" } }).ended;
  for (const { key } of [one!, three!]) f.executor.abort(key, "cancel");
  assertEquals([(await one!.ended).type, (await three!.ended).type], ["released", "released"]);
  assertEquals(two!.endings.length, 0, "it still waits");
  assertEquals((await two!.ended).type, "completed");
  const later = await f.run({ handler }).ended;
  assertEquals(later.type, "completed");
});

Deno.test("stop() releases what still runs, once each, and may be called again", async () => {
  const f = fixture();
  const running = [1, 2, 3].map(() => f.run({ args: { do: "sleep", ms: 5000 } }));
  await Promise.all([f.executor.stop(), f.executor.stop()]);
  for (const { endings } of running) assertEquals(endings.map(({ type }) => type), ["released"]);
  await f.executor.stop();
  assertEquals((await f.run({}).ended).type, "released");
  assertEquals(f.executor.stats(), { threads: 0, hosts: 0, lostThreads: 0, running: 0 });
});

Deno.test("ownThread gives each job a thread, which is retired when idle", async () => {
  await using f = fixture({ threads: 1 });
  const computing = [1, 2, 3].map(() => f.run({ ownThread: true, args: { do: "sleep", ms: 100 } }));
  const shared = f.run({});
  await until(() => f.executor.stats().threads === 4);
  await Promise.all([...computing, shared].map(({ ended }) => ended));
  await until(() => f.executor.stats().threads === 1, 15_000);
});

Deno.test("handlers that compute leave the threads to another queue's jobs", async () => {
  await using f = fixture({ threads: 1 });
  await f.run({}).ended;
  const computing = f.run({ queue: "slow", args: { do: "compute", ms: 4000 } });
  const begin = performance.now();
  assertEquals((await f.run({ queue: "quick" }).ended).type, "completed");
  assert(performance.now() - begin < 3500, "it waited for the other queue's job");
  assertEquals(computing.endings.length, 0);
  assertEquals((await computing.ended).type, "completed");
});

Deno.test("a job whose module loads in one turn with a handler that computes goes to another thread", async () => {
  await using f = fixture({ threads: 1 });
  const computing = f.run({ queue: "slow", args: { do: "compute", ms: 4000 } });
  const quick = f.run({ queue: "quick" });
  assertEquals((await quick.ended).type, "completed");
  assertEquals(computing.endings.length, 0, "it waited for the other queue's job");
  assertEquals((await computing.ended).type, "completed");
});

Deno.test("room() is what would begin at once: what runs or waits in threads takes a place, its own thread none", async () => {
  await using f = fixture({ threads: 2, jobsPerThread: 2 });
  assertEquals(f.executor.room(), 4);
  const running = [1, 2, 3].map(() => f.run({ args: { do: "sleep", ms: 300 } }));
  running.push(f.run({ ownThread: true, args: { do: "sleep", ms: 300 } }));
  assertEquals(f.executor.room(), 1);
  for (let i = 0; i < 3; i++) running.push(f.run({ args: { do: "sleep", ms: 10 } }));
  assertEquals(f.executor.room(), 0);
  await Promise.all(running.map(({ ended }) => ended));
  assertEquals(f.executor.room(), 4);
  await f.executor.stop();
  assertEquals(f.executor.room(), 0);
});
