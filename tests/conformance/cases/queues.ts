import { assert, assertEquals } from "../../support/assert.ts";
import type { Case } from "../case.ts";
import { eventually, pause } from "../eventually.ts";
import { bareJob, SIGNALS_ALONE } from "../stage.ts";

/** Queues, wake-ups, and kinds declared only by other programs. */
export const queueCases: readonly Case[] = [
  {
    name: "a queue that is blocked to its limit leaves the others at full speed",
    async run(stage) {
      const runtime = await stage.start({
        kinds: [stage.kind("slow", { queue: "slow" }), stage.kind("quick")],
        queues: [{ name: "slow", concurrency: 2 }, { name: "default", concurrency: 5 }],
      });
      const gate = stage.gate();
      const slow = await runtime.enqueueMany(
        Array.from(
          { length: 10 },
          () => ({ kind: "slow", args: stage.act({ do: "hold", until: gate.path }) }),
        ),
      );
      await eventually(() => stage.starts() === 2);
      const quick = await runtime.enqueueMany(
        Array.from({ length: 50 }, () => ({ kind: "quick", args: stage.act({ do: "return" }) })),
      );
      for (const id of quick) await stage.until(runtime, id, "completed", 3000);
      assertEquals(slow.filter((id) => stage.starts(id) > 0).length, 2);
      gate.open();
      for (const id of slow) await stage.until(runtime, id, "completed");
    },
  },
  {
    name: "what takes long leaves its slot to the next, as many as its kind says; the others keep theirs",
    async run(stage) {
      const runtime = await stage.start({
        kinds: [stage.kind("slow", { beside: { afterMs: 50, most: 3 } }), stage.kind("quick")],
        queues: [{ name: "default", concurrency: 2 }],
      });
      const gate = stage.gate();
      const hold = { kind: "slow", args: stage.act({ do: "hold", until: gate.path }) };
      const slow = await runtime.enqueueMany(Array.from({ length: 4 }, () => hold));
      for (const id of slow) await stage.untilStarted(id);
      // Three run beside the queue and one has kept its slot, so one slot is free.
      const quick = await runtime.enqueue("quick", stage.act({ do: "return" }));
      await stage.until(runtime, quick, "completed");
      const more = await runtime.enqueueMany([hold, hold]);
      await stage.untilStarted(more[0]!);
      await pause(200);
      assertEquals(stage.starts(more[1]!), 0);
      gate.open();
      for (const id of [...slow, ...more]) await stage.until(runtime, id, "completed");
    },
  },
  {
    name: "what a process has claimed ahead of handlers that go on and on is free for the others, uncharged",
    async run(stage) {
      const parts = {
        kinds: [stage.kind("k")],
        queues: [{ name: "default", concurrency: 2 }],
        settings: { prefetchMs: 1000, prefetchMax: 50 },
      };
      const one = await stage.start(parts);
      const quick = await one.enqueueMany(
        Array.from({ length: 20 }, () => ({ kind: "k", args: stage.act({ do: "return" }) })),
      );
      for (const id of quick) await stage.until(one, id, "completed");
      const gate = stage.gate();
      const hold = { kind: "k", args: stage.act({ do: "hold", until: gate.path }) };
      const ids = await one.enqueueMany([
        hold,
        hold,
        ...Array.from({ length: 8 }, () => ({ kind: "k", args: stage.act({ do: "return" }) })),
      ]);
      for (const id of ids.slice(0, 2)) await stage.untilStarted(id);
      const two = await stage.start(parts);
      for (const id of ids.slice(2)) assertEquals((await stage.until(two, id, "completed", 5000)).attempt, 1);
      gate.open();
      for (const id of ids.slice(0, 2)) assertEquals((await stage.until(one, id, "completed")).attempt, 1);
    },
  },
  {
    name: "no more handlers of a queue run at once in a process than its concurrency",
    async run(stage) {
      const runtime = await stage.start({
        kinds: [stage.kind("k")],
        queues: [{ name: "default", concurrency: 3 }],
      });
      const ids = await runtime.enqueueMany(
        Array.from({ length: 40 }, () => ({ kind: "k", args: stage.act({ do: "return" }) })),
      );
      for (const id of ids) await stage.until(runtime, id, "completed", 10_000);
      let running = 0;
      let most = 0;
      for (const entry of stage.journal()) {
        running += entry.what === "start" ? 1 : -1;
        most = Math.max(most, running);
      }
      assert(most <= 3, `${most} ran at once`);
    },
  },
  {
    name: "a runtime works only the queues that it was told to",
    async run(stage) {
      const parts = {
        kinds: [stage.kind("k")],
        queues: [{ name: "default", concurrency: 1 }, { name: "other", concurrency: 1 }],
      };
      const runtime = await stage.start({ ...parts, work: ["other"] });
      const left = await runtime.enqueue("k", stage.act({ do: "return" }));
      const done = await runtime.enqueue("k", stage.act({ do: "return" }), { queue: "other" });
      await stage.until(runtime, done, "completed");
      await pause(250);
      assertEquals((await runtime.get(left))!.state, "pending");
      const second = await stage.start(parts);
      await stage.until(second, left, "completed");
    },
  },
  {
    name: "a job whose wake-up was lost is picked up within the poll",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")], settings: { pollMs: 300 } });
      await pause(100);
      const store = await stage.store();
      const [made] = await store.insert([bareJob("k", stage.act({ do: "return" }))]);
      await stage.until(runtime, made!.id, "completed", 1500);
    },
  },
  {
    name: "a job wakes an idle runtime of another process without waiting for a poll",
    async run(stage) {
      const kinds = [stage.kind("k")];
      const working = await stage.start({ kinds, settings: SIGNALS_ALONE });
      const asking = stage.build({ kinds });
      await pause(300);
      for (let n = 0; n < 3; n++) {
        const id = await asking.enqueue("k", stage.act({ do: "return" }));
        await stage.until(working, id, "completed", 2000);
      }
    },
  },
  {
    name:
      "what was enqueued while nobody worked its queue, and is committed after somebody began, needs no poll",
    async run(stage) {
      const kinds = [stage.kind("k")];
      const asking = stage.build({ kinds });
      const { tx, commit } = await stage.begin();
      const late = await asking.with(tx).enqueue("k", stage.act({ do: "return" }));
      const early = await asking.enqueue("k", stage.act({ do: "return" }));
      const working = await stage.start({ kinds, settings: SIGNALS_ALONE });
      await stage.until(working, early, "completed", 2000);
      await commit();
      await stage.until(working, late, "completed", 10_000);
    },
  },
  {
    name: "what was enqueued in a paused queue, and is committed after it was resumed, needs no poll",
    async run(stage) {
      const kinds = [stage.kind("k")];
      const working = await stage.start({ kinds, settings: SIGNALS_ALONE });
      await working.pauseQueue("default");
      const { tx, commit } = await stage.begin();
      const late = await working.with(tx).enqueue("k", stage.act({ do: "return" }));
      const early = await working.enqueue("k", stage.act({ do: "return" }));
      await pause(100);
      assertEquals((await working.get(early))!.state, "pending");
      await working.resumeQueue("default");
      await stage.until(working, early, "completed", 2000);
      await commit();
      await stage.until(working, late, "completed", 10_000);
    },
  },
  {
    name: "a claimed job of a kind that is not declared here goes back uncharged, and the overview counts it",
    async run(stage) {
      const both = [stage.kind("old"), stage.kind("new")];
      const id = await stage.build({ kinds: both }).enqueue("new", stage.act({ do: "return", value: 1 }));
      const older = await stage.start({ kinds: [stage.kind("old")] });
      await eventually(async () => (await older.overview()).undeclared === 1);
      const aside = (await older.get(id))!;
      assertEquals([aside.state, aside.attempt, aside.errors, stage.starts()], ["pending", 0, [], 0]);
      const shown = (await older.overview()).kinds.find(({ kind }) => kind === "new");
      assertEquals([shown?.declared, shown?.states.pending], [false, 1]);
      // It was put aside, so the jobs behind it proceed.
      const known = await older.enqueue("old", stage.act({ do: "return" }));
      await stage.until(older, known, "completed");
      // While an old program still runs, it may claim the job first and put it aside again.
      await older.stop();
      const newer = await stage.start({ kinds: both });
      const job = await stage.until(newer, id, "completed");
      assertEquals([job.attempt, job.output], [1, 1]);
      assertEquals((await newer.overview()).undeclared, 0);
    },
  },
  {
    name:
      "what processes put aside that do not declare its kind is run at once by the one that does, beside them",
    async run(stage) {
      const parts = { settings: SIGNALS_ALONE };
      for (let n = 0; n < 3; n++) await stage.start({ ...parts, kinds: [stage.kind("old")] });
      const newer = await stage.start({ ...parts, kinds: [stage.kind("old"), stage.kind("new")] });
      for (let n = 0; n < 20; n++) {
        const id = await newer.enqueue("new", stage.act({ do: "return" }));
        const job = await stage.until(newer, id, "completed", 3000);
        assertEquals([job.attempt, job.errors], [1, []]);
      }
      assertEquals((await newer.overview()).undeclared, 0);
    },
  },
  {
    name:
      "what lies aside waits for a process that declares its kind and works its queue, and is in nobody's way",
    async run(stage) {
      const ghost = await stage.ghost();
      const made = await ghost.store.insert([1, 2, 3].map(() => bareJob("new", stage.act({ do: "return" }))));
      const claimed = await ghost.claim(3);
      await ghost.store.settle(
        claimed.map(({ id, run }) => ({ id, run, to: "put aside", delayMs: 0, error: null, alone: false })),
      );
      assertEquals(await ghost.claim(3), []);
      assertEquals(await ghost.store.findAside(["old"]), []);
      assertEquals(await ghost.store.findAside(["old", "new"]), [{ queue: "default", kind: "new" }]);
      const elsewhere = await stage.start({
        kinds: [stage.kind("new", { queue: "other" })],
        queues: [{ name: "default", concurrency: 1 }, { name: "other", concurrency: 1 }],
        work: ["other"],
      });
      await pause(1200);
      assertEquals([(await elsewhere.overview()).undeclared, stage.starts()], [3, 0]);
      const newer = await stage.start({ kinds: [stage.kind("new")] });
      for (const { id } of made) await stage.until(newer, id, "completed");
      assertEquals(await ghost.store.findAside(["new"]), []);
    },
  },
  {
    name:
      "what lies aside is claimed by its priority among the others, and in the order in which it was put aside",
    async run(stage) {
      const ghost = await stage.ghost();
      const insert = async (kind: string, priority: number) =>
        (await ghost.store.insert([bareJob(kind, {}, { priority })]))[0]!.id;
      const aside = [await insert("new", 3), await insert("new", 1), await insert("new", 3)];
      const claimed = await ghost.claim(3);
      for (const id of aside) {
        const { run } = claimed.find((job) => job.id === id)!;
        const back = { id, run, to: "put aside", delayMs: 0, error: null, alone: false } as const;
        await ghost.store.settle([back]);
        await pause(2);
      }
      const known = [await insert("old", 2), await insert("old", 3), await insert("old", 1)];
      const order = (await ghost.claimAside("new", 6)).map(({ id }) => id);
      assertEquals(order, [aside[1], known[2], known[0], aside[0], aside[2], known[1]]);
    },
  },
  {
    name:
      "a paused queue gives nothing of what lies aside either, and its cancel and retry are those of any that waits",
    async run(stage) {
      const ghost = await stage.ghost();
      const made = await ghost.store.insert([1, 2, 3].map(() => bareJob("new", {})));
      const claimed = await ghost.claim(3);
      await ghost.store.settle(
        claimed.map(({ id, run }) => ({ id, run, to: "put aside", delayMs: 0, error: null, alone: false })),
      );
      await ghost.store.pauseQueue("default");
      assertEquals(await ghost.claimAside("new", 3), []);
      await ghost.store.resumeQueue("default");
      const [first, second, third] = made.map(({ id }) => id);
      assertEquals((await ghost.store.cancel(first!)).result, "cancelled");
      await ghost.store.retry(second!);
      assertEquals((await ghost.claim(3)).map(({ id }) => id), [second]);
      assertEquals((await ghost.claimAside("new", 3)).map(({ id }) => id), [third]);
      const year = new Date().getUTCFullYear();
      for (const id of [first!, second!, third!]) {
        assertEquals(
          Math.abs(new Date((await ghost.store.get(id))!.scheduledAt).getUTCFullYear() - year) <= 1,
          true,
        );
      }
    },
  },
  {
    name: "two runtimes on one storage share the work, and each job runs once",
    async run(stage) {
      const parts = { kinds: [stage.kind("k")], queues: [{ name: "default", concurrency: 4 }] };
      const [one] = [await stage.start(parts), await stage.start(parts)];
      const ids = await one!.enqueueMany(
        Array.from({ length: 200 }, () => ({ kind: "k", args: stage.act({ do: "return" }) })),
      );
      for (const id of ids) await stage.until(one!, id, "completed", 10_000);
      assertEquals(stage.starts(), 200);
    },
  },
  {
    name:
      "a store names the queues in which due jobs wait that nobody works: neither paused ones nor those of later jobs",
    async run(stage) {
      const kinds = [stage.kind("k")];
      const runtime = await stage.start({ kinds, work: ["maintenance"] });
      const store = await stage.store();
      await runtime.enqueue("k", stage.act({ do: "return" }), { runAt: new Date(Date.now() + 60_000) });
      assertEquals(await store.unworked(), []);
      const id = await runtime.enqueue("k", stage.act({ do: "return" }));
      assertEquals(await store.unworked(), ["default"]);
      await runtime.pauseQueue("default");
      assertEquals(await store.unworked(), []);
      await runtime.resumeQueue("default");
      assertEquals(await store.unworked(), ["default"]);
      const working = await stage.start({ kinds });
      await stage.until(working, id, "completed");
      assertEquals(await store.unworked(), []);
    },
  },
  {
    name: "a queue that only an enqueuing process declares has jobs that nobody works",
    async run(stage) {
      await stage.start({ kinds: [stage.kind("k")] });
      const away = {
        kinds: [stage.kind("away", { queue: "away" }), stage.kind("far", { queue: "far" })],
        queues: [{ name: "away", concurrency: 1 }, { name: "far", concurrency: 1 }],
      };
      const enqueuing = stage.build(away);
      const store = await stage.store();
      await enqueuing.enqueue("far", stage.act({ do: "return" }));
      await enqueuing.enqueue("away", stage.act({ do: "return" }));
      assertEquals(await store.unworked(), ["away", "far"]);
      await stage.start(away);
      assertEquals(await store.unworked(), []);
    },
  },
];
