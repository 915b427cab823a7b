import { assertEquals, assertNotEquals, assertRejects } from "../../support/assert.ts";
import { UniqueConflictError } from "../../../ports/errors.ts";
import type { Case } from "../case.ts";
import { eventually } from "../eventually.ts";

const UNIQUE = { uniqueByArgs: true };

/** `uniqueByArgs`. */
export const uniqueCases: readonly Case[] = [
  {
    name: "a unique job with the same args is the first job, whatever the order of their keys",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k")] });
      const first = await runtime.enqueue("k", { a: 1, b: { c: [1, 2], d: null } }, UNIQUE);
      assertEquals(await runtime.enqueue("k", { b: { d: null, c: [1, 2] }, a: 1 }, UNIQUE), first);
      assertEquals((await runtime.list()).length, 1);
      assertEquals((await runtime.get(first))!.unique, true);
    },
  },
  {
    name: "a unique job with other args, or of another kind, is a job of its own",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k"), stage.kind("l")] });
      const ids = [
        await runtime.enqueue("k", { a: [1, 2] }, UNIQUE),
        await runtime.enqueue("k", { a: [2, 1] }, UNIQUE),
        await runtime.enqueue("k", { a: "1" }, UNIQUE),
        await runtime.enqueue("k", {}, UNIQUE),
        await runtime.enqueue("k", [], UNIQUE),
        await runtime.enqueue("l", { a: [1, 2] }, UNIQUE),
        await runtime.enqueue("k", { a: [1, 2] }),
      ];
      assertEquals(new Set(ids).size, ids.length);
    },
  },
  {
    name: "a unique job without args, with null and with empty ones is one job",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k")] });
      const id = await runtime.enqueue("k", undefined, UNIQUE);
      assertEquals(await runtime.enqueue("k", {}, UNIQUE), id);
      assertEquals(await runtime.enqueue("k", null, UNIQUE), id);
      const many = await runtime.enqueueMany([
        { kind: "k", ...UNIQUE },
        { kind: "k", args: {}, ...UNIQUE },
      ]);
      assertEquals(many, [id, id]);
    },
  },
  {
    name: "a unique job that completed still blocks, until it is purged",
    async run(stage) {
      const kinds = [stage.kind("k")];
      const runtime = await stage.start({ kinds });
      const args = stage.act({ do: "return" });
      const first = await runtime.enqueue("k", args, UNIQUE);
      await stage.until(runtime, first, "completed");
      assertEquals(await runtime.enqueue("k", args, UNIQUE), first);
      await runtime.stop();
      const purging = await stage.start({ kinds, settings: { retentionCompletedMs: 0, purgeMs: 50 } });
      await eventually(async () => await purging.get(first) === null);
      assertNotEquals(await purging.enqueue("k", args, UNIQUE), first);
    },
  },
  {
    name: "a unique job that runs or waits for its retry blocks",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k", { backoff: () => 60_000 })] });
      const gate = stage.gate();
      const held = stage.act({ do: "hold", until: gate.path });
      const running = await runtime.enqueue("k", held, UNIQUE);
      await stage.untilStarted(running);
      assertEquals(await runtime.enqueue("k", held, UNIQUE), running);
      const failing = stage.act({ do: "fail" });
      const retryable = await runtime.enqueue("k", failing, UNIQUE);
      await stage.until(runtime, retryable, "retryable");
      assertEquals(await runtime.enqueue("k", failing, UNIQUE), retryable);
      gate.open();
    },
  },
  {
    name: "a unique job that was discarded or cancelled does not block",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const args = stage.act({ do: "discard", reason: "no" });
      const discarded = await runtime.enqueue("k", args, UNIQUE);
      await stage.until(runtime, discarded, "discarded");
      assertNotEquals(await runtime.enqueue("k", args, UNIQUE), discarded);
      const later = { ...UNIQUE, runAt: new Date(Date.now() + 60_000) };
      const cancelled = await runtime.enqueue("k", { n: 1 }, later);
      await runtime.cancel(cancelled);
      assertNotEquals(await runtime.enqueue("k", { n: 1 }, later), cancelled);
    },
  },
  {
    name: "any number of concurrent enqueuers of one key make one job",
    async run(stage) {
      const kinds = [stage.kind("k")];
      const runtimes = [stage.build({ kinds }), stage.build({ kinds })];
      const ids = await Promise.all(
        Array.from(
          { length: 40 },
          (_, n) =>
            n % 5 === 0
              ? runtimes[n % 2]!.enqueueMany([{ kind: "k", args: { id: 1 }, ...UNIQUE }]).then(([id]) => id!)
              : runtimes[n % 2]!.enqueue("k", { id: 1 }, UNIQUE),
        ),
      );
      assertEquals(new Set(ids).size, 1);
      assertEquals((await runtimes[0]!.list()).length, 1);
    },
  },
  {
    name: "concurrent enqueueMany calls with the same keys in other orders all succeed",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k")] });
      const numbers = Array.from({ length: 20 }, (_, n) => n);
      const many = (order: number[]) =>
        runtime.enqueueMany(order.map((n) => ({ kind: "k", args: { n }, ...UNIQUE })));
      const answers = await Promise.all(
        Array.from({ length: 6 }, (_, k) => many(k % 2 === 0 ? numbers : numbers.toReversed())),
      );
      for (const [k, ids] of answers.entries()) {
        assertEquals(k % 2 === 0 ? ids : ids.toReversed(), answers[0]);
      }
      assertEquals((await runtime.list()).length, 20);
    },
  },
  {
    name: "a key that is twice in one enqueueMany makes one job",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k")] });
      const [one, other, again] = await runtime.enqueueMany([
        { kind: "k", args: { n: 1 }, ...UNIQUE },
        { kind: "k", args: { n: 2 } },
        { kind: "k", args: { n: 1 }, ...UNIQUE },
      ]);
      assertEquals(again, one);
      assertNotEquals(other, one);
      assertEquals((await runtime.list()).length, 2);
    },
  },
  {
    name: "a unique job that waits for its retry and a newer twin delay no other queue",
    async run(stage) {
      const runtime = await stage.start({
        kinds: [stage.kind("sync", { backoff: () => 300 }), stage.kind("plain", { queue: "two" })],
        queues: [{ name: "default", concurrency: 2 }, { name: "two", concurrency: 2 }],
      });
      const args = stage.act({ do: "fail" }, { do: "return" });
      const first = await runtime.enqueue("sync", args, UNIQUE);
      await stage.until(runtime, first, "retryable");
      assertEquals(await runtime.enqueue("sync", args, UNIQUE), first);
      const plain = await runtime.enqueueMany(
        Array.from({ length: 20 }, () => ({ kind: "plain", args: stage.act({ do: "return" }) })),
      );
      for (const id of plain) await stage.until(runtime, id, "completed");
      assertEquals((await stage.until(runtime, first, "completed")).attempt, 2);
      assertEquals(stage.starts(first), 2);
    },
  },
  {
    name: "an open transaction that holds a unique key keeps nobody waiting but those who want that key",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const open = await stage.begin();
      const held = stage.act({ do: "return" }, { do: "fail" });
      const id = await runtime.with(open.tx).enqueue("k", held, UNIQUE);
      let answered = 0;
      const waiting = Array.from(
        { length: 12 },
        () => runtime.enqueue("k", held, UNIQUE).finally(() => answered++),
      );
      const others = await Promise.all([
        runtime.enqueue("k", stage.act({ do: "return" })),
        runtime.enqueue("k", stage.act({ do: "return" }), UNIQUE),
      ]);
      for (const other of others) await stage.until(runtime, other, "completed");
      const later = await runtime.enqueue("k", null, { runAt: new Date("2200-01-01") });
      assertEquals((await runtime.cancel(later)).result, "cancelled");
      assertEquals(answered, 0);
      await open.commit();
      assertEquals(new Set(await Promise.all(waiting)), new Set([id]));
    },
  },
  {
    name: "retry of a job whose key a newer job holds is a typed error that names the holder",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k")] });
      const old = await runtime.enqueue("k", { n: 1 }, UNIQUE);
      await runtime.cancel(old);
      const holder = await runtime.enqueue("k", { n: 1 }, UNIQUE);
      const error = await assertRejects(() => runtime.retry(old), UniqueConflictError);
      assertEquals([error.jobId, error.holderId], [old, holder]);
      assertEquals((await runtime.get(old))!.state, "cancelled");
    },
  },
  {
    name: "a job that is put back in line takes its key again",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k")] });
      const id = await runtime.enqueue("k", { n: 1 }, UNIQUE);
      await runtime.cancel(id);
      await runtime.retry(id);
      assertEquals(await runtime.enqueue("k", { n: 1 }, UNIQUE), id);
    },
  },
];
