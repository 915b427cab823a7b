import { assert, assertEquals, assertRejects } from "../../support/assert.ts";
import { UndeclaredQueueError } from "../../../ports/errors.ts";
import type { Case } from "../case.ts";
import { eventually, pause } from "../eventually.ts";
import { SIGNALS_ALONE } from "../stage.ts";

/** Pausing and resuming queues. */
export const pauseCases: readonly Case[] = [
  {
    name: "a paused queue starts nothing in any process, others go on, and resuming it wakes them at once",
    async run(stage) {
      const parts = {
        kinds: [stage.kind("k"), stage.kind("other", { queue: "other" })],
        queues: [{ name: "default", concurrency: 2 }, { name: "other", concurrency: 1 }],
        settings: SIGNALS_ALONE,
      };
      const [one, two] = [await stage.start(parts), await stage.start(parts)];
      const asking = stage.build(parts);
      await asking.pauseQueue("default");
      await asking.pauseQueue("default");
      const ids = await one!.enqueueMany(
        Array.from({ length: 20 }, () => ({ kind: "k", args: stage.act({ do: "return" }) })),
      );
      await stage.until(two!, await two!.enqueue("other", stage.act({ do: "return" })), "completed");
      await pause(300);
      for (const id of ids) assertEquals((await asking.get(id))!.state, "pending");
      await asking.resumeQueue("default");
      for (const id of ids) assertEquals((await stage.until(one!, id, "completed")).attempt, 1);
    },
  },
  {
    name: "what runs when its queue is paused goes on, and what was claimed ahead goes back uncharged",
    async run(stage) {
      const runtime = await stage.start({
        kinds: [stage.kind("k")],
        queues: [{ name: "default", concurrency: 2 }],
        settings: { prefetchMs: 60_000, prefetchMax: 50 },
      });
      const gate = stage.gate();
      const quick = await runtime.enqueueMany(
        Array.from({ length: 20 }, () => ({ kind: "k", args: stage.act({ do: "return" }) })),
      );
      for (const id of quick) await stage.until(runtime, id, "completed");
      const ids = await runtime.enqueueMany(
        Array.from({ length: 12 }, () => ({ kind: "k", args: stage.act({ do: "hold", until: gate.path }) })),
      );
      await stage.untilStarted(ids[0]!);
      await stage.untilStarted(ids[1]!);
      await runtime.pauseQueue("default");
      await eventually(async () => (await runtime.overview()).states.pending === 10);
      gate.open();
      for (const id of ids.slice(0, 2)) await stage.until(runtime, id, "completed");
      await pause(200);
      const rest = await Promise.all(ids.slice(2).map((id) => runtime.get(id)));
      assertEquals(rest.map((job) => [job!.state, job!.attempt]), rest.map(() => ["pending", 0]));
      await runtime.resumeQueue("default");
      for (const id of ids) await stage.until(runtime, id, "completed");
    },
  },
  {
    name: "a pause outlives every process, whose successors do not begin before it is resumed",
    async run(stage) {
      const parts = { kinds: [stage.kind("k")] };
      const first = await stage.start(parts);
      await first.pauseQueue("default");
      const shown = (await first.overview()).queues.find(({ queue }) => queue === "default")!;
      assert(shown.concurrency === 5 && !Number.isNaN(Date.parse(shown.pausedAt!)), JSON.stringify(shown));
      const id = await first.enqueue("k", stage.act({ do: "return" }));
      await first.stop();
      const second = await stage.start(parts);
      await pause(300);
      assertEquals((await second.get(id))!.state, "pending");
      await second.resumeQueue("default");
      await stage.until(second, id, "completed");
      assertEquals((await second.overview()).queues.map(({ queue, pausedAt }) => [queue, pausedAt]), [
        ["default", null],
        ["maintenance", null],
      ]);
    },
  },
  {
    name: "a pause and a resume whose signals were lost are noticed with the next heartbeat",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const store = await stage.store();
      await store.pauseQueue("default");
      const id = await runtime.enqueue("k", stage.act({ do: "return" }));
      await pause(700);
      assertEquals((await runtime.get(id))!.state, "pending");
      await store.resumeQueue("default");
      await stage.until(runtime, id, "completed");
    },
  },
  {
    name: "a queue that is not declared can't be paused or resumed",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k")] });
      await assertRejects(() => runtime.pauseQueue("defualt"), UndeclaredQueueError, '"defualt"');
      await assertRejects(() => runtime.resumeQueue("defualt"), UndeclaredQueueError, '"defualt"');
    },
  },
];
