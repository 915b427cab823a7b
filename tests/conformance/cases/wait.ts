import { assert, assertEquals, assertRejects } from "../../support/assert.ts";
import { InvalidOptionError } from "../../../ports/errors.ts";
import type { Case } from "../case.ts";
import { eventually, pause } from "../eventually.ts";
import { SIGNALS_ALONE } from "../stage.ts";

/**
 * Transactions of others on the same server may stay open for a while. This limit is long so that none of them fails a
 * case.
 */
const GONE_MS = 60_000;

/** `wait(id, maxMs, options)`. */
export const waitCases: readonly Case[] = [
  {
    name: "wait answers not yet at its deadline, and the final state once there is one",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const gate = stage.gate();
      const id = await runtime.enqueue("k", stage.act({ do: "hold", until: gate.path }));
      const asked = performance.now();
      assertEquals(await runtime.wait(id, 200), { done: false, reason: "timeout" });
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
    name: "300 jobs are waited for at once, and none holds up another",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const runAt = new Date(Date.now() + 60_000);
      const ids = await runtime.enqueueMany(
        Array.from({ length: 300 }, (_, n) => ({ kind: "k", args: { n }, runAt })),
      );
      const waits = ids.map((id) => runtime.wait(id, 20_000));
      const last = await runtime.enqueue("k", stage.act({ do: "return", value: "last" }));
      const result = await runtime.wait(last, 5000);
      assertEquals(result, { done: true, state: "completed", output: "last", error: null });
      const store = await stage.store();
      await Promise.all(ids.map((id) => store.cancel(id)));
      for (const one of await Promise.all(waits)) assertEquals(one.done && one.state, "cancelled");
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
    name:
      "wait on a job of an open transaction goes on until that has ended: then the job has its answer, or is gone",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      for (const end of ["commit", "rollback"] as const) {
        const open = await stage.begin();
        const id = await runtime.with(open.tx).enqueue("k", stage.act({ do: "return", value: end }));
        const answer = runtime.wait(id, GONE_MS);
        // The transaction ends before anything is asserted: while open, it would hold locks that keep the case from
        // ending.
        const meanwhile = await runtime.wait(id, 150);
        await open[end]();
        assertEquals(meanwhile, { done: false, reason: "timeout" });
        const expected = end === "commit"
          ? { done: true, state: "completed", output: "commit", error: null }
          : { done: false, reason: "gone" };
        assertEquals<unknown>(await answer, expected);
      }
    },
  },
  {
    name: "wait says that a job is gone: purged, never there, or of an id that none can have",
    async run(stage) {
      const settings = { retentionCompletedMs: 0, purgeMs: 50, pollMs: 5000 };
      const runtime = await stage.start({ kinds: [stage.kind("k")], settings });
      const purged = await runtime.enqueue("k", stage.act({ do: "return" }));
      await eventually(async () => await runtime.get(purged) === null);
      for (const id of [purged, "999999999999", "99999999999999999999999", "no id", ""]) {
        assertEquals(await runtime.wait(id, GONE_MS), { done: false, reason: "gone" }, id);
      }
    },
  },
  {
    name: "a signal ends a wait, which rejects with its reason, and no other wait on the job",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const id = await runtime.enqueue("k", {}, { runAt: new Date(Date.now() + 60_000) });
      const controller = new AbortController();
      const [one, other] = [
        runtime.wait(id, 60_000, { signal: controller.signal }),
        runtime.wait(id, 60_000),
      ];
      const reason = new Error("the caller has left");
      controller.abort(reason);
      assertEquals(await one.catch((error) => error), reason);
      assertEquals(await runtime.wait(id, 0, { signal: controller.signal }).catch((error) => error), reason);
      await runtime.cancel(id);
      assertEquals((await other).done, true);
      for (const options of [{ signal: "soon" }, { sginal: controller.signal }]) {
        await assertRejects(() => runtime.wait(id, 0, options as never), InvalidOptionError);
      }
    },
  },
  {
    name: "wait with 0 ms answers at once, and a negative or senseless bound is refused",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const id = await runtime.enqueue("k", {}, { runAt: new Date(Date.now() + 60_000) });
      const asked = performance.now();
      assertEquals(await runtime.wait(id, 0), { done: false, reason: "timeout" });
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
      assertEquals(await answer, { done: false, reason: "stopped" });
    },
  },
];
