import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fixture } from "./testdata/executor_fixture.ts";
import { until } from "./testdata/until.ts";

const CAP = 192 * 1024 * 1024;

Deno.test("a handler in a host process has the same context, log and output as in a thread", async () => {
  await using f = fixture({ completion: { text: "complete", transaction: "the transaction" } });
  const inHost = (args: unknown) => f.run({ name: "a.kind", isolation: "process", args });
  const progress = inHost({ do: "progress" });
  assertEquals((await progress.ended).type, "completed");
  assertEquals(progress.told, [{ done: 0.25, note: "a quarter" }, { done: 1, note: undefined }]);
  const log = inHost({ do: "log" });
  await log.ended;
  const line = JSON.parse(f.lines.find((line) => line.includes("hello"))!);
  assertEquals([line.kind, line.jobId], ["a.kind", log.id]);
  const print = inHost({ do: "print" });
  await print.ended;
  assertEquals(f.printed, ["two", "lines", "and one"].map((text) => `[a.kind ${print.id}] ${text}`));
  f.printed.length = 0;
  const raw = inHost({ do: "rawOutput" });
  assertEquals(await raw.ended, { type: "completed", output: '"written"', completedIn: false });
  assertEquals(f.printed, [`[a.kind ${raw.id}] raw without newline`, `[a.kind ${raw.id}] raw error`]);
  const completed = await inHost({ do: "completeIn", rows: [{}] }).ended;
  assertEquals(completed, { type: "completed", output: null, completedIn: true });
  assertEquals(f.executor.stats().hosts, 1);
});

Deno.test("a busy loop in a host process ends at its limit, and so does its process", async () => {
  await using f = fixture();
  const pid = await f.run({ isolation: "process", args: { do: "pid" } }).ended;
  const neighbour = f.run({ isolation: "process", args: { do: "sleep", ms: 1500 } });
  const begin = performance.now();
  const outcome = await f.run({ isolation: "process", timeout: 200, args: { do: "spin" } }).ended;
  assert(outcome.type === "failed");
  assertEquals(outcome.class, "timeout");
  assert(performance.now() - begin < 3000);
  const other = await neighbour.ended;
  assert(other.type === "completed" || other.type === "released" && other.alone);
  await until(() => f.executor.stats().hosts === 0);
  assertEquals(f.lost, []);
  const after = await f.run({ isolation: "process", args: { do: "pid" } }).ended;
  assert(after.type === "completed" && pid.type === "completed");
  assert(after.output !== pid.output);
});

Deno.test("a memory cap ends the job above it alone: the heap's growth and buffers alike", async () => {
  await using f = fixture({ memoryWatchMs: 50 });
  const modest = f.run({ memory: CAP, args: { do: "sleep", ms: 500 } });
  for (const action of ["memory", "buffers"]) {
    const outcome = await f.run({ memory: CAP, args: { do: action } }).ended;
    assert(outcome.type === "failed", JSON.stringify(outcome));
    assertEquals(outcome.class, "memory");
    assertStringIncludes(outcome.message, String(CAP));
  }
  assertEquals((await modest.ended).type, "completed");
});

Deno.test("out of memory without a cap: released to run alone, and alone it has failed", async () => {
  Deno.env.set("DENO_V8_FLAGS", "--max-old-space-size=64");
  try {
    await using f = fixture();
    const neighbour = f.run({ isolation: "process", args: { do: "sleep", ms: 9000 } });
    const shared = f.run({ isolation: "process", args: { do: "memory" } });
    for (const { ended } of [neighbour, shared]) {
      const outcome = await ended;
      assert(outcome.type === "released", JSON.stringify(outcome));
      assertEquals(outcome.alone, true);
    }
    const alone = await f.run({ alone: true, args: { do: "memory" } }).ended;
    assert(alone.type === "failed");
    assertEquals(alone.class, "memory");
  } finally {
    Deno.env.delete("DENO_V8_FLAGS");
  }
});

Deno.test("a host process heeds no signal that its whole group gets: its jobs are stopped in an orderly way", async () => {
  await using f = fixture();
  const pid = await f.run({ isolation: "process", permissions: {}, args: { do: "pid" } }).ended;
  assert(pid.type === "completed");
  const running = f.run({ isolation: "process", permissions: {}, args: { do: "sleep", ms: 300 } });
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.kill(Number(pid.output), signal);
  assertEquals((await running.ended).type, "completed");
});

Deno.test("a memory cap is not charged for what the jobs before left behind; a lean process is kept", async () => {
  await using f = fixture({ memoryWatchMs: 50, threads: 1 });
  const handler = new URL("./testdata/leaves_garbage.ts", import.meta.url);
  const backlog = Array.from({ length: 8 }, () => f.run({ handler, memory: CAP + 28 * 1024 * 1024 }));
  for (const { ended } of backlog) assertEquals((await ended).type, "completed");
  const pids = new Set<string | null>();
  for (let i = 0; i < 5; i++) {
    const outcome = await f.run({ memory: 4 * CAP, args: { do: "pid" } }).ended;
    assert(outcome.type === "completed");
    pids.add(outcome.output);
  }
  assertEquals(pids.size, 1);
});

