import { assert, assertEquals, assertRejects } from "../../support/assert.ts";
import { JobNotFoundError, JobRunningError } from "../../../ports/errors.ts";
import type { Case } from "../case.ts";

/** Retrying jobs by hand. */
export const retryCases: readonly Case[] = [
  {
    name: "retry runs a job again that was discarded by exhaustion: one more attempt, its errors kept",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k", { maxAttempts: 2 })] });
      const args = stage.act({ do: "fail" }, { do: "fail" }, { do: "return", value: "mended" });
      const id = await runtime.enqueue("k", args);
      await stage.until(runtime, id, "discarded");
      await runtime.retry(id);
      const job = await stage.until(runtime, id, "completed");
      assertEquals([job.output, job.attempt, job.errors.length], ["mended", 3, 2]);
      assert(job.maxAttempts >= 3);
    },
  },
  {
    name: "retry runs a job again that its handler discarded",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k", { maxAttempts: 1 })] });
      const args = stage.act({ do: "discard", reason: "no" }, { do: "return", value: "yes" });
      const id = await runtime.enqueue("k", args);
      await stage.until(runtime, id, "discarded");
      await runtime.retry(id);
      const job = await stage.until(runtime, id, "completed");
      assertEquals([job.output, job.errors.length, job.errors[0]!.message], ["yes", 1, "no"]);
    },
  },
  {
    name: "retry of a job that fails again after it discards it again, and not before",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k", { maxAttempts: 1 })] });
      const id = await runtime.enqueue("k", stage.act({ do: "fail" }));
      for (let errors = 1; errors <= 3; errors++) {
        const job = await stage.until(runtime, id, "discarded");
        assertEquals([job.errors.length, job.attempt], [errors, errors]);
        await runtime.retry(id);
      }
    },
  },
  {
    name: "retry of a completed job runs it once more and keeps the new output",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const id = await runtime.enqueue(
        "k",
        stage.act({ do: "return", value: 1 }, { do: "return", value: 2 }),
      );
      const first = await stage.until(runtime, id, "completed");
      assertEquals(first.output, 1);
      await runtime.retry(id);
      await stage.untilStarted(id, 2);
      const second = await stage.until(runtime, id, "completed");
      assertEquals([second.output, stage.starts(id)], [2, 2]);
      assert(second.run > first.run);
    },
  },
  {
    name: "retry of a cancelled job runs it",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const runAt = new Date(Date.now() + 60_000);
      const id = await runtime.enqueue("k", stage.act({ do: "return" }), { runAt });
      await runtime.cancel(id);
      await runtime.retry(id);
      const job = await stage.until(runtime, id, "completed");
      assertEquals(job.cancelRequested, false);
    },
  },
  {
    name: "retry makes a scheduled job due now, and so one that waits for its backoff",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k", { backoff: () => 60_000 })] });
      const runAt = new Date(Date.now() + 60_000);
      const scheduled = await runtime.enqueue("k", stage.act({ do: "return" }), { runAt });
      const failed = await runtime.enqueue("k", stage.act({ do: "fail" }, { do: "return" }));
      await stage.until(runtime, failed, "retryable");
      for (const id of [scheduled, failed]) {
        await runtime.retry(id);
        await stage.until(runtime, id, "completed", 2000);
      }
      assertEquals((await runtime.get(failed))!.errors.length, 1);
    },
  },
  {
    name: "retry of a running job is a typed error, and it runs on",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const gate = stage.gate();
      const id = await runtime.enqueue("k", stage.act({ do: "hold", until: gate.path }));
      await stage.untilStarted(id);
      const error = await assertRejects(() => runtime.retry(id), JobRunningError);
      assertEquals(error.jobId, id);
      gate.open();
      const job = await stage.until(runtime, id, "completed");
      assertEquals([job.run, stage.starts(id)], [1, 1]);
    },
  },
  {
    name: "retry of a job that does not exist is a typed error",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k")] });
      const open = await stage.begin();
      const id = await runtime.with(open.tx).enqueue("k");
      await open.rollback();
      assertEquals((await assertRejects(() => runtime.retry(id), JobNotFoundError)).jobId, id);
    },
  },
];
