import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import type { Case } from "../case.ts";
import { eventually } from "../eventually.ts";

/** The time limit of an attempt. */
export const timeoutCases: readonly Case[] = [
  {
    name: "at the timeout the signal aborts, the attempt has failed with one error, and the next one works",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k", { timeout: 150 })] });
      const gate = stage.gate();
      const args = stage.act({ do: "hold", until: gate.path }, { do: "return", value: "second" });
      const id = await runtime.enqueue("k", args);
      const job = await stage.until(runtime, id, "completed");
      assertEquals([job.attempt, job.output, job.errors.length], [2, "second", 1]);
      assertEquals(job.errors[0]!.class, "timeout");
      assertStringIncludes(job.errors[0]!.message, "150");
      const abort = stage.journal().find((entry) => entry.what === "abort")!;
      const start = stage.journal().find((entry) => entry.what === "start")!;
      // On a busy machine the handler's first line runs slightly after its start.
      assert(abort.at - start.at >= 100, `aborted after ${abort.at - start.at} ms`);
    },
  },
  {
    name: "a handler that returns after its timeout has still failed that attempt",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k", { timeout: 150, maxAttempts: 1 })] });
      const args = stage.act({ do: "hold", until: stage.gate().path, atSignal: "return" });
      const job = await stage.until(runtime, await runtime.enqueue("k", args), "discarded");
      assertEquals([job.errors[0]!.class, job.output], ["timeout", null]);
    },
  },
  {
    name: "the timeout counts from the handler's start: waiting in line costs nothing",
    async run(stage) {
      const runtime = await stage.start({
        kinds: [stage.kind("k", { timeout: 400 })],
        queues: [{ name: "default", concurrency: 1 }],
      });
      const ids = await runtime.enqueueMany(
        Array.from({ length: 6 }, (_, n) => ({
          kind: "k",
          args: stage.act({ do: "hold", until: stage.gate(`gate${n}`).path }),
        })),
      );
      for (let done = 0; done < ids.length; done++) {
        await eventually(() => stage.starts() === done + 1);
        const started = stage.journal().filter((entry) => entry.what === "start").at(-1)!.id;
        await eventually(() => Date.now() - stage.journal().at(-1)!.at >= 100);
        stage.gate(`gate${ids.indexOf(started)}`).open();
      }
      for (const id of ids) {
        const job = await stage.until(runtime, id, "completed");
        assertEquals([job.attempt, job.errors], [1, []]);
      }
    },
  },
  {
    name: "a busy loop ends at its timeout and the grace, its slot is free, and the others go on uncharged",
    needs: "canEndHandlers",
    async run(stage) {
      const runtime = await stage.start({
        kinds: [stage.kind("bad", { timeout: 200, maxAttempts: 1 }), stage.kind("good")],
        queues: [{ name: "default", concurrency: 2 }],
      });
      const bad = await runtime.enqueue("bad", stage.act({ do: "spin" }));
      const good = await runtime.enqueueMany(
        Array.from({ length: 20 }, () => ({ kind: "good", args: stage.act({ do: "return" }) })),
      );
      const job = await stage.until(runtime, bad, "discarded", 3000);
      assertEquals([job.errors.length, job.errors[0]!.class], [1, "timeout"]);
      for (const id of good) {
        const done = await stage.until(runtime, id, "completed");
        assertEquals([done.attempt, done.errors], [1, []]);
      }
    },
  },
  {
    name: "a handler that goes on after its signal is ended after the grace",
    needs: "canEndHandlers",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k", { timeout: 150, maxAttempts: 1 })] });
      const args = stage.act({ do: "hold", until: stage.gate().path, atSignal: "ignore" });
      const job = await stage.until(runtime, await runtime.enqueue("k", args), "discarded", 3000);
      assertEquals(job.errors[0]!.class, "timeout");
      const elapsedMs = Date.parse(job.finishedAt!) - Date.parse(job.claimedAt!);
      assert(elapsedMs >= 145 && elapsedMs < 2000, `ended after ${elapsedMs} ms`);
      assertEquals(stage.journal().some((entry) => entry.what === "end"), false);
    },
  },
];
