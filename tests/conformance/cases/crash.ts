import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../support/assert.ts";
import { CompositionError } from "../../../ports/errors.ts";
import type { Case } from "../case.ts";
import { eventually } from "../eventually.ts";
import type { Action } from "../handlers/act.ts";

const CRASHES: readonly (readonly [string, Action])[] = [
  ["Deno.exit()", { do: "exit" }],
  ["an unhandled rejection", { do: "reject" }],
  ["self.close()", { do: "close" }],
];

/** Handlers that break the thread or process they run in. */
export const crashCases: readonly Case[] = [
  ...CRASHES.map(([what, action]): Case => ({
    name: `${what} in a handler is a failed attempt, told at once, and the process goes on`,
    needs: "canEndHandlers",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k", { timeout: 8000 })] });
      const id = await runtime.enqueue("k", stage.act(action, { do: "return", value: "alive" }));
      const job = await stage.until(runtime, id, "completed", 4000);
      assertEquals([job.attempt, job.errors.length, job.output], [2, 1, "alive"]);
      assert(job.errors[0]!.class === "crash" || job.errors[0]!.class === "error", job.errors[0]!.class);
    },
  })),
  {
    name: "jobs that merely shared the thread of a crash are run again without spending an attempt",
    needs: "canEndHandlers",
    async run(stage) {
      const runtime = await stage.start({
        kinds: [stage.kind("bad", { maxAttempts: 1 }), stage.kind("good", { maxAttempts: 1 })],
        queues: [{ name: "default", concurrency: 30 }],
      });
      const gate = stage.gate();
      const good = await runtime.enqueueMany(
        Array.from(
          { length: 10 },
          () => ({ kind: "good", args: stage.act({ do: "hold", until: gate.path }) }),
        ),
      );
      for (const id of good) await stage.untilStarted(id);
      const bad = await runtime.enqueue("bad", stage.act({ do: "exit" }));
      const job = await stage.until(runtime, bad, "discarded");
      assertEquals([job.attempt, job.errors.length, job.errors[0]!.class], [1, 1, "crash"]);
      gate.open();
      for (const id of good) {
        const done = await stage.until(runtime, id, "completed");
        assertEquals([done.attempt, done.errors], [1, []]);
      }
    },
  },
  {
    name: "a rejection that comes after its job has ended is blamed on no job",
    needs: "canEndHandlers",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k", { maxAttempts: 1 })] });
      const gate = stage.gate();
      const first = await runtime.enqueue("k", stage.act({ do: "reject later", ms: 50 }));
      const others = await runtime.enqueueMany(
        Array.from({ length: 6 }, () => ({ kind: "k", args: stage.act({ do: "hold", until: gate.path }) })),
      );
      assertEquals((await stage.until(runtime, first, "completed")).output, "returned before");
      const ended = stage.journal().find(({ id, what }) => id === first && what === "end")!.at;
      await eventually(() => Date.now() - ended > 150);
      gate.open();
      for (const id of others) {
        const job = await stage.until(runtime, id, "completed");
        assertEquals([job.attempt, job.errors], [1, []]);
      }
      assertEquals((await runtime.get(first))!.errors, []);
    },
  },
  {
    name: "a kind in a host process works as any other, and a crash there is a failed attempt of its own",
    needs: "canEndHandlers",
    async run(stage) {
      const kinds = [stage.kind("far", { isolation: "process", maxAttempts: 2 })];
      const runtime = await stage.start({ kinds });
      const id = await runtime.enqueue("far", stage.act({ do: "exit" }, { do: "context" }));
      const job = await stage.until(runtime, id, "completed", 8000);
      assertEquals([job.attempt, job.errors.length], [2, 1]);
      assertEquals((job.output as { id: string }).id, id);
    },
  },
  {
    name: "start() refuses handler modules that do not load, and names all of them",
    needs: "canEndHandlers",
    async run(stage) {
      const runtime = stage.build({
        kinds: [
          stage.kind("fine"),
          stage.kind("broken", { handler: new URL("../handlers/broken.ts", import.meta.url) }),
          stage.kind("absent", { handler: new URL("../handlers/not_there.ts", import.meta.url) }),
        ],
      });
      const error = await assertRejects(() => runtime.start(), CompositionError);
      assertEquals(error.faults.length, 2, error.message);
      for (const part of ["broken", "can't be loaded", "absent", "not_there.ts"]) {
        assertStringIncludes(error.message, part);
      }
    },
  },
];
