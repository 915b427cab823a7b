import { assert, assertEquals, assertRejects } from "../../support/assert.ts";
import { InvalidOptionError } from "../../../ports/errors.ts";
import type { Case } from "../case.ts";
import { eventually, pause } from "../eventually.ts";

/** `throw snooze(ms)`. */
export const snoozeCases: readonly Case[] = [
  {
    name: "a snooze spends no attempt: with one attempt, three snoozes and a success complete after 4 runs",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k", { maxAttempts: 1 })] });
      const nap = { do: "snooze", ms: 20 } as const;
      const id = await runtime.enqueue("k", stage.act(nap, nap, nap, { do: "return" }));
      const job = await stage.until(runtime, id, "completed");
      assertEquals([job.attempt, job.snoozes, job.run, job.errors.length, stage.starts(id)], [1, 3, 4, 0, 4]);
    },
  },
  {
    name: "a snooze of 800 ms waits at least 800 ms",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const id = await runtime.enqueue("k", stage.act({ do: "snooze", ms: 800 }, { do: "return" }));
      await stage.until(runtime, id, "completed");
      const [first, second] = stage.journal().filter((entry) => entry.what === "start");
      const end = stage.journal().find((entry) => entry.what === "end")!;
      assert(second!.at - end.at >= 795, `ran again after ${second!.at - first!.at} ms`);
    },
  },
  {
    name: "a snoozed job is pending, is scheduled ahead, and shows how often it was snoozed",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const id = await runtime.enqueue("k", stage.act({ do: "snooze", ms: 60_000 }));
      const job = await eventually(async () => {
        const found = (await runtime.get(id))!;
        return found.snoozes === 1 && found;
      });
      assertEquals([job.state, job.attempt, job.errors.length], ["pending", 0, 0]);
      const aheadMs = Date.parse(job.scheduledAt) - Date.parse(job.claimedAt!);
      assert(aheadMs >= 60_000, `scheduled ${aheadMs} ms after its claim`);
    },
  },
  {
    name: "what waits for its time is brought forward, what runs, has ended or is nobody's stays as it is",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k", { backoff: () => 60_000 })] });
      const gate = stage.gate();
      const later = { runAt: new Date(Date.now() + 60_000) };
      const scheduled = await runtime.enqueue("k", stage.act({ do: "return" }), later);
      const snoozed = await runtime.enqueue("k", stage.act({ do: "snooze", ms: 60_000 }, { do: "return" }));
      const failed = await runtime.enqueue("k", stage.act({ do: "fail" }, { do: "return" }));
      const runs = await runtime.enqueue("k", stage.act({ do: "hold", until: gate.path }));
      const ended = await runtime.enqueue("k", stage.act({ do: "return" }));
      await stage.until(runtime, ended, "completed");
      await stage.until(runtime, failed, "retryable");
      await stage.untilStarted(runs);
      await eventually(async () => (await runtime.get(snoozed))!.snoozes === 1);
      const ids = [scheduled, snoozed, failed, runs, ended, "999999999", "nobody's"];
      assertEquals(await runtime.bringForward(ids), 3);
      for (const id of [scheduled, snoozed]) {
        assertEquals((await stage.until(runtime, id, "completed")).attempt, 1);
      }
      const retried = await stage.until(runtime, failed, "completed");
      assertEquals([retried.attempt, retried.maxAttempts, retried.errors.length], [2, 3, 1]);
      gate.open();
      await stage.until(runtime, runs, "completed");
      assertEquals([stage.starts(runs), stage.starts(ended)], [1, 1]);
      assertEquals(await runtime.bringForward(ids), 0);
      assertEquals(await runtime.bringForward([]), 0);
    },
  },
  {
    name:
      "what somebody holds is not brought forward, and nobody waits for it; ids that are none are refused",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k")] });
      const runAt = new Date(Date.now() + 60_000);
      const [held, free] = await runtime.enqueueMany([{ kind: "k", runAt }, { kind: "k", runAt }]);
      const open = await stage.begin();
      await runtime.with(open.tx).cancel(held!);
      assertEquals(await runtime.bringForward([held!, free!]), 1);
      await open.rollback();
      assertEquals(await runtime.bringForward([held!, free!]), 1);
      const bad = [[7], "7", Array.from({ length: 10_001 }, () => "7")] as unknown as string[][];
      for (const ids of bad) {
        await assertRejects(() => runtime.bringForward(ids), InvalidOptionError, "id");
      }
    },
  },
  {
    name: "after many snoozes a failure is a first failure, in its backoff and in the tries that are left",
    async run(stage) {
      const attempts: number[] = [];
      const backoff = (attempt: number) => {
        attempts.push(attempt);
        return 20;
      };
      const runtime = await stage.start({ kinds: [stage.kind("k", { maxAttempts: 5, backoff })] });
      const nap = { do: "snooze", ms: 1 } as const;
      const id = await runtime.enqueue("k", stage.act(nap, nap, nap, nap, { do: "fail" }, { do: "return" }));
      const job = await stage.until(runtime, id, "completed");
      assertEquals([job.attempt, job.maxAttempts, job.snoozes], [2, 5, 4]);
      assertEquals(job.errors.map(({ attempt }) => attempt), [1]);
      assertEquals(attempts, [1]);
    },
  },
  {
    name: "a snooze after a failure leaves the job retryable with its attempt count",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const id = await runtime.enqueue("k", stage.act({ do: "fail" }, { do: "snooze", ms: 60_000 }));
      const job = await eventually(async () => {
        const found = (await runtime.get(id))!;
        return found.snoozes === 1 && found;
      });
      assertEquals([job.state, job.attempt, job.errors.length], ["retryable", 1, 1]);
    },
  },
  {
    name: "a snooze of 0 ms, of less, or of NaN does not spin, and lets others go on",
    async run(stage) {
      const runtime = await stage.start({
        kinds: [stage.kind("k")],
        queues: [{ name: "default", concurrency: 1 }],
      });
      const naps = [0, -5, null].map((ms) => stage.act({ do: "snooze", ms }));
      const ids = [];
      for (const args of naps) ids.push(await runtime.enqueue("k", args));
      const other = await runtime.enqueue("k", stage.act({ do: "return" }));
      await stage.until(runtime, other, "completed", 2000);
      await pause(600);
      for (const id of ids) {
        assert(stage.starts(id) <= 15, `${stage.starts(id)} starts within the second`);
        assertEquals((await runtime.get(id))!.errors, []);
      }
    },
  },
];
