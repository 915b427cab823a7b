import { assert, assertEquals } from "../../support/assert.ts";
import type { Case } from "../case.ts";
import { eventually, pause } from "../eventually.ts";
import { bareJob, SIGNALS_ALONE } from "../stage.ts";

/** Queues, wake-ups and kinds of other programs. */
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
      // It is out of the way: those behind it go on.
      const known = await older.enqueue("old", stage.act({ do: "return" }));
      await stage.until(older, known, "completed");
      // While an old program still runs it may claim the job first, and put it aside again.
      await older.stop();
      const newer = await stage.start({ kinds: both });
      const job = await stage.until(newer, id, "completed");
      assertEquals([job.attempt, job.output], [1, 1]);
      assertEquals((await newer.overview()).undeclared, 0);
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
];
