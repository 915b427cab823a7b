import { InvalidOptionError, UniqueConflictError } from "../../../ports/errors.ts";
import type { JobId } from "../../../ports/job.ts";
import type { Jobs } from "../../../ports/jobs.ts";
import type { Json } from "../../../ports/json.ts";
import { type DebounceRule, type KeyRule, MissingKeyMemberError } from "../../../ports/key_rule.ts";
import type { Kind } from "../../../ports/kind.ts";
import type { DeclaredKind } from "../../../ports/store.ts";
import { keyRuleOf } from "../../../shared/key_rule.ts";
import { assert, assertEquals, assertNotEquals, assertRejects } from "../../support/assert.ts";
import type { Case } from "../case.ts";
import { eventually, pause } from "../eventually.ts";
import { bareJob, type Stage } from "../stage.ts";

const BY_TAG: Partial<Kind> = { unique: { by: ["tag"] } };
const HOUR_MS = 3_600_000;
const FAR: DebounceRule = { by: ["tag"], quietMs: HOUR_MS, atMostMs: 2 * HOUR_MS };

const queueOf = (name: string) => ({ name, concurrency: 5 });
/** Timing under which dead processes are noticed quickly. */
const BRISK = { heartbeatMs: 100, lostAfterMs: 300 };

const inAnHour = () => new Date(Date.now() + HOUR_MS);

/** All ways to enqueue one job. */
function waysOf(
  stage: Stage,
  jobs: Jobs,
  kind: string = "k",
): Readonly<Record<string, (args: Json) => Promise<string>>> {
  return {
    single: (args) => jobs.enqueue(kind, args),
    offer: async (args) => (await jobs.offer(kind, args)).id,
    batch: async (args) => (await jobs.enqueueMany([{ kind: kind, args }]))[0]!,
    transaction: (args) => stage.transaction(({ tx }) => jobs.with(tx).enqueue(kind, args)),
    "batch in a transaction": (args) =>
      stage.transaction(async ({ tx }) => (await jobs.with(tx).enqueueMany([{ kind: kind, args }]))[0]!),
  };
}

