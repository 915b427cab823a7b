import { assert, assertEquals, assertRejects } from "../../support/assert.ts";
import { RuntimeStateError } from "../../../ports/errors.ts";
import type { Case } from "../case.ts";
import { eventually } from "../eventually.ts";
import { ownersOf } from "../stage.ts";

/** `start()` and `stop()`. */
export const stopCases: readonly Case[] = [
  {
    name: "stop within the grace waits for a running job of 300 ms, which ends completed",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const gate = stage.gate();
      const id = await runtime.enqueue("k", stage.act({ do: "hold", until: gate.path }));
      await stage.untilStarted(id);
      const stopped = runtime.stop();
      setTimeout(() => gate.open(), 300);
      await stopped;
      const store = await stage.store();
      const job = (await store.get(id))!;
      assertEquals([job.state, job.attempt, job.output], ["completed", 1, "held"]);
    },
  },
  {
    name:
      "what has not ended after the grace is aborted, and is back in line at once without a spent attempt",
    async run(stage) {
      const kinds = [stage.kind("k")];
      const runtime = await stage.start({ kinds, settings: { stopGraceMs: 200 } });
      const args = stage.act({ do: "hold", until: stage.gate().path }, { do: "return", value: "again" });
      const id = await runtime.enqueue("k", args);
      await stage.untilStarted(id);
      const asked = performance.now();
      await runtime.stop();
      assert(performance.now() - asked < 200 + 3000, `took ${performance.now() - asked} ms`);
      const abort = stage.journal().find((entry) => entry.what === "abort");
      assertEquals(abort?.note?.toLowerCase().includes("stop"), true, abort?.note);
      const store = await stage.store();
      const job = (await store.get(id))!;
      assertEquals([job.state, job.attempt, job.errors], ["pending", 0, []]);
      const next = await stage.start({ kinds });
      const done = await stage.until(next, id, "completed", 2000);
      assertEquals([done.attempt, done.output], [1, "again"]);
    },
  },
  {
    name: "stop ends within the grace and 3 s, whatever a handler does",
    needs: "canEndHandlers",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")], settings: { stopGraceMs: 200 } });
      const id = await runtime.enqueue("k", stage.act({ do: "spin" }));
      await stage.untilStarted(id);
      const asked = performance.now();
      await runtime.stop();
      assert(performance.now() - asked < 200 + 3000, `took ${performance.now() - asked} ms`);
      const store = await stage.store();
      const job = (await store.get(id))!;
      assertEquals([job.state, job.attempt, job.errors], ["pending", 0, []]);
    },
  },
  {
    name: "no job starts after stop() was called, and those that wait are free at once",
    async run(stage) {
      const runtime = await stage.start({
        kinds: [stage.kind("k")],
        queues: [{ name: "default", concurrency: 3 }],
      });
      const gate = stage.gate();
      const ids = await runtime.enqueueMany(
        Array.from({ length: 8 }, () => ({ kind: "k", args: stage.act({ do: "hold", until: gate.path }) })),
      );
      await eventually(() => stage.starts() === 3);
      const stopped = runtime.stop();
      gate.open();
      await stopped;
      assertEquals(stage.starts(), 3);
      const store = await stage.store();
      const jobs = await Promise.all(ids.map((id) => store.get(id)));
      const done = jobs.filter((job) => job!.state === "completed");
      const free = jobs.filter((job) => job!.state === "pending" && job!.attempt === 0);
      assertEquals([done.length, free.length], [3, 5]);
    },
  },
  {
    name: "stop is idempotent, also at the same time, and safe before start()",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      await Promise.all([runtime.stop(), runtime.stop()]);
      await runtime.stop();
      const never = stage.build({ kinds: [stage.kind("k")] });
      await never.stop();
      await never.stop();
    },
  },
  {
    name: "stop while start() is under way stops",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k")] });
      const started = runtime.start();
      await runtime.stop();
      await started.catch((error) => assert(error instanceof RuntimeStateError, String(error)));
      const id = await stage.build({ kinds: [stage.kind("k")] }).enqueue("k");
      const store = await stage.store();
      assertEquals((await store.get(id))!.state, "pending");
      assertEquals(await ownersOf(store), []);
    },
  },
  {
    name: "start() a second time is the same start, and after stop() it is a typed error",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k")] });
      await Promise.all([runtime.start(), runtime.start()]);
      const id = await runtime.enqueue("k", stage.act({ do: "return" }));
      await stage.until(runtime, id, "completed");
      assertEquals(stage.starts(id), 1);
      await runtime.stop();
      await assertRejects(() => runtime.start(), RuntimeStateError);
      await assertRejects(() => runtime.enqueue("k"), RuntimeStateError);
    },
  },
  {
    name: "a job enqueued while the runtime stops is stored",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const gate = stage.gate();
      const held = await runtime.enqueue("k", stage.act({ do: "hold", until: gate.path }));
      await stage.untilStarted(held);
      const stopped = runtime.stop();
      const id = await runtime.enqueue("k", stage.act({ do: "return" }));
      gate.open();
      await stopped;
      const store = await stage.store();
      assertEquals((await store.get(id))!.state, "pending");
      assertEquals(stage.starts(id), 0);
    },
  },
  {
    name: "await using stops the runtime",
    async run(stage) {
      const gate = stage.gate();
      let id = "";
      {
        await using runtime = await stage.start({ kinds: [stage.kind("k")] });
        id = await runtime.enqueue("k", stage.act({ do: "hold", until: gate.path }));
        await stage.untilStarted(id);
        gate.open();
      }
      const store = await stage.store();
      assertEquals((await store.get(id))!.state, "completed");
      assertEquals(await ownersOf(store), []);
    },
  },
];
