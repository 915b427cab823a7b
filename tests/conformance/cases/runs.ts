import { assert, assertEquals } from "../../support/assert.ts";
import type { Settlement } from "../../../ports/store.ts";
import type { Case } from "../case.ts";
import { bareJob } from "../stage.ts";

/** The fence: every write of a run is by (id, run). */
export const runCases: readonly Case[] = [
  {
    name: "every claim raises the job's run, which is never lowered: not by a snooze, a release or a retry",
    async run(stage) {
      const ghost = await stage.ghost();
      const [made] = await ghost.store.insert([bareJob("k", {}, { maxAttempts: 2 })]);
      const runs: number[] = [];
      for (const to of ["snooze", "release", "put aside", "retry"] as const) {
        const [claimed] = await ghost.claimAside("k", 1);
        const { id, run } = claimed!;
        runs.push(run);
        const error = to === "retry" ? { class: "error", message: "no" } as const : null;
        const settlement = { id, run, to, delayMs: 0, error, alone: false };
        const [settled] = await ghost.store.settle([settlement]);
        assertEquals(settled, to === "retry" ? "retryable" : "pending");
      }
      await ghost.store.cancel(made!.id);
      await ghost.store.retry(made!.id);
      runs.push((await ghost.claim(1))[0]!.run);
      assertEquals(runs, [1, 2, 3, 4, 5]);
    },
  },
  {
    name: "writing the end of a run again is harmless, and another end for it changes nothing",
    async run(stage) {
      const ghost = await stage.ghost();
      await ghost.store.insert([bareJob("k", {})]);
      const [claimed] = await ghost.claim(1);
      const { id, run } = claimed!;
      const end = { id, run, to: "completed", output: "1", error: null } as const;
      assertEquals(await ghost.store.settle([end]), ["completed"]);
      const before = await ghost.store.get(id);
      assertEquals(await ghost.store.settle([end]), ["fenced"]);
      const error = { class: "error", message: "no" } as const;
      const other = { id, run, to: "retry", delayMs: 0, error, alone: false } as const;
      assertEquals(await ghost.store.settle([other]), ["fenced"]);
      assertEquals(await ghost.store.get(id), before);
    },
  },
  {
    name: "the fence of a run is its id and its run, whoever writes",
    async run(stage) {
      const [one, two] = [await stage.ghost(), await stage.ghost()];
      await one!.store.insert([bareJob("k", {}), bareJob("k", {})]);
      const claimed = await one!.claim(2);
      const error = { class: "error", message: "no" } as const;
      const stale = claimed.map(({ id, run }) => ({
        id,
        run: run - 1,
        to: "retry",
        delayMs: 0,
        error,
        alone: false,
      } as const));
      assertEquals(await one!.store.settle(stale), ["fenced", "fenced"]);
      const { id, run } = claimed[0]!;
      const end = { id, run, to: "completed", output: null, error: null } as const;
      assertEquals(await two!.store.settle([end]), ["completed"]);
    },
  },
  {
    name: "what became of each run is told in the order in which the ends were handed over",
    async run(stage) {
      const ghost = await stage.ghost();
      await ghost.store.insert(Array.from({ length: 6 }, () => bareJob("k", {})));
      const claimed = await ghost.claim(6);
      await ghost.store.cancel(claimed[1]!.id);
      await ghost.store.cancel(claimed[4]!.id);
      const ends = claimed.map(({ id, run }, index): Settlement =>
        index < 3
          ? { id, run: index === 2 ? run - 1 : run, to: "completed", output: null, error: null }
          : { id, run: index === 5 ? run - 1 : run, to: "release", delayMs: 0, error: null, alone: false }
      ).reverse();
      const states = ["completed", "cancelled", "fenced", "pending", "cancelled", "fenced"];
      assertEquals((await ghost.store.settle(ends)).map(String), states.toReversed());
    },
  },
  {
    name: "a run that ends after a cancel was asked for ends cancelled, whatever end is written",
    async run(stage) {
      const ghost = await stage.ghost();
      await ghost.store.insert(Array.from({ length: 5 }, (_, n) => bareJob("k", { n })));
      const claimed = await ghost.claim(5);
      for (const { id } of claimed) await ghost.store.cancel(id);
      const error = { class: "error", message: "no" } as const;
      const ends = claimed.map(({ id, run }, index): Settlement => {
        if (index === 0) return { id, run, to: "completed", output: "1", error: null };
        if (index === 1) return { id, run, to: "discarded", output: null, error };
        const to = (["retry", "snooze", "release"] as const)[index - 2]!;
        return { id, run, to, delayMs: 0, error: to === "retry" ? error : null, alone: false };
      });
      const settled = await ghost.store.settle(ends);
      assertEquals(settled.map(String), Array.from({ length: 5 }, () => "cancelled"));
      for (const { id } of claimed) {
        const job = (await ghost.store.get(id))!;
        assertEquals([job.state, job.output, job.cancelRequested], ["cancelled", null, false]);
      }
    },
  },
  {
    name: "two claimers never get the same job",
    async run(stage) {
      const [one, two] = [await stage.ghost(), await stage.ghost()];
      await one!.store.insert(Array.from({ length: 100 }, (_, n) => bareJob("k", { n })));
      const batches = [];
      for (let round = 0; round < 10; round++) {
        batches.push(...await Promise.all([one!.claim(7), two!.claim(7)]));
      }
      const ids = batches.flat().map(({ id }) => id);
      assertEquals([ids.length, new Set(ids).size], [100, 100]);
    },
  },
  {
    name: "nextDue tells when the next job falls due that is not due yet",
    async run(stage) {
      const store = await stage.store();
      assertEquals(await store.nextDue("default"), null);
      await store.insert([bareJob("k", {})]);
      assertEquals(await store.nextDue("default"), null);
      await store.insert([bareJob("k", {}, { runAt: new Date(Date.now() + 5000).toISOString() })]);
      const inMs = (await store.nextDue("default"))!;
      assert(inMs > 3000 && inMs <= 5000, `${inMs} ms`);
      assertEquals(await store.nextDue("other"), null);
    },
  },
];