/** The rules for twins that kinds declare, `unique` and `debounce`; and `offer`. */
export const twinCases: readonly Case[] = [
  {
    name: "offer tells the id, and whether the job was added",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k")] });
      const first = await runtime.offer("k", { n: 1 });
      assertEquals(first.added, true);
      assertEquals((await runtime.get(first.id))!.args, { n: 1 });
      const unique = { uniqueByArgs: true };
      const keyed = await runtime.offer("k", { n: 1 }, unique);
      assertEquals(keyed.added, true);
      assertEquals(await runtime.offer("k", { n: 1 }, unique), { id: keyed.id, added: false });
      await stage.transaction(async ({ tx }) => {
        assertEquals(await runtime.with(tx).offer("k", { n: 1 }, unique), { id: keyed.id, added: false });
        assertEquals((await runtime.with(tx).offer("k", { n: 2 }, unique)).added, true);
        assertEquals((await runtime.with(tx).offer("k")).added, true);
      });
    },
  },
  {
    name: "twins are jobs with the same values at the paths of `by`, however they are enqueued",
    async run(stage) {
      const runtime = stage.build({
        kinds: [stage.kind("k", { unique: { by: ["order.id", "line"] } }), stage.kind("l", BY_TAG)],
      });
      const id = await runtime.enqueue("k", { order: { id: 7, at: 1 }, line: null });
      for (const [way, enqueue] of Object.entries(waysOf(stage, runtime))) {
        assertEquals(await enqueue({ line: null, order: { at: 2, id: 7 }, more: way }), id, way);
      }
      assertEquals((await runtime.get(id))!.args, { order: { id: 7, at: 1 }, line: null });
      const others = await runtime.enqueueMany([
        { kind: "k", args: { order: { id: "7" }, line: null } },
        { kind: "k", args: { order: { id: 7 }, line: 1 } },
        { kind: "k", args: { order: { id: [7, { a: 1, b: 2 }] }, line: null } },
        { kind: "k", args: { order: { id: [7, { b: 2, a: 1 }] }, line: null } },
        { kind: "l", args: { tag: "a" } },
        { kind: "l", args: { tag: "a", order: { id: 7 }, line: null } },
      ]);
      assertEquals(others[2], others[3]);
      assertEquals(others[4], others[5]);
      assertEquals(new Set([id, ...others]).size, 5);
      assertEquals((await runtime.list()).length, 5);
    },
  },
  {
    name: "without `by` twins have the same args, and with an empty one all jobs of the kind are twins",
    async run(stage) {
      const runtime = stage.build({
        kinds: [stage.kind("all", { unique: {} }), stage.kind("one", { unique: { by: [] } })],
      });
      const all = await runtime.enqueue("all", { a: 1, b: 2 });
      assertEquals(await runtime.enqueue("all", { b: 2, a: 1 }), all);
      assertNotEquals(await runtime.enqueue("all", { a: 1 }), all);
      const one = await runtime.enqueue("one", { a: 1 });
      assertEquals(await runtime.enqueue("one", "whatever"), one);
    },
  },
  {
    name: "args that lack a path of `by` are a typed error, and nothing is stored",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k", { unique: { by: ["a", "b.c"] } })] });
      const { tx, rollback } = await stage.begin();
      const lacking: [Json | undefined, string][] = [
        [undefined, "a"],
        [null, "a"],
        ["text", "a"],
        [[1], "a"],
        [{ b: { c: 1 } }, "a"],
        [{ a: 1 }, "b.c"],
        [{ a: 1, b: [{ c: 1 }] }, "b.c"],
        [{ a: 1, "b.c": 1 }, "b.c"],
      ];
      for (const [args, path] of lacking) {
        for (const jobs of [runtime, runtime.with(tx)]) {
          const calls = [
            () => jobs.enqueue("k", args),
            () => jobs.offer("k", args),
            () =>
              jobs.enqueueMany([
                { kind: "k", args: { a: 1, b: { c: 1 } } },
                { kind: "k", ...(args === undefined ? {} : { args }) },
              ]),
          ];
          for (const call of calls) {
            const error = await assertRejects(call, MissingKeyMemberError);
            assertEquals([error.kind, error.path], ["k", path]);
          }
        }
      }
      await rollback();
      assertEquals(await runtime.list(), []);
    },
  },
  {
    name: "by default a job keeps twins out while it waits, and what comes while it runs is a job of its own",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k", BY_TAG)] });
      const gate = stage.gate();
      const running = await runtime.enqueue("k", stage.tagged("a", { do: "hold", until: gate.path }));
      await stage.untilStarted(running);
      await runtime.pauseQueue("default");
      const next = await runtime.offer("k", stage.tagged("a", { do: "return", value: "next" }));
      assert(next.added && next.id !== running);
      assertEquals(await runtime.offer("k", stage.tagged("a")), { id: next.id, added: false });
      gate.open();
      await stage.until(runtime, running, "completed");
      assertEquals(await runtime.offer("k", stage.tagged("a")), { id: next.id, added: false });
      await runtime.resumeQueue("default");
      assertEquals((await stage.until(runtime, next.id, "completed")).output, "next");
      assertEquals((await runtime.offer("k", stage.tagged("a", { do: "return" }))).added, true);
    },
  },
  {
    name: "a job that waits for its retry keeps twins out, and is not moved forward",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k", { ...BY_TAG, backoff: () => 60_000 })] });
      const { id } = await runtime.offer("k", stage.tagged("a", { do: "fail" }));
      const { scheduledAt } = await stage.until(runtime, id, "retryable");
      assertEquals(await runtime.offer("k", stage.tagged("a")), { id, added: false });
      assertEquals((await runtime.get(id))!.scheduledAt, scheduledAt);
    },
  },
  {
    name: "`while` with running keeps twins out until the run ends",
    async run(stage) {
      const unique = { by: ["tag"], while: ["pending", "retryable", "running"] } as const;
      const runtime = await stage.start({ kinds: [stage.kind("k", { unique })] });
      const gate = stage.gate();
      const id = await runtime.enqueue("k", stage.tagged("a", { do: "hold", until: gate.path }));
      await stage.untilStarted(id);
      assertEquals(await runtime.offer("k", stage.tagged("a")), { id, added: false });
      gate.open();
      await stage.until(runtime, id, "completed");
      assertEquals((await runtime.offer("k", stage.tagged("a", { do: "return" }))).added, true);
    },
  },
  {
    name: "`while` with completed keeps twins out for as long as the job is kept",
    async run(stage) {
      const unique = { by: ["tag"], while: ["pending", "completed"] } as const;
      const kinds = [stage.kind("k", { unique })];
      const runtime = await stage.start({ kinds });
      const args = stage.tagged("a", { do: "return" });
      const { id } = await runtime.offer("k", args);
      await stage.until(runtime, id, "completed");
      assertEquals(await runtime.offer("k", args), { id, added: false });
      await runtime.stop();
      const purging = await stage.start({ kinds, settings: { retentionCompletedMs: 0, purgeMs: 50 } });
      await eventually(async () => await purging.get(id) === null);
      assertEquals((await purging.offer("k", args)).added, true);
    },
  },
  {
    name: "`within` keeps twins out while a job lives, and for so long after it has completed",
    async run(stage) {
      const withinMs = 600;
      const unique = { by: ["tag"], within: withinMs };
      const runtime = await stage.start({ kinds: [stage.kind("k", { unique })] });
      const gate = stage.gate();
      const { id } = await runtime.offer("k", stage.tagged("a", { do: "hold", until: gate.path }));
      await stage.untilStarted(id);
      assertEquals(await runtime.offer("k", stage.tagged("a")), { id, added: false });
      gate.open();
      const { finishedAt } = await stage.until(runtime, id, "completed");
      assertEquals(await runtime.offer("k", stage.tagged("a")), { id, added: false });
      const again = await eventually(async () => {
        const offered = await runtime.offer("k", stage.tagged("a", { do: "return" }));
        assert(offered.added);
        return offered.id;
      });
      const { enqueuedAt } = (await runtime.get(again))!;
      assert(Date.parse(enqueuedAt) - Date.parse(finishedAt!) >= withinMs, `${finishedAt} ${enqueuedAt}`);
    },
  },
  {
    name: "an earlier due time moves a job forward that waits, and a later one leaves it",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k", BY_TAG), stage.kind("plain")] });
      for (const [kind, options] of [["k", {}], ["plain", { uniqueByArgs: true }]] as const) {
        for (const isMany of [false, true]) {
          const args = stage.tagged(`${kind} ${isMany}`, { do: "return" });
          const offer = async (runAt?: Date) => {
            const request = { kind, args, ...options, ...(runAt === undefined ? {} : { runAt }) };
            if (isMany) return (await runtime.enqueueMany([request]))[0]!;
            const { kind: _kind, args: _args, ...rest } = request;
            return await runtime.enqueue(kind, args, rest);
          };
          const tomorrow = new Date(Date.now() + 24 * HOUR_MS);
          const id = await offer(tomorrow);
          const soon = inAnHour();
          assertEquals([await offer(soon), await offer(tomorrow)], [id, id]);
          assertEquals(Date.parse((await runtime.get(id))!.scheduledAt), soon.getTime());
          assertEquals(await offer(), id);
          assertEquals(stage.starts(id) <= 1, true);
          await stage.until(runtime, id, "completed");
        }
      }
    },
  },
  {
    name: "twins of one enqueueMany are one job, due when the first of them is",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k", BY_TAG), stage.kind("plain")] });
      const soon = inAnHour();
      const later = new Date(soon.getTime() + HOUR_MS);
      for (const [kind, options] of [["k", {}], ["plain", { uniqueByArgs: true }]] as const) {
        const ids = await runtime.enqueueMany([later, soon, later].map((runAt) => ({
          kind,
          args: { tag: "a" },
          runAt,
          ...options,
        })));
        assertEquals(new Set(ids).size, 1);
        assertEquals(Date.parse((await runtime.get(ids[0]!))!.scheduledAt), soon.getTime());
      }
    },
  },
  {
    name: "any number of concurrent enqueuers of one key make one job, whatever its rule is",
    async run(stage) {
      for (const [name, change] of Object.entries({ unique: BY_TAG, debounced: { debounce: FAR } })) {
        const kinds = [stage.kind("k", change)];
        const runtimes = [stage.build({ kinds }), stage.build({ kinds })];
        const ways = runtimes.flatMap((runtime) => Object.values(waysOf(stage, runtime)));
        const enqueueAll = (tag: string) =>
          Promise.all(Array.from({ length: 50 }, (_, n) => ways[n % ways.length]!({ tag, n })));
        assertEquals(new Set(await enqueueAll(name)).size, 1);
        // And when there is a holder that doesn't keep them out.
        const [ended] = await runtimes[0]!.list();
        await runtimes[0]!.cancel(ended!.id);
        const [next, ...others] = new Set(await enqueueAll(name));
        assertEquals(others, []);
        assertNotEquals(next, ended!.id);
        await runtimes[0]!.cancel(next!);
      }
    },
  },
  {
    name: "while a job runs, any number of concurrent enqueuers of its key add one",
    async run(stage) {
      const kinds = [stage.kind("k", BY_TAG)];
      const runtimes = [await stage.start({ kinds }), stage.build({ kinds })];
      const gate = stage.gate();
      const running = await runtimes[0]!.enqueue("k", stage.tagged("a", { do: "hold", until: gate.path }));
      await stage.untilStarted(running);
      await runtimes[0]!.pauseQueue("default");
      const ids = await Promise.all(
        Array.from({ length: 50 }, (_, n) => runtimes[n % 2]!.enqueue("k", stage.tagged("a"))),
      );
      assertEquals(new Set(ids).size, 1);
      assertNotEquals(ids[0], running);
      gate.open();
      await stage.until(runtimes[0]!, running, "completed");
    },
  },
  {
    name: "enqueueMany calls with the same keys in other orders all succeed where twins wait",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k", { debounce: FAR })] });
      const tags = Array.from({ length: 20 }, (_, n) => String(n));
      const many = (order: string[], n: number) =>
        runtime.enqueueMany(order.map((tag) => ({ kind: "k", args: { tag, n } })));
      const first = await many(tags, 0);
      const answers = await Promise.all(
        Array.from({ length: 6 }, (_, n) => many(n % 2 === 0 ? tags : tags.toReversed(), n)),
      );
      for (const [n, ids] of answers.entries()) assertEquals(n % 2 === 0 ? ids : ids.toReversed(), first);
      assertEquals((await runtime.list()).length, 20);
    },
  },
  {
    name: "a job that has kept a twin out is not started before the twin's transaction ends",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k", BY_TAG)] });
      await runtime.pauseQueue("default");
      const args = stage.tagged("a", { do: "return" });
      const id = await runtime.enqueue("k", args);
      const [one, other] = [await stage.begin(), await stage.begin()];
      // Neither waits for the other, and nobody waits for them.
      assertEquals(await runtime.with(one.tx).offer("k", args), { id, added: false });
      assertEquals(await runtime.with(other.tx).offer("k", args), { id, added: false });
      assertEquals(await runtime.offer("k", args), { id, added: false });
      await runtime.resumeQueue("default");
      const behind = await runtime.enqueue("k", stage.tagged("b", { do: "return" }));
      await stage.until(runtime, behind, "completed");
      await one.commit();
      await pause(150);
      const startedBefore = stage.starts(id);
      await other.rollback();
      assertEquals(startedBefore, 0);
      await stage.until(runtime, id, "completed");
    },
  },
  {
    name: "a transaction that rolls back leaves the args and the due time of a job as they were",
    async run(stage) {
      const runtime = stage.build({
        kinds: [stage.kind("k", { debounce: FAR }), stage.kind("moved", BY_TAG)],
      });
      const debounced = await runtime.enqueue("k", { tag: "a", n: 1 });
      const moved = await runtime.enqueue("moved", { tag: "a" }, { runAt: inAnHour() });
      const before = [await runtime.get(debounced), await runtime.get(moved)];
      const open = await stage.begin();
      const jobs = runtime.with(open.tx);
      assertEquals(await jobs.enqueue("k", { tag: "a", n: 2 }), debounced);
      assertEquals(await jobs.enqueue("moved", { tag: "a" }), moved);
      await open.rollback();
      assertEquals([await runtime.get(debounced), await runtime.get(moved)], before);
      await stage.transaction(async ({ tx }) => {
        await runtime.with(tx).enqueue("k", { tag: "a", n: 3 });
      });
      assertEquals((await runtime.get(debounced))!.args, { tag: "a", n: 3 });
    },
  },
  {
    name: "a debounced job has the args of the latest call and is due when the calls have paused",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k", { debounce: { ...FAR, quietMs: HOUR_MS } })] });
      const first = await runtime.offer("k", { tag: "a", n: 0 });
      assertEquals(first.added, true);
      const { scheduledAt, enqueuedAt } = (await runtime.get(first.id))!;
      assert(Math.abs(Date.parse(scheduledAt) - Date.parse(enqueuedAt) - HOUR_MS) < 1000);
      let due = scheduledAt;
      for (const [way, enqueue] of Object.entries(waysOf(stage, runtime))) {
        await pause(2);
        assertEquals(await enqueue({ tag: "a", way }), first.id);
        const job = (await runtime.get(first.id))!;
        assertEquals(job.args, { tag: "a", way });
        assert(job.scheduledAt > due, `${way}: ${job.scheduledAt} is not after ${due}`);
        due = job.scheduledAt;
      }
      const many = await runtime.enqueueMany([1, 2, 3].map((n) => ({ kind: "k", args: { tag: "b", n } })));
      assertEquals(new Set(many).size, 1);
      assertEquals((await runtime.get(many[0]!))!.args, { tag: "b", n: 3 });
      assertEquals((await runtime.list()).length, 2);
    },
  },
  {
    name: "a debounced job is due at the latest `atMostMs` after the first call",
    async run(stage) {
      const debounce = { by: ["tag"], quietMs: HOUR_MS, atMostMs: HOUR_MS };
      const runtime = stage.build({ kinds: [stage.kind("k", { debounce })] });
      const id = await runtime.enqueue("k", { tag: "a", n: 1 });
      const { enqueuedAt } = (await runtime.get(id))!;
      await pause(20);
      assertEquals(await runtime.enqueue("k", { tag: "a", n: 2 }), id);
      const { scheduledAt } = (await runtime.get(id))!;
      const afterMs = Date.parse(scheduledAt) - Date.parse(enqueuedAt);
      assert(Math.abs(afterMs - HOUR_MS) <= 5, `${afterMs}`);
    },
  },
  {
    name: "a debounced job runs once after a burst, and what comes while it runs waits its own time",
    async run(stage) {
      const debounce = { by: ["tag"], quietMs: 150, atMostMs: 5000 };
      const runtime = await stage.start({ kinds: [stage.kind("k", { debounce })] });
      const gate = stage.gate();
      const ids = new Set<string>();
      for (let n = 0; n < 5; n++) {
        const act = n < 4 ? { do: "fail" } as const : { do: "hold", until: gate.path } as const;
        ids.add(await runtime.enqueue("k", stage.tagged("a", act)));
      }
      const [id] = ids;
      assertEquals(ids.size, 1);
      await stage.untilStarted(id!);
      const next = await runtime.offer("k", stage.tagged("a", { do: "return", value: 2 }));
      assertEquals(next.added, true);
      gate.open();
      assertEquals((await stage.until(runtime, next.id, "completed")).output, 2);
      await stage.until(runtime, id!, "completed");
      assertEquals(stage.starts(), 2);
    },
  },
  {
    name: "a debounced kind sets the due time itself: `runAt` is refused",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k", { debounce: FAR })] });
      const runAt = new Date();
      const error = await assertRejects(
        () => runtime.enqueue("k", { tag: "a" }, { runAt }),
        InvalidOptionError,
      );
      assertEquals(error.option, "runAt");
      await assertRejects(
        () => runtime.enqueueMany([{ kind: "k", args: { tag: "a" }, runAt }]),
        InvalidOptionError,
      );
      assertEquals(await runtime.list(), []);
    },
  },
  {
    name: "a job that fails while a newer twin waits makes room for it, and says so",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k", BY_TAG)] });
      const gate = stage.gate();
      const failing = await runtime.enqueue("k", stage.tagged("a", { do: "hold", until: gate.path }));
      await stage.untilStarted(failing);
      await runtime.pauseQueue("default");
      const next = await runtime.enqueue("k", stage.tagged("a", { do: "return" }));
      const ghost = await stage.ghost();
      // The current run fails.
      const { run } = (await runtime.get(failing))!;
      const error = { class: "error", message: "no" } as const;
      assertEquals(
        await ghost.store.settle([
          { id: failing, run, to: "retry", delayMs: 0, error, alone: false },
        ]),
        ["cancelled"],
      );
      const job = (await runtime.get(failing))!;
      assertEquals(job.errors.map((each) => each.class), ["error", "superseded"]);
      assert(job.errors[1]!.message.includes(next), job.errors[1]!.message);
      gate.open();
      await runtime.resumeQueue("default");
      await stage.until(runtime, next, "completed");
      assertEquals((await runtime.get(failing))!.state, "cancelled");
    },
  },
  {
    name: "a job that goes back in line after its newer twin has ended keeps out what comes then",
    async run(stage) {
      for (const end of ["completed", "discarded"] as const) {
        const kind = stage.kind(end, BY_TAG);
        const runtime = stage.build({ kinds: [kind] });
        const ghost = await stage.ghost();
        const args = { tag: "a" };
        const older = await runtime.enqueue(end, args);
        const [run] = await ghost.claim(1, 1);
        const newer = await runtime.enqueue(end, args);
        assertNotEquals(newer, older);
        const [other] = await ghost.claim(1, 1);
        const ended = { id: other!.id, run: other!.run, to: end, output: null, error: null };
        const released = {
          id: older,
          run: run!.run,
          to: "release",
          delayMs: 0,
          error: null,
          alone: false,
        } as const;
        assertEquals(await ghost.store.settle([ended]), [end]);
        assertEquals(await ghost.store.settle([released]), ["pending"]);
        assertEquals(await runtime.offer(end, args), { id: older, added: false });
        const again = await ghost.claim(2, 2);
        assertEquals(again.map(({ id }) => id), [older]);
        await ghost.store.settle([{ ...ended, id: older, run: again[0]!.run }]);
      }
    },
  },
  {
    name: "a job in a queue that nobody works any more comes to the queue of a twin that somebody works",
    async run(stage) {
      for (const key of [BY_TAG, {}]) {
        const options = key === BY_TAG ? {} : { uniqueByArgs: true };
        const kind = stage.kind(key === BY_TAG ? "ruled" : "k", key);
        const runtime = stage.build({ kinds: [kind], queues: ["default", "old"].map(queueOf) });
        const request = { kind: kind.name, args: stage.tagged("a", { do: "return" }), ...options };
        const [id] = await runtime.enqueueMany([{ ...request, queue: "old" }]);
        // While nobody works either queue, the job stays where it is.
        assertEquals(await runtime.enqueueMany([request]), [id]);
        assertEquals((await runtime.get(id!))!.queue, "old");
        const worker = await stage.start({ kinds: [kind], queues: [queueOf("default")] });
        assertEquals(await worker.offer(request.kind, request.args, options), { id, added: false });
        await stage.until(runtime, id!, "completed");
        assertEquals((await runtime.get(id!))!.queue, "default");
        await worker.stop();
      }
    },
  },
  {
    name: "a twin that was to wait for long takes the due time of the job that makes room for it",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k", BY_TAG)] });
      const ghost = await stage.ghost();
      const tags = ["failed", "snoozed", "released", "lost"];
      const ids: string[] = [];
      for (const tag of tags) ids.push(await runtime.enqueue("k", { tag }));
      const claimed = await ghost.claim(4, 4);
      assertEquals(claimed.map(({ id }) => id), ids);
      const request = (tag: string) => ({ kind: "k", args: { tag }, runAt: inAnHour() });
      const twins = await runtime.enqueueMany(tags.map(request));
      const [failed, snoozed, released] = claimed;
      const error = { class: "error", message: "no" } as const;
      const back = { delayMs: 0, error: null, alone: false };
      const before = Date.now();
      const settled = await ghost.store.settle([
        { ...back, id: failed!.id, run: failed!.run, to: "retry", delayMs: 60_000, error },
        { ...back, id: snoozed!.id, run: snoozed!.run, to: "snooze", delayMs: 60_000 },
        { ...back, id: released!.id, run: released!.run, to: "release" },
      ]);
      assertEquals(settled, ["cancelled", "cancelled", "cancelled"]);
      const { store } = ghost;
      const rescued = await store.rescue(ghost.id, (await ghost.beatOf(ghost.id))!, { message: "lost" });
      assertEquals(rescued.cancelled, [ids[3]!]);
      const inMs = await Promise.all(twins.map(async (id) => {
        return Date.parse((await runtime.get(id))!.scheduledAt) - before;
      }));
      // The clock is the store's, which may be on another machine.
      const isNear = (ms: number, expected: number) => Math.abs(ms - expected) < 30_000;
      assert(isNear(inMs[0]!, 60_000) && isNear(inMs[1]!, 60_000), inMs.join());
      assert(isNear(inMs[2]!, 0) && isNear(inMs[3]!, 0), inMs.join());
    },
  },
  {
    name: "a job of a lost process makes room for a newer twin that waits",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k", BY_TAG)] });
      const ghost = await stage.ghost();
      const ids = await runtime.enqueueMany(["a", "b", "c"].map((tag) => ({ kind: "k", args: { tag } })));
      assertEquals((await ghost.claim(3, 2)).length, 3);
      const twins = await runtime.enqueueMany(["a", "c"].map((tag) => ({ kind: "k", args: { tag } })));
      const { store } = ghost;
      const rescued = await store.rescue(ghost.id, (await ghost.beatOf(ghost.id))!, { message: "lost" });
      assertEquals([...rescued.cancelled].sort(), [ids[0], ids[2]].sort());
      assertEquals([rescued.retried, rescued.released], [[ids[1]], []]);
      const classes = async (id: string) => (await runtime.get(id))!.errors.map((error) => error.class);
      assertEquals(await classes(ids[0]!), ["worker lost", "superseded"]);
      assertEquals(await classes(ids[2]!), ["superseded"]);
      for (const id of [...twins, ids[1]!]) assert((await runtime.get(id))!.finishedAt === null);
    },
  },
  {
    name:
      "retry of a job whose key another one holds is refused while that one keeps twins out, and not after",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k", BY_TAG)] });
      await runtime.pauseQueue("default");
      const args = stage.tagged("a", { do: "return" });
      const old = await runtime.enqueue("k", args);
      await runtime.cancel(old);
      const holder = await runtime.enqueue("k", args);
      const error = await assertRejects(() => runtime.retry(old), UniqueConflictError);
      assertEquals([error.jobId, error.holderId], [old, holder]);
      await runtime.resumeQueue("default");
      await stage.until(runtime, holder, "completed");
      await runtime.pauseQueue("default");
      await runtime.retry(old);
      assertEquals(await runtime.offer("k", args), { id: old, added: false });
      await runtime.resumeQueue("default");
      await stage.until(runtime, old, "completed");
    },
  },
  {
    name: "what was declared last holds for every process, also for one that declares nothing",
    async run(stage) {
      const older = stage.build({ kinds: [stage.kind("k"), stage.kind("m")] });
      const other = stage.build({ kinds: [stage.kind("k", { unique: { by: ["n"] } }), stage.kind("m")] });
      const ids = await older.enqueueMany([1, 2].map((n) => ({ kind: "k", args: { tag: "a", n } })));
      assertNotEquals(ids[0], ids[1]);
      const newer = await stage.start({ kinds: [stage.kind("k", BY_TAG), stage.kind("m")] });
      await newer.pauseQueue("default");
      const holder = await newer.enqueue("k", { tag: "a", n: 0 });
      for (const runtime of [older, other]) {
        for (const [way, enqueue] of Object.entries(waysOf(stage, runtime))) {
          assertEquals(await enqueue({ tag: "a", n: way }), holder, way);
        }
        const mixed = await runtime.enqueueMany([
          { kind: "m", args: { tag: "a" } },
          { kind: "k", args: { tag: "a", n: 3 } },
          { kind: "m", args: { tag: "a" } },
        ]);
        assertEquals([mixed[1], new Set(mixed).size], [holder, 3]);
      }
      // The runtime, which gathers single enqueues, is not involved here.
      const store = await stage.store();
      const [bare] = await store.insertAndSignal([bareJob("k", { tag: "a", n: 4 })]);
      assertEquals(bare, { id: holder, existed: true });
      const last = await stage.start({ kinds: [stage.kind("k"), stage.kind("m")] });
      assertNotEquals(await last.enqueue("k", { tag: "a", n: 5 }), holder);
    },
  },
  {
    name:
      "args that lack a path of a rule that only a newer program knows are a job of their own, however they are enqueued",
    async run(stage) {
      const rules: Partial<Kind>[] = [
        { unique: { by: ["tenant"] } },
        { unique: { by: ["tag", "tenant.id"], within: 60_000 } },
        { debounce: { by: ["tenant"], quietMs: 1, atMostMs: 1000 } },
      ];
      for (const [index, rule] of rules.entries()) {
        const name = `k${index}`;
        const olders = [
          stage.build({ kinds: [stage.kind(name)] }),
          stage.build({ kinds: [stage.kind(name, { unique: { by: ["n"] } })] }),
        ];
        const newer = await stage.start({ kinds: [stage.kind(name, rule)] });
        await newer.pauseQueue("default");
        const ids: JobId[] = [];
        for (const older of olders) {
          for (const [way, enqueue] of Object.entries(waysOf(stage, older, name))) {
            ids.push(await enqueue({ tag: "a", n: `${way} 1` }), await enqueue({ tag: "a", n: `${way} 2` }));
          }
          const many = Array.from({ length: 30 }, (_, n) => ({ kind: name, args: { tag: "a", n } }));
          ids.push(...await older.enqueueMany(many));
        }
        assertEquals(new Set(ids).size, ids.length, JSON.stringify(rule));
        await newer.stop();
      }
    },
  },
  {
    name: "when the process that declared it last has left, what a living one declares holds again",
    async run(stage) {
      const older = { kinds: [stage.kind("k", BY_TAG)], settings: BRISK };
      const newer = { kinds: [stage.kind("k", { unique: { by: ["tag", "n"] } })], settings: BRISK };
      const living = await stage.start(newer);
      await living.pauseQueue("default");
      const last = await stage.start(older);
      // Between its declaration and its registration, the living process's rule may have been restored, until the next
      // heartbeat.
      await eventually(() => areTwins(living), 3000);
      await last.stop();
      await eventually(async () => !await areTwins(living), 3000);
      await living.stop();
      // A program that only enqueues is never registered. Without a worker, the rule of the last worker holds.
      assertEquals(await areTwins(stage.build(older)), false);
    },
  },
  {
    name: "when the process that declared it last was lost, what a living one declares holds again",
    async run(stage) {
      const settings = { heartbeatMs: 200, lostAfterMs: 1000 };
      const living = await stage.start({ kinds: [stage.kind("k")], settings });
      await living.pauseQueue("default");
      const store = await stage.store();
      const kinds = [{ name: "k", queue: "default", maxAttempts: 3, rule: keyRuleOf(BY_TAG)! }];
      // Registered first: what only an unregistered process declares may be reverted at any time.
      await store.register({ id: crypto.randomUUID(), name: "lost", queues: [], kinds });
      await store.declare({ kinds, queues: ["default"] });
      assertEquals(await areTwins(living), true);
      await eventually(async () => !await areTwins(living), 5000);
    },
  },
  {
    name: "of each kind the newest of the processes on the record that declare it decides",
    async run(stage) {
      const store = await stage.store();
      const [a, b] = [
        keyRuleOf({ unique: { by: ["a"] } })!,
        keyRuleOf(
          { debounce: { by: ["a.b", "c"], quietMs: 10, atMostMs: 20 } },
        )!,
      ];
      const kind = (name: string, rule?: KeyRule) => ({
        ...{ name, queue: "default", maxAttempts: 3 },
        ...(rule === undefined ? {} : { rule }),
      });
      const register = async (...kinds: DeclaredKind[]) => {
        const id = crypto.randomUUID();
        await store.declare({ kinds, queues: ["default"] });
        await store.register({ id, name: "ghost", queues: [], kinds });
        await pause(5);
        return id;
      };
      const one = await register(kind("k", a), kind("l", a), kind("m", b));
      const two = await register(kind("k", b), kind("l", b));
      const three = await register(kind("k", a));
      assertEquals(await store.renewKinds(), []);
      await store.unregister(three);
      assertEquals(await store.renewKinds(), ["k"]);
      assertEquals(await store.renewKinds(), []);
      await store.unregister(two);
      assertEquals((await store.renewKinds()).sort(), ["k", "l"]);
      await store.unregister(one);
      assertEquals(await store.renewKinds(), []);
      const other = await register(kind("k"));
      await store.declare({ kinds: [kind("k", a), kind("m", a)], queues: [] });
      assertEquals(await store.renewKinds(), ["k"]);
      await store.unregister(other);
    },
  },
];

/** Whether jobs with the same tag are twins, whatever else they have. */
async function areTwins(jobs: Jobs): Promise<boolean> {
  const tag = crypto.randomUUID();
  const { id } = await jobs.offer("k", { tag, n: 1 });
  return (await jobs.offer("k", { tag, n: 2 })).id === id;
}
