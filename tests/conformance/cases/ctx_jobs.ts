import { assert, assertEquals } from "../../support/assert.ts";
import type { Json } from "../../../ports/json.ts";
import type { Runtime } from "../../../ports/runtime.ts";
import type { Case } from "../case.ts";
import type { Action } from "../handlers/act.ts";
import type { Stage } from "../stage.ts";

async function outputOf(stage: Stage, runtime: Runtime, action: Action): Promise<Json> {
  const result = await runtime.wait(await runtime.enqueue("k", stage.act(action)), 5000);
  assert(result.done, JSON.stringify(result));
  assertEquals([result.state, result.error], ["completed", null]);
  return result.output;
}

/** `ctx.jobs`. */
export const ctxJobsCases: readonly Case[] = [
  {
    name: "a handler enqueues through its context, one job or many, and cancels one",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k"), stage.kind("later")] });
      const requests = [
        { kind: "later", args: { n: 1 }, priority: 4, queue: "default" } as const,
        { kind: "later", args: { n: 2 }, uniqueByArgs: true } as const,
        { kind: "later", args: { n: 2 }, uniqueByArgs: true } as const,
      ];
      // They wait, so that they can be inspected.
      await runtime.pauseQueue("maintenance");
      const queued = requests.map((request) => ({ ...request, queue: "maintenance" }));
      const [one] = await outputOf(stage, runtime, { do: "enqueue", requests: [queued[0]!] }) as string[];
      const job = (await runtime.get(one!))!;
      assertEquals([job.kind, job.args, job.priority, job.state], ["later", { n: 1 }, 4, "pending"]);
      const many = await outputOf(stage, runtime, { do: "enqueue", requests: queued }) as string[];
      assertEquals([many.length, many[1], new Set(many).size], [3, many[2], 2]);
      assertEquals(await outputOf(stage, runtime, { do: "cancel", id: one! }), {
        result: "cancelled",
        state: "cancelled",
      });
      assertEquals((await runtime.get(one!))!.state, "cancelled");
    },
  },
  {
    name: "a handler enqueues in a transaction of its own: with its commit, or not at all",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k"), stage.kind("later")] });
      for (const count of [1, 2]) {
        for (const end of ["commit", "rollback"] as const) {
          const args = stage.act({ do: "return", value: end });
          const requests = Array.from({ length: count }, () => ({ kind: "later", args }));
          const inTransaction = { ...stage.handlerTransactions, end };
          const ids = await outputOf(stage, runtime, {
            do: "enqueue",
            requests,
            in: inTransaction,
          }) as string[];
          assertEquals(ids.length, count);
          for (const id of ids) {
            const result = await runtime.wait(id, 30_000);
            if (end === "commit") assertEquals([result.done, result.done && result.output], [true, "commit"]);
            else assertEquals(result, { done: false, reason: "gone" });
          }
        }
      }
    },
  },
  {
    name: "a handler in a host process enqueues in a transaction of its own as any other",
    needs: "canEndHandlers",
    async run(stage) {
      const runtime = await stage.start({
        kinds: [stage.kind("k", { isolation: "process" }), stage.kind("later")],
      });
      const args = stage.act({ do: "return", value: "ran" });
      const requests = [1, 2].map((n) => ({
        kind: "later",
        args: { ...args, tag: `${n}` },
        uniqueByArgs: true,
      }));
      const inTransaction = { ...stage.handlerTransactions, end: "commit" } as const;
      for (const some of [requests.slice(0, 1), requests]) {
        const ids = await outputOf(stage, runtime, {
          do: "enqueue",
          requests: some,
          in: inTransaction,
        }) as string[];
        for (const id of ids) assertEquals((await stage.until(runtime, id, "completed")).output, "ran");
        assertEquals(ids.length, some.length);
      }
      assertEquals((await runtime.list({ kind: "later" })).length, 2);
    },
  },
  {
    name: "what ctx.jobs refuses is the same typed error as elsewhere",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const requests = [
        { kind: "nobody's" },
        { kind: "k", priority: 9 },
        { kind: "k", queue: "none" },
        { kind: "k", prioritty: 1 },
      ] as unknown as Json[];
      assertEquals(await outputOf(stage, runtime, { do: "enqueue wrongly", requests }), [
        ["UndeclaredKindError", "nobody's"],
        ["InvalidOptionError", "priority"],
        ["UndeclaredQueueError", "none"],
        ["InvalidOptionError", "an enqueue request with"],
      ]);
      assertEquals((await runtime.list({ kind: "k" })).length, 1);
    },
  },
];