Deno.test("a kind with memory has one job per host process", async () => {
  await using f = fixture();
  const jobs = [1, 2].map(() => f.run({ memory: CAP, args: { do: "sleep", ms: 300 } }));
  await until(() => f.executor.stats().hosts === 2);
  await Promise.all(jobs.map(({ ended }) => ended));
});

Deno.test("attempts that run alone share a few places, in order, and one that still waits is released at once", async () => {
  await using f = fixture({ threads: 1 });
  const order: number[] = [];
  let most = 0;
  const alone = [0, 1, 2, 3, 4, 5, 6].map((i) => {
    const running = f.run({ alone: true, args: { do: "sleep", ms: 200 } });
    running.ended.then(() => order.push(i));
    return running;
  });
  const [last] = alone.splice(6);
  f.executor.abort(last!.key, "cancel");
  assertEquals((await last!.ended).type, "released");
  await until(() => {
    most = Math.max(most, f.executor.stats().hosts);
    return order.length === 7;
  });
  assertEquals(most, 2);
  for (const { ended } of alone) assertEquals((await ended).type, "completed");
  assert(order.indexOf(0) < order.indexOf(5), `they ended in the order ${order}`);
});

Deno.test("attempts that run alone take turns in a process, which nothing else gets into and which soon ends", async () => {
  await using f = fixture({ threads: 1 });
  const pid = async (attempt: Parameters<typeof f.run>[0]) => {
    const outcome = await f.run({ args: { do: "pid" }, ...attempt }).ended;
    assert(outcome.type === "completed", JSON.stringify(outcome));
    return outcome.output;
  };
  const first = await pid({ alone: true });
  assertEquals(await pid({ alone: true }), first);
  assert(await pid({ memory: 4 * CAP }) !== first);
  assertEquals((await f.run({ alone: true, args: { do: "kill" } }).ended).type, "failed");
  const taken = [];
  for (let i = 0; i < 21; i++) taken.push(await pid({ alone: true }));
  assertEquals([new Set(taken).size, taken.indexOf(taken[20]!)], [2, 20]);
  await until(() => f.executor.stats().hosts <= 1);
});

Deno.test("an idle process makes room for a kind with another cap", async () => {
  await using f = fixture({ threads: 1 });
  for (const more of [0, 1, 2, 3]) {
    const outcome = await f.run({ memory: CAP + more, args: { do: "nothing" } }).ended;
    assertEquals(outcome.type, "completed");
    assert(f.executor.stats().hosts <= 2);
  }
});

Deno.test("host processes without work end after their idle time", async () => {
  await using f = fixture({ hostIdleMs: 100 });
  await f.run({ isolation: "process" }).ended;
  await until(() => f.executor.stats().hosts === 0);
});

Deno.test("abort() in a host process: what heeds a stop is released, what ignores a cancel is ended", async () => {
  await using f = fixture({ graceMs: 1000 });
  const start = (heed: boolean) =>
    f.run({ isolation: "process", args: { do: "sleep", ms: 9000, heed, tell: true } });
  const heeds = start(true);
  const ignores = start(false);
  await until(() => heeds.told.length > 0 && ignores.told.length > 0);
  f.executor.abort(heeds.key, "stop");
  assertEquals((await heeds.ended).type, "released");
  f.executor.abort(ignores.key, "cancel");
  const outcome = await ignores.ended;
  assert(outcome.type === "failed", JSON.stringify(outcome));
  assertEquals(outcome.class, "timeout");
});

Deno.test("a host process ends when the process that started it dies, also while it spins", async () => {
  const program = new URL("./testdata/abandons_host.ts", import.meta.url);
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["run", "-A", program.href] }).output();
  const pid = Number(new TextDecoder().decode(stdout).trim());
  assert(pid > 0);
  await until(() => !isAlive(pid));
});

Deno.test("a program that a handler left behind keeps no process from its end", async () => {
  const program = new URL("./testdata/stops_before_program.ts", import.meta.url);
  const begin = performance.now();
  const { stdout, success } = await new Deno.Command(Deno.execPath(), { args: ["run", "-A", program.href] })
    .output();
  const pid = Number(new TextDecoder().decode(stdout));
  assert(success && pid > 0, `it told ${new TextDecoder().decode(stdout)}`);
  assert(isAlive(pid), "the program has ended, and proves nothing");
  Deno.kill(pid, "SIGKILL");
  assert(performance.now() - begin < 20_000);
});

function isAlive(pid: number): boolean {
  try {
    // Signal 0 is not to be had in Deno; SIGCONT does nothing to a process that runs.
    Deno.kill(pid, "SIGCONT");
    return true;
  } catch {
    return false;
  }
}
