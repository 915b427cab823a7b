import { assert, assertEquals, assertRejects } from "../../support/assert.ts";
import { InvalidOptionError } from "../../../ports/errors.ts";
import type { Json } from "../../../ports/json.ts";
import type { Case } from "../case.ts";

/** Inspecting jobs. */
export const inspectCases: readonly Case[] = [
  {
    name: "list by kind, queue and state gives those jobs and no other, newest first",
    async run(stage) {
      const queues = [{ name: "default", concurrency: 1 }, { name: "other", concurrency: 1 }];
      const runtime = stage.build({ kinds: [stage.kind("k"), stage.kind("l")], queues });
      const k1 = await runtime.enqueue("k");
      const l1 = await runtime.enqueue("l");
      const k2 = await runtime.enqueue("k", null, { queue: "other" });
      const k3 = await runtime.enqueue("k");
      await runtime.cancel(k3);
      const ids = async (filter?: Parameters<typeof runtime.list>[0]) =>
        (await runtime.list(filter)).map(({ id }) => id);
      assertEquals(await ids(), [k3, k2, l1, k1]);
      assertEquals(await ids({ kind: "k" }), [k3, k2, k1]);
      assertEquals(await ids({ kind: "k", state: "pending" }), [k2, k1]);
      assertEquals(await ids({ state: "cancelled" }), [k3]);
      assertEquals(await ids({ queue: "other" }), [k2]);
      assertEquals(await ids({ kind: "nothing" }), []);
    },
  },
  {
    name: "list by args gives the jobs whose args contain them, newest first",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k")] });
      const first = await runtime.enqueue("k", { user: 1, tags: ["a", "b"], deep: { x: [1, { y: 2 }] } });
      const second = await runtime.enqueue("k", { user: 2, tags: ["b"] });
      await runtime.enqueue("k", null);
      const ids = async (args: Json) => (await runtime.list({ args })).map(({ id }) => id);
      assertEquals(await ids({ user: 1 }), [first]);
      assertEquals(await ids({ tags: ["b"] }), [second, first]);
      assertEquals(await ids({ deep: { x: [{ y: 2 }] } }), [first]);
      assertEquals(await ids({ user: "1" }), []);
      assertEquals(await ids({}), [second, first]);
    },
  },
  {
    name: "list gives page after page, each job once",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k")] });
      const ids = await runtime.enqueueMany(Array.from({ length: 25 }, () => ({ kind: "k" })));
      const seen: string[] = [];
      for (;;) {
        const before = seen.at(-1);
        const page = await runtime.list({ limit: 10, ...(before === undefined ? {} : { before }) });
        if (page.length === 0) break;
        assert(page.length <= 10);
        seen.push(...page.map(({ id }) => id));
      }
      assertEquals(seen, ids.toReversed());
    },
  },
  {
    name: "list gives 50 jobs unless told otherwise, and refuses a limit that is not 1 to 1,000",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k")] });
      await runtime.enqueueMany(Array.from({ length: 60 }, () => ({ kind: "k" })));
      assertEquals((await runtime.list()).length, 50);
      assertEquals((await runtime.list({ limit: 1000 })).length, 60);
      for (const limit of [0, -1, 1001, 1.5, NaN]) {
        await assertRejects(() => runtime.list({ limit }), InvalidOptionError, "limit");
      }
    },
  },
  {
    name: "list shows the first 200 characters of the args, get shows all of them",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k")] });
      const args = { note: "\u{1f600}".repeat(5000) };
      const id = await runtime.enqueue("k", args);
      const [shown] = await runtime.list();
      assert([...shown!.argsPreview].length <= 200 && shown!.argsPreview.isWellFormed());
      assert(shown!.argsPreview.startsWith('{"note":'), shown!.argsPreview.slice(0, 20));
      assertEquals((await runtime.get(id))!.args, args);
    },
  },
  {
    name: "get tells all of a job's life, and null for a job that does not exist",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k", { maxAttempts: 7 })] });
      const open = await stage.begin();
      const never = await runtime.with(open.tx).enqueue("k");
      await open.rollback();
      assertEquals(await runtime.get(never), null);
      const id = await runtime.enqueue("k", stage.act({ do: "return", value: 5 }), { priority: 3 });
      const job = await stage.until(runtime, id, "completed");
      const { kind, queue, priority, attempt, maxAttempts, snoozes, run, output, unique, progress } = job;
      assertEquals({ kind, queue, priority, attempt, maxAttempts, snoozes, run, output, unique, progress }, {
        kind: "k",
        queue: "default",
        priority: 3,
        attempt: 1,
        maxAttempts: 7,
        snoozes: 0,
        run: 1,
        output: 5,
        unique: false,
        progress: null,
      });
      const times = [job.enqueuedAt, job.claimedAt, job.finishedAt].map((time) => {
        assertEquals(time, new Date(time!).toISOString().replace("Z", "") + time!.slice(23));
        return Date.parse(time!);
      });
      assertEquals(times, times.toSorted((one, other) => one - other));
    },
  },
  {
    name: "overview counts per kind and state, and lists a kind that has never run",
    async run(stage) {
      const runtime = await stage.start({
        kinds: [stage.kind("k", { maxAttempts: 1 }), stage.kind("idle")],
      });
      const ended = [
        await runtime.enqueue("k", stage.act({ do: "return" })),
        await runtime.enqueue("k", stage.act({ do: "fail" })),
      ];
      await stage.until(runtime, ended[0]!, "completed");
      await stage.until(runtime, ended[1]!, "discarded");
      const later = await runtime.enqueue("k", {}, { runAt: new Date(Date.now() + 60_000) });
      await runtime.cancel(await runtime.enqueue("k", {}, { runAt: new Date(Date.now() + 60_000) }));
      const overview = await runtime.overview();
      const states = { pending: 1, running: 0, retryable: 0, completed: 1, discarded: 1, cancelled: 1 };
      assertEquals(overview.states, states);
      assertEquals(overview.kinds.find(({ kind }) => kind === "k"), { kind: "k", declared: true, states });
      const idle = overview.kinds.find(({ kind }) => kind === "idle")!;
      assertEquals([idle.declared, Object.values(idle.states).every((count) => count === 0)], [true, true]);
      assertEquals([overview.undeclared, typeof overview.bytes], [0, "number"]);
      assertEquals((await runtime.overview("idle")).states.completed, 0);
      assertEquals((await runtime.overview("k")).kinds.map(({ kind }) => kind), ["k"]);
      await runtime.cancel(later);
    },
  },
  {
    name: "overview shows the age of the oldest due job, for each queue and priority",
    async run(stage) {
      const queues = [{ name: "default", concurrency: 1 }, { name: "other", concurrency: 1 }];
      const runtime = stage.build({ kinds: [stage.kind("k")], queues });
      assertEquals([(await runtime.overview()).oldestPendingMs, (await runtime.overview()).waiting], [
        null,
        [],
      ]);
      await runtime.enqueue("k", {}, { runAt: new Date(Date.now() + 60_000), priority: 1 });
      assertEquals((await runtime.overview()).oldestPendingMs, null);
      await runtime.enqueue("k", {}, { priority: 4 });
      await new Promise((resolve) => setTimeout(resolve, 60));
      await runtime.enqueue("k", {}, { queue: "other" });
      await runtime.enqueue("k", {}, { priority: 4 });
      const { oldestPendingMs, waiting } = await runtime.overview();
      const ages = new Map(
        waiting.map(({ queue, priority, oldestMs }) => [`${queue} ${priority}`, oldestMs]),
      );
      assertEquals([...ages.keys()].sort(), ["default 4", "other 2"]);
      assert(ages.get("default 4")! >= 55 && ages.get("default 4")! < 5000, `${ages.get("default 4")} ms`);
      assert(ages.get("default 4")! > ages.get("other 2")!);
      assertEquals(Math.round(oldestPendingMs!), Math.round(ages.get("default 4")!));
    },
  },
  {
    name:
      "the depth counts what has not ended, of all, of a kind or of a queue, and how long the oldest is due",
    async run(stage) {
      const queues = [{ name: "default", concurrency: 1 }, { name: "other", concurrency: 1 }];
      const runtime = stage.build({ kinds: [stage.kind("k"), stage.kind("l")], queues });
      assertEquals(await runtime.depth(), {
        pending: 0,
        retryable: 0,
        running: 0,
        due: 0,
        oldestDueMs: null,
      });
      const runAt = new Date(Date.now() + 60_000);
      const ended = await runtime.enqueue("k");
      await runtime.cancel(ended);
      await runtime.enqueue("k");
      await runtime.enqueue("k", null, { runAt });
      await runtime.enqueue("l", null, { queue: "other" });
      const ghost = await stage.ghost();
      await ghost.claim(1, 1, "other");
      const figures = async (filter?: Parameters<typeof runtime.depth>[0]) => {
        const { pending, retryable, running, due, oldestDueMs } = await runtime.depth(filter);
        return [pending, retryable, running, due, oldestDueMs !== null && oldestDueMs >= 0];
      };
      assertEquals(await figures(), [2, 0, 1, 1, true]);
      assertEquals(await figures({ kind: "k" }), [2, 0, 0, 1, true]);
      assertEquals(await figures({ kind: "l" }), [0, 0, 1, 0, false]);
      assertEquals(await figures({ queue: "default" }), [2, 0, 0, 1, true]);
      assertEquals(await figures({ queue: "other", kind: "l" }), [0, 0, 1, 0, false]);
      await assertRejects(() => runtime.depth({ kinds: "k" } as never), InvalidOptionError, "kinds");
    },
  },
];
