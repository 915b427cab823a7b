import { assert, assertEquals } from "../../support/assert.ts";
import type { Case } from "../case.ts";
import { pause } from "../eventually.ts";
import type { Action } from "../handlers/act.ts";
import { bareJob, SIGNALS_ALONE, type Stage } from "../stage.ts";

function completing(stage: Stage, change: Partial<Action & { do: "complete in" }>): Action {
  const { module, args } = stage.handlerTransactions;
  return { do: "complete in", module, args, end: "commit", ...change };
}

/** `ctx.completeIn(tx)`. */
export const completeInCases: readonly Case[] = [
  {
    name: "completeIn completes the job with the handler's own transaction, and keeps its output",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const id = await runtime.enqueue("k", stage.act(completing(stage, { output: { rows: 3 } })));
      const result = await runtime.wait(id, 5000);
      assertEquals(result, { done: true, state: "completed", output: { rows: 3 }, error: null });
      await pause(100);
      const job = (await runtime.get(id))!;
      assertEquals([job.state, job.run, job.attempt, job.errors], ["completed", 1, 1, []]);
    },
  },
  {
    name: "a handler that returns after completeIn while its transaction rolled back has failed that attempt",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const args = stage.act(completing(stage, { end: "rollback" }), { do: "return", value: "second" });
      const job = await stage.until(runtime, await runtime.enqueue("k", args), "completed");
      assertEquals([job.attempt, job.output, job.errors.length], [2, "second", 1]);
      assertEquals(job.errors[0]!.class, "error");
    },
  },
  {
    name: "the job runs on, as others see it, until the handler's transaction commits",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const [mark, gate] = [stage.gate("mark"), stage.gate("gate")];
      const action = completing(stage, { mark: mark.path, until: gate.path, output: 1 });
      const id = await runtime.enqueue("k", stage.act(action));
      await mark.opened();
      assertEquals((await runtime.get(id))!.state, "running");
      const other = await runtime.enqueue("k", stage.act({ do: "return" }));
      await stage.until(runtime, other, "completed", 2000);
      gate.open();
      assertEquals((await stage.until(runtime, id, "completed")).output, 1);
    },
  },
  {
    name: "a handler that throws after its completion has committed has completed its job",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const id = await runtime.enqueue("k", stage.act(completing(stage, { output: 1, thenFail: true })));
      await stage.until(runtime, id, "completed");
      await pause(200);
      const job = (await runtime.get(id))!;
      assertEquals([job.state, job.output, stage.starts(id)], ["completed", 1, 1]);
    },
  },
  {
    name: "completeIn throws FenceLostError when the job was cancelled first, which then ends cancelled",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")], settings: SIGNALS_ALONE });
      const after = stage.gate();
      const id = await runtime.enqueue("k", stage.act(completing(stage, { after: after.path })));
      await stage.untilStarted(id);
      // Only the store knows, and no heartbeat finds it: the handler must not be ended before it has tried.
      const store = await stage.store();
      assertEquals((await store.cancel(id)).result, "requested");
      after.open();
      const job = await stage.until(runtime, id, "cancelled");
      assertEquals([job.output, stage.starts(id)], [null, 1]);
      assert(job.errors.length === 0 || job.errors[0]!.message.includes("no longer the job's"));
    },
  },
  {
    name: "a cancel that comes after completeIn committed finds the job completed",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const [mark, gate] = [stage.gate("mark"), stage.gate("gate")];
      const action = completing(stage, { mark: mark.path, until: gate.path });
      const id = await runtime.enqueue("k", stage.act(action));
      await mark.opened();
      // The completion holds the row, so the cancel waits for its commit.
      const answer = runtime.cancel(id);
      await pause(100);
      gate.open();
      assertEquals(await answer, { result: "final", state: "completed" });
      await stage.until(runtime, id, "completed");
    },
  },
  {
    name: "the completion of a run that is no longer the job's takes no effect",
    async run(stage) {
      const ghost = await stage.ghost();
      const { completion } = ghost.store;
      assert(completion !== null);
      await ghost.store.insert([bareJob("k", {})]);
      const [old] = await ghost.claim(1);
      const { id, run } = old!;
      await ghost.store.settle([
        { id, run, to: "release", delayMs: 0, error: null, alone: false },
      ]);
      await ghost.claim(1);
      await stage.transaction(async ({ tx }) => {
        assertEquals((await tx.unsafe(completion.text, [id, run, "1"])).length, 0);
        assertEquals((await tx.unsafe(completion.text, [id, run + 1, "2"])).length, 1);
        assertEquals((await tx.unsafe(completion.text, [id, run + 1, "3"])).length, 0);
      });
      const job = (await ghost.store.get(id))!;
      assertEquals([job.state, job.output], ["completed", 2]);
    },
  },
];
