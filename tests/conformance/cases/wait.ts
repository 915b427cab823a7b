import { assert, assertEquals, assertRejects } from "../../support/assert.ts";
import { InvalidOptionError } from "../../../ports/errors.ts";
import type { Case } from "../case.ts";
import { pause } from "../eventually.ts";
import { SIGNALS_ALONE } from "../stage.ts";

/** `wait(id, maxMs)`. */
export const waitCases: readonly Case[] = [
  {
    name: "wait answers not yet at its deadline, and the final state once there is one",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const gate = stage.gate();
      const id = await runtime.enqueue("k", stage.act({ do: "hold", until: gate.path }));
      const asked = performance.now();
      assertEquals(await runtime.wait(id, 200), { done: false });
      const tookMs = performance.now() - asked;
      assert(tookMs >= 195 && tookMs < 1500, `took ${tookMs} ms`);
      const answer = runtime.wait(id, 5000);
      gate.open();
      assertEquals(await answer, { done: true, state: "completed", output: "held", error: null });
    },
  },
  {
    name: "wait tells how a job ended that failed, was discarded or cancelled",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k", { maxAttempts: 1 })] });
      const failed = await runtime.wait(
        await runtime.enqueue("k", stage.act({ do: "fail", message: "oh no" })),
        5000,
      );
      assertEquals(failed, { done: true, state: "discarded", output: null, error: "oh no" });
      const runAt = new Date(Date.now() + 60_000);
      const id = await runtime.enqueue("k", {}, { runAt });
      const answer = runtime.wait(id, 5000);
      await runtime.cancel(id);
      assertEquals(await answer, { done: true, state: "cancelled", output: null, error: null });
    },
  },
  {
    name: "wait on a job that ended before resolves at once",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")], settings: { pollMs: 5000 } });
      const id = await runtime.enqueue("k", stage.act({ do: "return", value: 1 }));
      await stage.until(runtime, id, "completed");
      const asked = performance.now();
      assertEquals((await runtime.wait(id, 5000)).done, true);
      assert(performance.now() - asked < 500);
    },
  },
  {
    name: "no wait misses a job that finishes at once: 300 jobs, 50 at a time",
    async run(stage) {
      const runtime = await stage.start({
        kinds: [stage.kind("k", { handler: await stage.handler("echo") })],
        queues: [{ name: "default", concurrency: 50 }],
        settings: { pollMs: 10_000 },
      });
      for (let round = 0; round < 6; round++) {
        await Promise.all(Array.from({ length: 50 }, async (_, n) => {
          const id = await runtime.enqueue("k", { round, n });
          const asked = performance.now();
          const result = await runtime.wait(id, 4000);
          assert(result.done, `job ${id} was missed`);
          assertEquals(result.output, { round, n });
          assert(performance.now() - asked < 2000);
        }));
      }
    },
  },
  {
    name: "64 jobs are waited for at once; a wait on a 65th has its answer at once",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const runAt = new Date(Date.now() + 60_000);
      const ids = await runtime.enqueueMany(
        Array.from({ length: 65 }, (_, n) => ({ kind: "k", args: { n }, runAt })),
      );
      const waits = ids.slice(0, 64).map((id) => runtime.wait(id, 20_000));
      const asked = performance.now();
      assertEquals(await runtime.wait(ids[64]!, 5000), { done: false });
      assert(performance.now() - asked < 200, "the 65th waited");
      // One more on a job that is waited for already is none more.
      waits.push(runtime.wait(ids[0]!, 20_000));
      for (const id of ids.slice(0, 64)) await runtime.cancel(id);
      for (const result of await Promise.all(waits)) assertEquals(result.done, true);
      const again = runtime.wait(ids[64]!, 5000);
      await runtime.cancel(ids[64]!);
      assertEquals((await again).done, true);
    },
  },
  {
    name: "200 waits on one job all resolve",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const gate = stage.gate();
      const id = await runtime.enqueue("k", stage.act({ do: "hold", until: gate.path }));
      const waits = Array.from({ length: 200 }, () => runtime.wait(id, 5000));
      gate.open();
      for (const result of await Promise.all(waits)) {
        assertEquals(result, { done: true, state: "completed", output: "held", error: null });
      }
    },
  },
  {
    name: "wait resolves for a job that another runtime runs",
    async run(stage) {
      const kinds = [stage.kind("k")];
      const asking = stage.build({ kinds, settings: SIGNALS_ALONE });
      await stage.start({ kinds });
      const gate = stage.gate();
      const id = await asking.enqueue("k", stage.act({ do: "hold", until: gate.path }));
      await stage.untilStarted(id);
      const answer = asking.wait(id, 5000);
      await pause(300);
      gate.open();
      assertEquals((await answer).done, true);
    },
  },
  {
    name: "wait on a job of a transaction that rolls back ends at its deadline",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const open = await stage.begin();
      const id = await runtime.with(open.tx).enqueue("k");
      const answer = runtime.wait(id, 300);
      await open.rollback();
      assertEquals(await answer, { done: false });
    },
  },
  {
    name: "wait with 0 ms answers at once, and a negative or senseless bound is refused",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const id = await runtime.enqueue("k", {}, { runAt: new Date(Date.now() + 60_000) });
      const asked = performance.now();
      assertEquals(await runtime.wait(id, 0), { done: false });
      assert(performance.now() - asked < 500);
      for (const maxMs of [-1, NaN, "5"]) {
        await assertRejects(() => runtime.wait(id, maxMs as number), InvalidOptionError, "maxMs");
      }
    },
  },
  {
    name: "stop() answers those who wait",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const id = await runtime.enqueue("k", {}, { runAt: new Date(Date.now() + 60_000) });
      const answer = runtime.wait(id, 60_000);
      await runtime.stop();
      assertEquals(await answer, { done: false });
    },
  },
];
