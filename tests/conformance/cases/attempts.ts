import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import type { Case } from "../case.ts";
import { eventually } from "../eventually.ts";
import { bareJob, type Ghost } from "../stage.ts";

/** The results of runs. */
export const attemptCases: readonly Case[] = [
  {
    name: "a failure is retried and each attempt's error is kept: two failures, then it works",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k", { maxAttempts: 5 })] });
      const args = stage.act(
        { do: "fail", message: "the first trouble" },
        { do: "fail", message: "the second trouble" },
        { do: "return", value: "well" },
      );
      const job = await stage.until(runtime, await runtime.enqueue("k", args), "completed");
      assertEquals([job.attempt, job.run, job.output], [3, 3, "well"]);
      assertEquals(job.errors.map(({ attempt, class: what, message }) => [attempt, what, message]), [
        [1, "error", "the first trouble"],
        [2, "error", "the second trouble"],
      ]);
    },
  },
  {
    name: "a handler that always fails is discarded after its last attempt: 3 runs, 3 errors",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k", { maxAttempts: 3 })] });
      const id = await runtime.enqueue("k", stage.act({ do: "fail" }));
      const job = await stage.until(runtime, id, "discarded");
      assertEquals([job.attempt, job.errors.length, stage.starts(id)], [3, 3, 3]);
      assert(job.finishedAt !== null);
    },
  },
  {
    name: "throw discard(reason) ends the job at once, whatever attempts it has left",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k", { maxAttempts: 10 })] });
      const id = await runtime.enqueue("k", stage.act({ do: "discard", reason: "the receiver is gone" }));
      const job = await stage.until(runtime, id, "discarded");
      assertEquals([job.attempt, job.errors.length, stage.starts(id)], [1, 1, 1]);
      assertEquals([job.errors[0]!.class, job.errors[0]!.message], ["discarded", "the receiver is gone"]);
    },
  },
  {
    name: "a handler is told its job's id, kind, queue, attempt and attempts in all",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k", { maxAttempts: 4 })] });
      const id = await runtime.enqueue("k", stage.act({ do: "fail" }, { do: "context" }));
      const job = await stage.until(runtime, id, "completed");
      assertEquals(job.output, {
        id,
        kind: "k",
        queue: "default",
        attempt: 2,
        maxAttempts: 4,
        aborted: false,
      });
    },
  },
  {
    name: "a retry waits for the kind's backoff, counted from the failure",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k", { backoff: () => 400 })] });
      const id = await runtime.enqueue("k", stage.act({ do: "fail" }, { do: "return" }));
      const waiting = await stage.until(runtime, id, "retryable");
      const delayMs = Date.parse(waiting.scheduledAt) - Date.parse(waiting.errors[0]!.at);
      assert(delayMs >= 355 && delayMs <= 445, `delay ${delayMs}, expected 400 +-10 %`);
      await stage.until(runtime, id, "completed");
      const [first, second] = stage.journal().filter((entry) => entry.what === "start");
      assert(second!.at - first!.at >= 355, `retried after ${second!.at - first!.at} ms`);
    },
  },
  {
    name: "without a backoff of its own a kind's first retry comes after 1 s, +-10 %",
    async run(stage) {
      const { backoff: _backoff, ...kind } = stage.kind("k");
      const runtime = await stage.start({ kinds: [kind] });
      const waiting = await stage.until(
        runtime,
        await runtime.enqueue("k", stage.act({ do: "fail" })),
        "retryable",
      );
      const delayMs = Date.parse(waiting.scheduledAt) - Date.parse(waiting.errors[0]!.at);
      assert(delayMs >= 895 && delayMs <= 1105, `delay ${delayMs}, expected 1000 +-10 %`);
    },
  },
  {
    name: "a backoff that throws or makes no sense does not lose the retry",
    async run(stage) {
      const throws = () => {
        throw new Error("no backoff today");
      };
      const kinds = [
        stage.kind("throws", { backoff: throws }),
        stage.kind("negative", { backoff: () => -5 }),
        stage.kind("nan", { backoff: () => NaN }),
        stage.kind("endless", { backoff: () => Infinity }),
      ];
      const runtime = await stage.start({ kinds });
      for (const { name } of kinds) {
        const id = await runtime.enqueue(name, stage.act({ do: "fail" }, { do: "return" }));
        const job = await eventually(async () => {
          const found = (await runtime.get(id))!;
          return found.errors.length === 1 && found;
        });
        assert(["retryable", "running", "completed"].includes(job.state), `${name}: ${job.state}`);
        assert(Date.parse(job.scheduledAt) >= Date.parse(job.errors[0]!.at) - 1, name);
      }
    },
  },
  {
    name: "what a handler returns is kept as the job's output",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      for (const value of [{ a: [1, "\u{1f600}"] }, [], "", 0, false, null]) {
        const id = await runtime.enqueue("k", stage.act({ do: "return", value }));
        assertEquals((await stage.until(runtime, id, "completed")).output, value);
      }
    },
  },
  {
    name: "a handler that returns nothing leaves no output",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const id = await runtime.enqueue("k", stage.act({ do: "return odd", what: "undefined" }));
      assertEquals((await stage.until(runtime, id, "completed")).output, null);
    },
  },
  {
    name: "a returned value that is no JSON is a failed attempt that says so",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k", { maxAttempts: 1 })] });
      for (const what of ["function", "bigint", "nan"] as const) {
        const id = await runtime.enqueue("k", stage.act({ do: "return odd", what }));
        const job = await stage.until(runtime, id, "discarded");
        assertEquals([job.errors.length, job.errors[0]!.class], [1, "error"], what);
        assertStringIncludes(job.errors[0]!.message, "JSON", what);
      }
    },
  },
  {
    name: "an output above 64 KiB is a failed attempt that names the bound",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k", { maxAttempts: 1 })] });
      const id = await runtime.enqueue("k", stage.act({ do: "return odd", what: "too large" }));
      const job = await stage.until(runtime, id, "discarded");
      assertStringIncludes(job.errors[0]!.message, "65536");
    },
  },
  {
    name: "whatever is thrown is recorded as text: undefined, a string, an object whose message throws",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k", { maxAttempts: 1 })] });
      for (const what of ["undefined", "string", "object"] as const) {
        const id = await runtime.enqueue("k", stage.act({ do: "throw", what }));
        const job = await stage.until(runtime, id, "discarded");
        assertEquals([job.errors.length, job.errors[0]!.class], [1, "error"], what);
        assertEquals(typeof job.errors[0]!.message, "string", what);
        if (what === "string") assertEquals(job.errors[0]!.message, "just a text");
      }
    },
  },
  {
    name: "an error's message is cut at 8,192 characters, and its stack is kept",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k", { maxAttempts: 1 })] });
      const long = await runtime.enqueue("k", stage.act({ do: "throw", what: "long" }));
      const { message } = (await stage.until(runtime, long, "discarded")).errors[0]!;
      assert(message.length <= 8192 && message.startsWith("xxx"), `${message.length} characters`);
      const plain = await runtime.enqueue("k", stage.act({ do: "fail" }));
      assertStringIncludes((await stage.until(runtime, plain, "discarded")).errors[0]!.stack ?? "", "act.ts");
    },
  },
  {
    name: "of very many failed attempts the first error and the newest 99 are kept",
    async run(stage) {
      const ghost = await stage.ghost();
      const [made] = await ghost.store.insert([bareJob("k", {}, { maxAttempts: 1000 })]);
      for (let attempt = 1; attempt <= 103; attempt++) await failOnce(ghost, `trouble ${attempt}`);
      const job = (await ghost.store.get(made!.id))!;
      assertEquals(job.errors.length, 100);
      assertEquals([job.errors[0]!.message, job.errors[1]!.message, job.errors[99]!.message], [
        "trouble 1",
        "trouble 5",
        "trouble 103",
      ]);
    },
  },
];

async function failOnce(ghost: Ghost, message: string): Promise<void> {
  const [claimed] = await ghost.claim(1);
  const { id, run } = claimed!;
  const error = { class: "error", message } as const;
  await ghost.store.settle([{ id, run, to: "retry", delayMs: 0, error, alone: false }]);
}
