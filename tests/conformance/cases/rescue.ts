import { OffTheRecordError } from "../../../ports/errors.ts";
import { assert, assertEquals, assertInstanceOf, assertRejects } from "../../support/assert.ts";
import type { Case } from "../case.ts";
import { eventually, pause } from "../eventually.ts";
import { bareJob, ownersOf } from "../stage.ts";

const LOST = { message: "the process is gone" };

/** Processes that die, freeze, or come back late. */
export const rescueCases: readonly Case[] = [
  {
    name:
      "a job that had started in a process that died has spent that attempt, and makes its next one alone",
    async run(stage) {
      const ghost = await stage.ghost();
      const [made] = await ghost.store.insert([bareJob("k", stage.act({ do: "return", value: "ok" }))]);
      await ghost.claim(1);
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const job = await stage.until(runtime, made!.id, "completed", 8000);
      assertEquals([job.attempt, job.run, job.output], [2, 2, "ok"]);
      assertEquals(job.errors.map(({ attempt, class: what }) => [attempt, what]), [[1, "worker lost"]]);
      assertEquals(job.alone, true);
    },
  },
  {
    name: "a job that was claimed but had not started in a process that died is free",
    async run(stage) {
      const ghost = await stage.ghost();
      const made = await ghost.store.insert([1, 2].map(() => bareJob("k", stage.act({ do: "return" }))));
      const claimed = await ghost.claim(2, 0);
      await ghost.store.started(ghost.id, [claimed[0]!]);
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const jobs = [];
      for (const { id } of made) jobs.push(await stage.until(runtime, id, "completed", 8000));
      const charged = jobs.find(({ id }) => id === claimed[0]!.id)!;
      const free = jobs.find(({ id }) => id === claimed[1]!.id)!;
      assertEquals([charged.attempt, charged.errors.length], [2, 1]);
      assertEquals([free.attempt, free.errors, free.alone], [1, [], false]);
    },
  },
  {
    name: "a process that is off the record can put no start on record",
    async run(stage) {
      const ghost = await stage.ghost();
      const [made] = await ghost.store.insert([bareJob("k", {})]);
      const claimed = await ghost.claim(1, 0);
      await ghost.store.rescue(ghost.id, (await ghost.beatOf(ghost.id))!, LOST);
      await assertRejects(() => ghost.store.started(ghost.id, claimed), OffTheRecordError);
      const other = await stage.ghost();
      assertEquals((await other.claim(1)).map(({ id, attempt }) => [id, attempt]), [[made!.id, 1]]);
    },
  },
  {
    name:
      "a job that dies with its process at each attempt ends discarded after its last, never tried for ever",
    async run(stage) {
      const store = await stage.store();
      const [made] = await store.insert([bareJob("bomb", {}, { maxAttempts: 3 })]);
      for (let start = 1; start <= 3; start++) {
        const ghost = await stage.ghost();
        const [claimed] = await ghost.claim(1);
        assertEquals([claimed!.attempt, claimed!.alone], [start, start > 1]);
        // A job that runs alone is not started by its claim.
        await ghost.store.started(ghost.id, [claimed!]);
        const beat = await ghost.beatOf(ghost.id);
        const rescued = await store.rescue(ghost.id, beat!, LOST);
        assertEquals([rescued.retried, rescued.discarded], start < 3 ? [[made!.id], []] : [[], [made!.id]]);
      }
      const job = (await store.get(made!.id))!;
      assertEquals([job.state, job.attempt, job.errors.length], ["discarded", 3, 3]);
      assertEquals(job.errors.every((error) => error.class === "worker lost"), true);
      assertEquals((await (await stage.ghost()).claim(1)).length, 0);
    },
  },
  {
    name: "a job that must run alone and only waited for its turn in a process that died is free",
    async run(stage) {
      const store = await stage.store();
      const [made] = await store.insert([bareJob("k", {})]);
      const first = await stage.ghost();
      await first.claim(1);
      await store.rescue(first.id, (await first.beatOf(first.id))!, LOST);
      const second = await stage.ghost();
      const [claimed] = await second.claim(1);
      assertEquals([claimed!.attempt, claimed!.alone], [2, true]);
      const rescued = await store.rescue(second.id, (await second.beatOf(second.id))!, LOST);
      assertEquals([rescued.released, rescued.retried], [[made!.id], []]);
      assertEquals((await store.get(made!.id))!.attempt, 1);
    },
  },
  {
    name: "a job that was to be cancelled when its process died ends cancelled",
    async run(stage) {
      const ghost = await stage.ghost();
      const [made] = await ghost.store.insert([bareJob("k", stage.act({ do: "return" }))]);
      await ghost.claim(1);
      await ghost.store.cancel(made!.id);
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      await stage.until(runtime, made!.id, "cancelled", 8000);
      assertEquals(stage.starts(), 0);
    },
  },
  {
    name: "nobody rescues a process that renews its heartbeat",
    async run(stage) {
      const ghost = await stage.ghost();
      const [made] = await ghost.store.insert([bareJob("k", {})]);
      await ghost.claim(1);
      await stage.start({ kinds: [stage.kind("k")], settings: { heartbeatMs: 100, lostAfterMs: 1000 } });
      // Slower than the watching processes, so that they see the same heartbeat more than once.
      for (let beats = 0; beats < 6; beats++) {
        assertEquals((await ghost.store.beat(ghost.id)).alive, true);
        await pause(350);
      }
      const job = (await ghost.store.get(made!.id))!;
      assertEquals([job.state, job.run], ["running", 1]);
    },
  },
  {
    name: "what a rescued process brings back is refused by the fence",
    async run(stage) {
      const ghost = await stage.ghost();
      const gate = stage.gate();
      const args = stage.act({ do: "hold", until: gate.path });
      const [made] = await ghost.store.insert([bareJob("k", args)]);
      const [old] = await ghost.claim(1);
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      await eventually(() => stage.starts(made!.id) === 1, 8000);
      assertEquals((await ghost.store.beat(ghost.id)).alive, false);
      const { id, run } = old!;
      const end = { id, run, to: "completed", output: '"zombie"', error: null } as const;
      assertEquals(await ghost.store.settle([end]), ["fenced"]);
      assertEquals((await runtime.get(id))!.state, "running");
      gate.open();
      const job = await stage.until(runtime, id, "completed");
      assertEquals([job.output, job.attempt, job.run], ["held", 2, 2]);
    },
  },
  {
    name: "a rescue changes nothing of a job that completed or was cancelled just before",
    async run(stage) {
      const ghost = await stage.ghost();
      const other = await stage.ghost();
      const made = await ghost.store.insert([1, 2, 3].map((n) => bareJob("k", { n })));
      const claimed = await ghost.claim(3);
      const beat = (await other.beatOf(ghost.id))!;
      const { id, run } = claimed[0]!;
      const ends = [
        { id, run, to: "completed", output: "1", error: null },
        { id: claimed[1]!.id, run: claimed[1]!.run, to: "cancelled", output: null, error: null },
      ] as const;
      await ghost.store.settle(ends);
      const before = await Promise.all([0, 1].map((n) => other.store.get(claimed[n]!.id)));
      const rescued = await other.store.rescue(ghost.id, beat, LOST);
      assertEquals([rescued.retried, rescued.complete], [[claimed[2]!.id], true]);
      assertEquals(await Promise.all([0, 1].map((n) => other.store.get(claimed[n]!.id))), before);
      assertEquals(made.length, 3);
    },
  },
  {
    name: "a rescue leaves a job alone that another process has claimed since",
    async run(stage) {
      const [dead, other] = [await stage.ghost(), await stage.ghost()];
      await dead!.store.insert([bareJob("k", {})]);
      const [old] = await dead!.claim(1);
      const { id, run } = old!;
      const release = { id, run, to: "release", delayMs: 0, error: null, alone: false } as const;
      await dead!.store.settle([release]);
      await other!.claim(1);
      const before = await other!.store.get(id);
      const beat = (await other!.beatOf(dead!.id))!;
      const rescued = await other!.store.rescue(dead!.id, beat, LOST);
      assertEquals([rescued.retried, rescued.released, rescued.complete], [[], [], true]);
      assertEquals(await other!.store.get(id), before);
    },
  },
  {
    name: "a rescue with a heartbeat that has moved on changes nothing",
    async run(stage) {
      const ghost = await stage.ghost();
      const other = await stage.ghost();
      const [made] = await ghost.store.insert([bareJob("k", {})]);
      await ghost.claim(1);
      const stale = (await other.beatOf(ghost.id))!;
      await ghost.store.beat(ghost.id);
      const rescued = await other.store.rescue(ghost.id, stale, LOST);
      assertEquals([rescued.retried, rescued.discarded, rescued.released], [[], [], []]);
      assertEquals((await other.store.get(made!.id))!.state, "running");
      assertEquals((await ghost.store.beat(ghost.id)).alive, true);
    },
  },
  {
    name: "of two rescuers one rescues each job, and the other changes nothing",
    async run(stage) {
      const ghost = await stage.ghost();
      const made = await ghost.store.insert(Array.from({ length: 30 }, (_, n) => bareJob("k", { n })));
      await ghost.claim(30);
      const [one, two] = [await stage.ghost(), await stage.ghost()];
      const beat = (await one!.beatOf(ghost.id))!;
      const rescues = await Promise.all([one, two].map((by) => by!.store.rescue(ghost.id, beat, LOST)));
      const retried = rescues.flatMap((rescue) => rescue.retried);
      // A second call finds jobs that one rescuer skipped because the other held them.
      if (!rescues.some(({ complete }) => complete)) {
        retried.push(...(await one!.store.rescue(ghost.id, beat, LOST)).retried);
      }
      assertEquals(retried.toSorted(), made.map(({ id }) => id).toSorted());
      for (const { id } of made) {
        const job = (await one!.store.get(id))!;
        assertEquals([job.state, job.attempt, job.errors.length], ["retryable", 1, 1]);
      }
    },
  },
  {
    name: "one locked row holds up the rescue of no other",
    async run(stage) {
      const ghost = await stage.ghost();
      const made = await ghost.store.insert(Array.from({ length: 5 }, (_, n) => bareJob("k", { n })));
      await ghost.claim(5);
      const other = await stage.ghost();
      const beat = (await other.beatOf(ghost.id))!;
      const open = await stage.begin();
      await other.store.cancel(made[2]!.id, open.tx);
      const first = await other.store.rescue(ghost.id, beat, LOST);
      assertEquals([first.retried.length, first.complete], [4, false]);
      await open.commit();
      const second = await other.store.rescue(ghost.id, beat, LOST);
      assertEquals([second.cancelled, second.complete], [[made[2]!.id], true]);
    },
  },
  {
    name: "a process whose rescue has begun gets and starts nothing more, though some of its jobs are left",
    async run(stage) {
      const ghost = await stage.ghost();
      await ghost.store.insert([1, 2].map((n) => bareJob("k", { n })));
      const [started, held] = await ghost.claim(2, 1);
      const other = await stage.ghost();
      const beat = (await other.beatOf(ghost.id))!;
      const open = await stage.begin();
      await other.store.cancel(held!.id, open.tx);
      const first = await other.store.rescue(ghost.id, beat, LOST);
      const { alive } = await ghost.store.beat(ghost.id);
      const taken = await ghost.claim(1);
      const marked = await ghost.store.started(ghost.id, [held!]).catch((error) => error);
      await open.rollback();
      assertEquals([first.retried, first.complete, alive], [[started!.id], false, false]);
      // A job that it took now would be rescued too, and charged for a second start.
      assertEquals(taken, []);
      assertInstanceOf(marked, OffTheRecordError);
      const second = await other.store.rescue(ghost.id, (await other.beatOf(ghost.id))!, LOST);
      assertEquals([second.released, second.complete], [[held!.id], true]);
      const [next] = await other.claim(1);
      assertEquals([next!.id, next!.attempt], [started!.id, 2]);
    },
  },
  {
    name: "a runtime that was taken for dead goes on under a new name, and its old runs are fenced off",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const gate = stage.gate();
      const id = await runtime.enqueue("k", stage.act({ do: "hold", until: gate.path, atSignal: "return" }));
      await stage.untilStarted(id);
      const store = await stage.store();
      const alive = await ownersOf(store);
      assertEquals(alive.length, 1);
      // The job's state can't tell: it may run again at once.
      await eventually(async () => {
        const owner = (await ownersOf(store)).find((each) => each.id === alive[0]!.id);
        if (owner === undefined) return true;
        await store.rescue(owner.id, owner.beat, LOST);
        return false;
      });
      const abort = await eventually(() => stage.journal().find((entry) => entry.what === "abort"));
      assert(abort.note?.includes("taken for dead"), abort.note);
      gate.open();
      const job = await stage.until(runtime, id, "completed", 8000);
      assertEquals([job.attempt, job.run, job.errors[0]!.class], [2, 2, "worker lost"]);
      const owners = await ownersOf(store);
      assert(owners.length === 1 && owners[0]!.id !== alive[0]!.id);
      const next = await runtime.enqueue("k", stage.act({ do: "return" }));
      await stage.until(runtime, next, "completed");
    },
  },
];
