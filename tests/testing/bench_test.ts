import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import type { Jobs } from "../../ports/jobs.ts";
import { InvalidArgsError } from "../../ports/args_schema.ts";
import { InvalidOptionError } from "../../ports/errors.ts";
import type { Kind } from "../../ports/kind.ts";
import type { Registrar } from "../../ports/registrar.ts";
import { defineKind } from "../../ports/typed_kind.ts";
import { z } from "zod";
import { createTestBench, type TestBenchOptions } from "../../testing/mod.ts";

const base = { queue: "default", maxAttempts: 1, timeout: 5000 };
const zodMail = defineKind({
  ...base,
  name: "mail.zod",
  args: z.object({ orderId: z.string(), language: z.enum(["de", "en"]).default("en") }),
  handler: new URL("../typed/handlers/zod_mail.ts", import.meta.url),
});
const sweep: Kind = { ...base, name: "sweep", handler: () => 30 };

Deno.test("drain() runs what jobs enqueue too, first priority first, and modules in the test's own thread", async () => {
  const order: string[] = [];
  const registrar = (jobs: () => Jobs): Registrar => ({
    kinds: [
      zodMail,
      {
        ...base,
        name: "note",
        async handler(args, ctx) {
          order.push((args as { name: string }).name);
          assertEquals(ctx.queue, "default");
          if (order.length === 1) await jobs().enqueue("mail.zod", { orderId: "7" });
        },
      },
    ],
  });
  await using bench = createTestBench({ registrars: [({ jobs }) => registrar(() => jobs)] });
  await bench.runtime.enqueue("note", { name: "second" });
  await bench.runtime.enqueue("note", { name: "first" }, { priority: 1 });
  const ran = await bench.drain();
  assertEquals(order, ["first", "second"]);
  assertEquals(ran.map((job) => [job.kind, job.state, job.output]), [
    ["note", "completed", null],
    ["note", "completed", null],
    ["mail.zod", "completed", "7 in en"],
  ]);
  assertEquals(await bench.enqueued(), []);
});

Deno.test("perform() runs one typed job and leaves the others", async () => {
  await using bench = createTestBench({ registrars: [{ kinds: [zodMail, sweep] }] });
  await bench.runtime.enqueue("sweep");
  const job = await bench.perform(zodMail, { orderId: "1", language: "de" });
  assertEquals([job.state, job.output], ["completed", "1 in de"]);
  assertEquals((await bench.enqueued("sweep")).length, 1);
  await assertRejects(() => bench.perform("mail.zod", {}), InvalidArgsError);
});

Deno.test("perform() makes the first attempt of its own job, in its kind's queue, whatever else waits there", async () => {
  let works = false;
  const seen: unknown[] = [];
  const kind: Kind = {
    ...base,
    name: "flaky",
    maxAttempts: 3,
    handler(args, ctx) {
      seen.push([(args as { name: string }).name, ctx.attempt, ctx.queue]);
      if (!works) throw new Error("not yet");
    },
  };
  await using bench = createTestBench({ registrars: [{ kinds: [kind] }] });
  const failed = await bench.perform("flaky", { name: "one" });
  assertEquals([failed.state, failed.queue], ["retryable", "default"]);
  bench.advance(3_600_000);
  works = true;
  await bench.runtime.pauseQueue("default");
  const second = await bench.perform("flaky", { name: "two" });
  assertEquals([second.state, second.attempt], ["completed", 1]);
  await bench.runtime.resumeQueue("default");
  assertEquals((await bench.drain()).map(({ id }) => id), [failed.id]);
  assertEquals(seen, [["one", 1, "default"], ["two", 1, "default"], ["one", 2, "default"]]);
  const queues = (await bench.runtime.overview()).queues.map(({ queue }) => queue);
  assertEquals(queues, ["default", "maintenance"]);
});

Deno.test("completeIn() commits with the transaction of the bench, and a rollback fails the attempt", async () => {
  let commits = true;
  const kind: Kind = {
    ...base,
    name: "close",
    async handler(_args, ctx) {
      const tx = bench.begin();
      await ctx.completeIn(tx, { closed: true });
      await (commits ? tx.commit() : tx.rollback());
    },
  };
  await using bench = createTestBench({ registrars: [{ kinds: [kind] }] });
  assertEquals((await bench.perform("close")).output, { closed: true });
  commits = false;
  assertEquals((await bench.perform("close")).state, "discarded");
});

Deno.test("a paused queue is not drained, and a periodic runs when it is told to", async () => {
  let runs = 0;
  const periodics = [{ name: "nightly", cron: "0 3 * * *", timezone: "UTC", handler: () => void runs++ }];
  await using bench = createTestBench({ registrars: [{ kinds: [sweep], periodics }] });
  await bench.runtime.pauseQueue("default");
  await bench.runtime.enqueue("sweep");
  assertEquals(await bench.drain({ scheduled: true }), []);
  await bench.runtime.runPeriodic("nightly");
  assertEquals((await bench.drain()).length, 1);
  assertEquals(runs, 1);
  await bench.runtime.resumeQueue("default");
  assertEquals((await bench.drain())[0]!.output, 30);
});

Deno.test("drain() of a job that enqueues itself ends with an error, and the clock moves forward only", async () => {
  const kind: Kind = { ...base, name: "loop", handler: async () => void await bench.runtime.enqueue("loop") };
  await using bench = createTestBench({ registrars: [{ kinds: [kind] }] });
  await bench.runtime.enqueue("loop");
  await assertRejects(() => bench.drain(), Error, "did not come to an end");
  for (const ms of [-1, Infinity, "5" as unknown as number]) {
    assertThrows(() => bench.advance(ms), RangeError);
  }
  const registrars: Registrar[] = [];
  assertThrows(() => createTestBench({ registrars, now: new Date(NaN) }), InvalidOptionError, "now");
  assertThrows(
    () => createTestBench({ registrars, queue: [] } as TestBenchOptions),
    InvalidOptionError,
    "queue",
  );
  assert(bench.now() <= new Date());
});
