import { assertEquals, assertLess } from "@std/assert";
import { cpuMs, gone } from "./program.ts";
import { Stage, workerPid } from "./shop_stage.ts";

Deno.test("a handler that can't be ended: the next worker is up, and soon no core is burnt", async () => {
  await using stage = await Stage.open();
  await using program = stage.worker();
  await program.event("started");
  const first = await workerPid(program);
  const id = await stage.runtime.enqueue("shop.spin");
  const result = await stage.runtime.wait(id, 20_000);
  assertEquals(result.done && result.state, "discarded");
  assertEquals((await stage.runtime.get(id))?.errors[0]?.class, "timeout");
  await program.event("worker recycles itself, starting the next");
  await program.event("started", 2);
  await gone(first);
  assertEquals(await stage.add(20, 3), 23);
  const second = await workerPid(program, 2);
  const before = await cpuMs(second);
  await new Promise((resolve) => setTimeout(resolve, 1000));
  assertLess(await cpuMs(second) - before, 500);
  assertEquals(program.log.filter((line) => line.event === "worker starting").length, 2);
  program.signal("SIGTERM");
  assertEquals((await program.end()).code, 0);
});

Deno.test("a worker that recycles itself lets short jobs end, and gives long ones back uncharged", async () => {
  await using stage = await Stage.open();
  await using program = stage.worker(["--threads", "2"]);
  await program.event("started");
  const short = await stage.runtime.enqueue("shop.sleep", { ms: 2500 });
  const long = await stage.runtime.enqueue("shop.sleep", { ms: 12_000 });
  await stage.untilRunning(short);
  await stage.untilRunning(long);
  const spin = await stage.runtime.enqueue("shop.spin");
  await program.event("worker recycles itself, starting the next");
  const ended = await stage.runtime.wait(short, 20_000);
  assertEquals(ended.done && ended.output, "attempt 1");
  await program.event("recycled");
  await gone(await workerPid(program));
  await stage.untilRunning(long);
  const { attempt, errors } = (await stage.runtime.get(long))!;
  assertEquals({ attempt, errors }, { attempt: 1, errors: [] });
  assertEquals((await stage.runtime.get(spin))?.state, "discarded");
  await stage.runtime.cancel(long);
  program.signal("SIGTERM");
  assertEquals((await program.end()).code, 0);
});

Deno.test("out of memory in a thread: the worker comes back, the job ends alone, the others complete", async () => {
  await using stage = await Stage.open();
  // A small heap, so that it is used up in a moment.
  await using program = stage.worker([], { DENO_V8_FLAGS: "--max-old-space-size=64" });
  await program.event("started");
  const others = await stage.runtime.enqueueMany(
    Array.from({ length: 5 }, () => ({ kind: "shop.sleep", args: { ms: 1000 } })),
  );
  const id = await stage.runtime.enqueue("shop.hog");
  const result = await stage.runtime.wait(id, 28_000);
  assertEquals(result.done && result.state, "discarded");
  for (const other of others) {
    const { done, ...rest } = await stage.runtime.wait(other, 28_000);
    assertEquals(done && "state" in rest && rest.state, "completed");
  }
  assertEquals((await stage.runtime.get(id))?.errors.map((error) => error.class)[0], "worker lost");
  await program.event("worker ended, starting another");
});
