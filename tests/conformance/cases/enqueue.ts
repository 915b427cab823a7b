import { assert, assertEquals, assertRejects } from "../../support/assert.ts";
import {
  InvalidJsonError,
  InvalidOptionError,
  UndeclaredKindError,
  UndeclaredQueueError,
} from "../../../ports/errors.ts";
import type { Json } from "../../../ports/json.ts";
import type { Case } from "../case.ts";
import { pause } from "../eventually.ts";
import { bareJob } from "../stage.ts";

const MIXED: Json = {
  text: 'quotes " and \\ and \u2028, accents \u00e9 e\u0301, an emoji \u{1f600}, right to left \u05d0',
  spelled: "\\u0000",
  numbers: [0, -1.5, 1e-7, 1e21, Number.MAX_SAFE_INTEGER],
  nested: [{ a: [null, true, false, {}, []] }],
  "": "an empty key",
  "key with spaces": 1,
};

/** Enqueuing, outside of transactions. */
export const enqueueCases: readonly Case[] = [
  {
    name: "a handler gets exactly the JSON that was enqueued",
    async run(stage) {
      const echo = stage.kind("echo", { handler: await stage.handler("echo") });
      const runtime = await stage.start({ kinds: [echo] });
      for (const args of [MIXED, "text", 7, false, [1, [2]], {}]) {
        const id = await runtime.enqueue("echo", args);
        const result = await runtime.wait(id, 5000);
        assert(result.done);
        assertEquals(result.output, args);
        assertEquals((await runtime.get(id))!.args, args);
      }
    },
  },
  {
    name: "a job without args is seen as {} by its handler",
    async run(stage) {
      const echo = stage.kind("echo", { handler: await stage.handler("echo") });
      const runtime = await stage.start({ kinds: [echo] });
      for (const id of [await runtime.enqueue("echo"), await runtime.enqueue("echo", null)]) {
        const result = await runtime.wait(id, 5000);
        assert(result.done);
        assertEquals(result.output, {});
      }
    },
  },
  {
    name: "an undeclared kind is refused at enqueue by a typed error, and nothing is stored",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("known")] });
      const error = await assertRejects(() => runtime.enqueue("unknown"), UndeclaredKindError, '"known"');
      assertEquals(error.kind, "unknown");
      await assertRejects(
        () => runtime.enqueueMany([{ kind: "known" }, { kind: "unknown" }]),
        UndeclaredKindError,
      );
      assertEquals(await runtime.list(), []);
    },
  },
  {
    name: "a periodic's kind is refused at enqueue, and the error names what runs it",
    async run(stage) {
      const periodics = [{ name: "sweep", every: 3_600_000, handler: await stage.handler("echo") }];
      const runtime = stage.build({ kinds: [stage.kind("known")], periodics });
      await assertRejects(
        () => runtime.enqueue("periodic:sweep"),
        InvalidOptionError,
        'runPeriodic("sweep")',
      );
      const error = await assertRejects(() => runtime.enqueue("periodic:other"), UndeclaredKindError);
      assert(!error.message.includes("periodic:sweep"), error.message);
      assertEquals(await runtime.list(), []);
    },
  },
  {
    name: "an undeclared queue is refused at enqueue by a typed error",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("known")] });
      await assertRejects(
        () => runtime.enqueue("known", {}, { queue: "nowhere" }),
        UndeclaredQueueError,
        '"default"',
      );
      assertEquals(await runtime.list(), []);
    },
  },
  {
    name: "enqueueMany stores all jobs and returns their ids in the order of the requests",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("one"), stage.kind("two")] });
      const ids = await runtime.enqueueMany([
        { kind: "one", args: { n: 0 } },
        { kind: "two", args: { n: 1 }, priority: 1 },
        { kind: "one", args: { n: 2 } },
      ]);
      const jobs = await Promise.all(ids.map((id) => runtime.get(id)));
      assertEquals(jobs.map((job) => [job!.kind, job!.args, job!.priority]), [
        ["one", { n: 0 }, 2],
        ["two", { n: 1 }, 1],
        ["one", { n: 2 }, 2],
      ]);
      assertEquals(await runtime.enqueueMany([]), []);
    },
  },
  {
    name: "enqueueMany stores all jobs or none: one bad among ten, and there are none",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k")] });
      const requests = Array.from({ length: 10 }, (_, n) => ({
        kind: "k",
        args: n === 3 ? { note: "a\u0000b" } : { note: "fine" },
      }));
      const error = await assertRejects(() => runtime.enqueueMany(requests), InvalidJsonError);
      assertEquals(error.path.includes("note"), true);
      assertEquals(await runtime.list(), []);
    },
  },
  {
    name: "concurrent enqueues each get a job of their own",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k")] });
      const ids = await Promise.all(Array.from({ length: 200 }, (_, n) => runtime.enqueue("k", { n })));
      assertEquals(new Set(ids).size, 200);
      for (const n of [0, 99, 199]) assertEquals((await runtime.get(ids[n]!))!.args, { n });
    },
  },
  {
    name: "a bad enqueue among concurrent ones fails alone",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k")] });
      const results = await Promise.allSettled([
        runtime.enqueue("k", { n: 1 }),
        runtime.enqueue("k", { n: "\ud800" }),
        runtime.enqueue("unknown"),
        runtime.enqueue("k", { n: 2 }),
      ]);
      assertEquals(results.map(({ status }) => status), ["fulfilled", "rejected", "rejected", "fulfilled"]);
      assertEquals((await runtime.list()).length, 2);
    },
  },
  {
    name: "a runtime that was not started enqueues, and another one runs the job",
    async run(stage) {
      const kinds = [stage.kind("k")];
      const id = await stage.build({ kinds }).enqueue("k", stage.act({ do: "return", value: 1 }));
      const runtime = await stage.start({ kinds });
      assertEquals((await stage.until(runtime, id, "completed")).output, 1);
    },
  },
  {
    name: "a job that is written with its signal is there when the signal comes",
    async run(stage) {
      const store = await stage.store();
      await store.register({ id: crypto.randomUUID(), name: "listener", queues: ["slow"] });
      const { promise: heard, resolve } = Promise.withResolvers<string>();
      const subscription = await store.subscribe({
        signal: (signal) => signal.type === "ready" && resolve(signal.queue),
        ready: () => {},
      });
      const [one] = await store.insertAndSignal([bareJob("k", { n: 1 }, { queue: "slow" })]);
      const { id } = one!;
      assertEquals(await heard, "slow");
      assertEquals((await store.get(id))!.state, "pending");
      await subscription.close();
    },
  },
  {
    name: "a job never runs before its runAt, and soon after it",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")], settings: { pollMs: 2000 } });
      const before = Date.now();
      const runAt = new Date(before + 400);
      const id = await runtime.enqueue("k", stage.act({ do: "return" }), { runAt });
      assertEquals((await runtime.get(id))!.state, "pending");
      await stage.until(runtime, id, "completed", 3000);
      const [start] = stage.journal();
      assert(start!.at >= runAt.getTime() - 5, `ran ${start!.at - before} ms after the enqueue`);
    },
  },
  {
    name: "a runAt in the past is at once",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const runAt = new Date("2001-01-01T00:00:00Z");
      const id = await runtime.enqueue("k", stage.act({ do: "return" }), { runAt });
      const job = await stage.until(runtime, id, "completed");
      // Jobs that pretended to be old would overtake jobs that have waited. A busy server may pause between the two.
      assert(Date.parse(job.scheduledAt) >= Date.parse(job.enqueuedAt) - 1000);
    },
  },
  {
    name: "a runAt is of the years 1 to 9999, all of them",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      for (const first of ["0001-01-01T00:00:00.000Z", "1900-12-31T23:59:59.999Z"]) {
        const id = await runtime.enqueue("k", stage.act({ do: "return" }), { runAt: new Date(first) });
        await stage.until(runtime, id, "completed");
      }
      const runAt = new Date("9999-12-31T23:59:59.999Z");
      const last = (await runtime.get(await runtime.enqueue("k", {}, { runAt })))!;
      assertEquals([last.state, Date.parse(last.scheduledAt)], ["pending", runAt.getTime()]);
    },
  },
  {
    name: "members of args that are undefined are left out, wherever; a filter with one is refused",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k")] });
      const given = { order: 1, note: undefined, lines: [{ sku: "a", note: undefined }] };
      const kept = { order: 1, lines: [{ sku: "a" }] };
      const ids = [
        await runtime.enqueue("k", given),
        ...await runtime.enqueueMany([{ kind: "k", args: given }]),
      ];
      for (const id of ids) assertEquals((await runtime.get(id))!.args, kept);
      const unique = { uniqueByArgs: true };
      assertEquals(await runtime.enqueue("k", given, unique), await runtime.enqueue("k", kept, unique));
      for (const args of [[undefined], { lines: [1, undefined] }]) {
        await assertRejects(() => runtime.enqueue("k", args as unknown as Json), InvalidJsonError);
      }
      const filter = { args: { order: undefined } as unknown as Json };
      await assertRejects(() => runtime.list(filter), InvalidJsonError, "args.order");
    },
  },
  {
    name: "a runAt that is no date, or beyond what can be stored, is refused",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k")] });
      const none = ["+010000-01-01T00:00:00.000Z", "0000-12-31T23:59:59.999Z"].map((text) => new Date(text));
      for (const runAt of [...none, new Date(NaN), new Date(8.64e15), "2030-01-01" as unknown as Date]) {
        await assertRejects(() => runtime.enqueue("k", {}, { runAt }), InvalidOptionError, "runAt");
      }
      assertEquals(await runtime.list(), []);
    },
  },
  {
    name: "a job can be put in another queue than its kind's",
    async run(stage) {
      const queues = [{ name: "default", concurrency: 1 }, { name: "other", concurrency: 1 }];
      const runtime = await stage.start({ kinds: [stage.kind("k")], queues });
      const id = await runtime.enqueue("k", stage.act({ do: "context" }), { queue: "other" });
      const job = await stage.until(runtime, id, "completed");
      assertEquals(job.queue, "other");
      assertEquals((job.output as { queue: string }).queue, "other");
    },
  },
  {
    name: "a lower priority number always goes first within its queue",
    async run(stage) {
      const parts = { kinds: [stage.kind("k")], queues: [{ name: "default", concurrency: 1 }] };
      const before = stage.build(parts);
      for (const priority of [4, 2, 3, 1, 2] as const) {
        const tag = String(priority);
        await before.enqueue("k", stage.tagged(tag, { do: "return" }), { priority });
      }
      const runtime = await stage.start(parts);
      const last = (await runtime.list({ kind: "k" })).find((job) => job.priority === 4)!;
      await stage.until(runtime, last.id, "completed");
      const order = stage.journal().filter((entry) => entry.what === "start").map((entry) => entry.tag);
      assertEquals(order, ["1", "2", "2", "3", "4"]);
    },
  },
  {
    name: "a priority that is not 1 to 4 is refused",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k")] });
      for (const priority of [0, 5, 1.5, "1"]) {
        await assertRejects(
          () => runtime.enqueue("k", {}, { priority: priority as 1 }),
          InvalidOptionError,
          "priority",
        );
      }
    },
  },
  {
    name: "every job of a burst runs once",
    async run(stage) {
      const runtime = await stage.start({
        kinds: [stage.kind("k")],
        queues: [{ name: "default", concurrency: 20 }],
      });
      const ids = await runtime.enqueueMany(
        Array.from({ length: 300 }, () => ({ kind: "k", args: stage.act({ do: "return" }) })),
      );
      await stage.until(runtime, ids.at(-1)!, "completed", 15_000);
      for (const id of ids) await stage.until(runtime, id, "completed", 15_000);
      await pause(50);
      assertEquals(stage.starts(), 300);
      assertEquals((await runtime.overview("k")).states.completed, 300);
    },
  },
];
