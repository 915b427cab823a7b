import { assertEquals, assertNotEquals } from "../../support/assert.ts";
import type { Case } from "../case.ts";
import { eventually, pause } from "../eventually.ts";
import { SIGNALS_ALONE } from "../stage.ts";

/** Cancelling jobs. */
export const cancelCases: readonly Case[] = [
  {
    name: "a cancelled job never runs, also when its time comes; its neighbour does",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const runAt = new Date(Date.now() + 1000);
      const [gone, stays] = await runtime.enqueueMany([
        { kind: "k", args: stage.act({ do: "return" }), runAt },
        { kind: "k", args: stage.act({ do: "return" }), runAt },
      ]);
      assertEquals(await runtime.cancel(gone!), { result: "cancelled", state: "cancelled" });
      await stage.until(runtime, stays!, "completed");
      await pause(200);
      assertEquals([stage.starts(gone!), stage.starts(stays!)], [0, 1]);
      const job = (await runtime.get(gone!))!;
      assertEquals([job.state, job.run], ["cancelled", 0]);
      assertNotEquals(job.finishedAt, null);
    },
  },
  {
    name: "a cancel of a running job aborts its signal, and it ends cancelled and is not retried",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const id = await runtime.enqueue("k", stage.act({ do: "hold", until: stage.gate().path }));
      await stage.untilStarted(id);
      assertEquals(await runtime.cancel(id), { result: "requested", state: "running" });
      await stage.until(runtime, id, "cancelled");
      await pause(100);
      assertEquals(stage.starts(id), 1);
      const abort = stage.journal().find((entry) => entry.what === "abort");
      assertEquals(abort?.note?.toLowerCase().includes("cancel"), true, abort?.note);
    },
  },
  {
    name: "a cancelled job ends cancelled whatever its handler returns, and keeps no output",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const args = stage.act({ do: "hold", until: stage.gate().path, atSignal: "return" });
      const id = await runtime.enqueue("k", args);
      await stage.untilStarted(id);
      await runtime.cancel(id);
      assertEquals((await stage.until(runtime, id, "cancelled")).output, null);
    },
  },
  {
    name: "a running job that ignores its cancel is ended after the grace",
    needs: "canEndHandlers",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      for (
        const action of [{ do: "spin" }, {
          do: "hold",
          until: stage.gate().path,
          atSignal: "ignore",
        }] as const
      ) {
        const id = await runtime.enqueue("k", stage.act(action));
        await stage.untilStarted(id);
        await runtime.cancel(id);
        await stage.until(runtime, id, "cancelled", 3000);
      }
    },
  },
  {
    name: "a cancel of a job that has ended leaves it as it is, and says so",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const done = await runtime.enqueue("k", stage.act({ do: "return", value: 1 }));
      const before = await stage.until(runtime, done, "completed");
      assertEquals(await runtime.cancel(done), { result: "final", state: "completed" });
      assertEquals(await runtime.get(done), before);
      const dropped = await runtime.enqueue("k", stage.act({ do: "discard", reason: "no" }));
      await stage.until(runtime, dropped, "discarded");
      assertEquals(await runtime.cancel(dropped), { result: "final", state: "discarded" });
    },
  },
  {
    name: "a cancel of a job that does not exist counts as gone",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k")] });
      const open = await stage.begin();
      const id = await runtime.with(open.tx).enqueue("k");
      await open.rollback();
      assertEquals(await runtime.cancel(id), { result: "gone", state: null });
    },
  },
  {
    name: "a job that waits for its retry never runs again once it is cancelled",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k", { backoff: () => 1000 })] });
      const id = await runtime.enqueue("k", stage.act({ do: "fail" }, { do: "return" }));
      await stage.until(runtime, id, "retryable");
      assertEquals((await runtime.cancel(id)).result, "cancelled");
      await pause(1200);
      const job = (await runtime.get(id))!;
      assertEquals([job.state, job.errors.length, stage.starts(id)], ["cancelled", 1, 1]);
    },
  },
  {
    name: "a cancel reaches a job that another runtime runs",
    async run(stage) {
      const kinds = [stage.kind("k")];
      const working = await stage.start({ kinds, settings: SIGNALS_ALONE });
      const asking = stage.build({ kinds });
      const id = await asking.enqueue("k", stage.act({ do: "hold", until: stage.gate().path }));
      await stage.untilStarted(id);
      assertEquals((await asking.cancel(id)).result, "requested");
      await stage.until(working, id, "cancelled");
    },
  },
  {
    name: "a cancel whose signal was lost is found by the heartbeat",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const id = await runtime.enqueue("k", stage.act({ do: "hold", until: stage.gate().path }));
      await stage.untilStarted(id);
      const store = await stage.store();
      assertEquals((await store.cancel(id)).result, "requested");
      assertEquals((await runtime.get(id))!.cancelRequested, true);
      await stage.until(runtime, id, "cancelled", 2000);
    },
  },
  {
    name: "a second cancel of a running job changes nothing",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const gate = stage.gate();
      const args = stage.act({ do: "hold", until: gate.path, atSignal: "return" });
      const id = await runtime.enqueue("k", args);
      await stage.untilStarted(id);
      const results = await Promise.all([runtime.cancel(id), runtime.cancel(id), runtime.cancel(id)]);
      assertEquals(results.every(({ result }) => result === "requested" || result === "final"), true);
      await stage.until(runtime, id, "cancelled");
      await eventually(() => stage.journal().filter((entry) => entry.what === "abort").length === 1);
    },
  },
  {
    name:
      "a signal is a hint: a cancel, a pause or an end that nobody asked for changes nothing, however often it comes",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const store = await stage.store();
      const gate = stage.gate();
      const id = await runtime.enqueue("k", stage.act({ do: "hold", until: gate.path }));
      await stage.untilStarted(id);
      const waiting = runtime.wait(id, 10_000);
      for (let times = 0; times < 20; times++) {
        await store.signal([
          { type: "cancel", id },
          { type: "cancel", id: `${times + 1000}` },
          { type: "final", id },
          { type: "wait", id: "junk" },
          { type: "pause", queue: "default" },
          { type: "resume", queue: "nobody's" },
        ]);
        await pause(20);
      }
      const quick = await runtime.enqueue("k", stage.act({ do: "return" }));
      await stage.until(runtime, quick, "completed");
      assertEquals([(await runtime.get(id))!.run, stage.starts(id)], [1, 1]);
      assertEquals(stage.journal().some((entry) => entry.what === "abort"), false);
      gate.open();
      assertEquals((await waiting).done, true);
      assertEquals((await stage.until(runtime, id, "completed")).attempt, 1);
    },
  },
];
