import { assertEquals, assertStringIncludes } from "../../support/assert.ts";
import type { Case } from "../case.ts";
import { eventually } from "../eventually.ts";
import { bareJob } from "../stage.ts";

/** `ctx.progress(done, note?)`. */
export const progressCases: readonly Case[] = [
  {
    name: "progress is seen while the job runs: the newest call wins",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const gate = stage.gate();
      const steps = [[0.1, "begun"], [0.5, "half"], [0.75, "nearly"]] as const;
      const id = await runtime.enqueue("k", stage.act({ do: "progress", steps, until: gate.path }));
      await eventually(async () => {
        const job = (await runtime.get(id))!;
        assertEquals([job.state, job.progress], ["running", { done: 0.75, note: "nearly" }]);
        return true;
      });
      gate.open();
      await stage.until(runtime, id, "completed");
    },
  },
  {
    name: "the progress that a run told last is not lost when it ends at once",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const id = await runtime.enqueue("k", stage.act({ do: "progress", steps: [[0.2, "x"], [1]] }));
      assertEquals((await stage.until(runtime, id, "completed")).progress, { done: 1 });
    },
  },
  {
    name: "progress that is not from 0 to 1 fails the attempt, and names the value",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k", { maxAttempts: 1 })] });
      for (const done of [-0.1, 1.5]) {
        const id = await runtime.enqueue("k", stage.act({ do: "progress", steps: [[done]] }));
        const job = await stage.until(runtime, id, "discarded");
        assertStringIncludes(job.errors[0]!.message, String(done));
      }
    },
  },
  {
    name: "progress is that of the latest run: it stays while the job waits, and the next run begins without",
    async run(stage) {
      const ghost = await stage.ghost();
      await ghost.store.insert([bareJob("k", {})]);
      const [{ id, run } = { id: "", run: 0 }] = await ghost.claim(1);
      await ghost.store.progress([{ id, run, done: 0.5, note: "half" }]);
      await ghost.store.settle([
        { id, run, to: "snooze", delayMs: 0, error: null, alone: false },
      ]);
      assertEquals((await ghost.store.get(id))!.progress, { done: 0.5, note: "half" });
      const next = await eventually(async () => (await ghost.claim(1))[0]);
      assertEquals((await ghost.store.get(id))!.progress, null);
      await ghost.store.progress([{ id, run: next.run, done: 1, note: null }]);
      await ghost.store.settle([{ id, run: next.run, to: "discarded", output: null, error: null }]);
      assertEquals((await ghost.store.get(id))!.progress, { done: 1 });
      await ghost.store.retry(id);
      assertEquals((await ghost.store.get(id))!.progress, null);
    },
  },
  {
    name: "progress of a run that is no longer the job's changes nothing",
    async run(stage) {
      const ghost = await stage.ghost();
      await ghost.store.insert([bareJob("k", {})]);
      const [old] = await ghost.claim(1);
      const { id, run } = old!;
      await ghost.store.settle([
        { id, run, to: "release", delayMs: 0, error: null, alone: false },
      ]);
      const [fresh] = await ghost.claim(1);
      await ghost.store.progress([{ id, run: fresh!.run, done: 0.5, note: "fresh" }]);
      await ghost.store.progress([{ id, run, done: 0.9, note: "zombie" }]);
      assertEquals((await ghost.store.get(id))!.progress, { done: 0.5, note: "fresh" });
    },
  },
];
