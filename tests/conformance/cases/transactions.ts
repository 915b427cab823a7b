import { assert, assertEquals, assertNotEquals, assertRejects } from "../../support/assert.ts";
import { InvalidJsonError } from "../../../ports/errors.ts";
import type { Case } from "../case.ts";
import { pause } from "../eventually.ts";
import { SIGNALS_ALONE } from "../stage.ts";

/** Calls inside the caller's transaction. */
export const transactionCases: readonly Case[] = [
  {
    name: "a job of a transaction that rolls back never exists and never runs",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const open = await stage.begin();
      const id = await runtime.with(open.tx).enqueue("k", stage.act({ do: "return" }));
      assertEquals(await runtime.get(id), null);
      await open.rollback();
      // A later job has run: if the first had existed, it would have run before.
      const next = await runtime.enqueue("k", stage.act({ do: "return" }));
      await stage.until(runtime, next, "completed");
      assertEquals(await runtime.get(id), null);
      assertEquals(stage.starts(id), 0);
      assertEquals((await runtime.list()).length, 1);
    },
  },
  {
    name: "a job of a transaction that commits is not seen before, and runs once after",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const open = await stage.begin();
      const id = await runtime.with(open.tx).enqueue("k", stage.act({ do: "return" }));
      await pause(250);
      assertEquals(await runtime.get(id), null);
      assertEquals(stage.starts(), 0);
      await open.commit();
      await stage.until(runtime, id, "completed");
      assertEquals(stage.starts(id), 1);
    },
  },
  {
    name: "with(tx) leaves the original as it was: it still enqueues outside of any transaction",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k")] });
      const open = await stage.begin();
      const bound = runtime.with(open.tx);
      const inside = await bound.enqueue("k", { where: "inside" });
      const outside = await runtime.enqueue("k", { where: "outside" });
      await open.rollback();
      assertEquals(await runtime.get(inside), null);
      assertEquals((await runtime.get(outside))!.args, { where: "outside" });
    },
  },
  {
    name: "enqueueMany in a transaction exists with it or not at all",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k")] });
      const requests = [{ kind: "k", args: { n: 1 } }, { kind: "k", args: { n: 2 } }];
      const dropped = await stage.begin();
      await runtime.with(dropped.tx).enqueueMany(requests);
      await dropped.rollback();
      assertEquals(await runtime.list(), []);
      const ids = await stage.transaction(({ tx }) => runtime.with(tx).enqueueMany(requests));
      assertEquals((await runtime.list()).map(({ id }) => id).sort(), [...ids].sort());
    },
  },
  {
    name: "a job that commits wakes an idle runtime without waiting for a poll",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")], settings: SIGNALS_ALONE });
      await pause(300);
      const id = await stage.transaction(({ tx }) =>
        runtime.with(tx).enqueue("k", stage.act({ do: "return" }))
      );
      await stage.until(runtime, id, "completed", 2000);
    },
  },
  {
    name: "a value that is refused leaves the caller's transaction usable",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k")] });
      const id = await stage.transaction(async ({ tx }) => {
        const jobs = runtime.with(tx);
        const error = await assertRejects(
          () => jobs.enqueue("k", { note: "a\u0000b" }),
          InvalidJsonError,
        );
        assertEquals(error.path, "args.note");
        await assertRejects(() => jobs.enqueueMany([{ kind: "k", args: ["\udc00"] }]), InvalidJsonError);
        return await jobs.enqueue("k", { note: "fine" });
      });
      assertEquals((await runtime.get(id))!.args, { note: "fine" });
    },
  },
  {
    name: "a cancel in a transaction takes effect at its commit, and not at all when it rolls back",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k")] });
      const id = await runtime.enqueue("k");
      const dropped = await stage.begin();
      assertEquals((await runtime.with(dropped.tx).cancel(id)).result, "cancelled");
      assertEquals((await runtime.get(id))!.state, "pending");
      await dropped.rollback();
      assertEquals((await runtime.get(id))!.state, "pending");
      await stage.transaction(({ tx }) => runtime.with(tx).cancel(id));
      assertEquals((await runtime.get(id))!.state, "cancelled");
    },
  },
  {
    name: "a cancel in a transaction reaches a running job at its commit, and holds up no other",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const gate = stage.gate();
      const held = await runtime.enqueue("k", stage.act({ do: "hold", until: gate.path }));
      await stage.untilStarted(held);
      const open = await stage.begin();
      assertEquals((await runtime.with(open.tx).cancel(held)).result, "requested");
      const other = await runtime.enqueue("k", stage.act({ do: "return" }));
      await stage.until(runtime, other, "completed", 2000);
      assertEquals((await runtime.get(held))!.state, "running");
      await open.commit();
      await stage.until(runtime, held, "cancelled", 3000);
    },
  },
  {
    name: "a run that ends while a transaction holds its row is written when that one has ended",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")] });
      const gate = stage.gate();
      const held = await runtime.enqueue("k", stage.act({ do: "hold", until: gate.path }));
      await stage.untilStarted(held);
      const open = await stage.begin();
      await runtime.with(open.tx).cancel(held);
      gate.open();
      const others = await runtime.enqueueMany(
        Array.from({ length: 20 }, () => ({ kind: "k", args: stage.act({ do: "return" }) })),
      );
      for (const id of others) await stage.until(runtime, id, "completed", 2000);
      await open.rollback();
      assertEquals((await stage.until(runtime, held, "completed")).output, "held");
    },
  },
  {
    name: "a duplicate found in a transaction is its holder's id, and the transaction goes on",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("welcome")] });
      const options = { uniqueByArgs: true };
      const holder = await runtime.enqueue("welcome", { id: 7 }, options);
      const [found, after] = await stage.transaction(async ({ tx }) => {
        const jobs = runtime.with(tx);
        return [
          await jobs.enqueue("welcome", { id: 7 }, options),
          await jobs.enqueue("welcome", { id: 8 }, options),
        ];
      });
      assertEquals(found, holder);
      assertNotEquals(after, holder);
      assertEquals((await runtime.list({ kind: "welcome" })).length, 2);
    },
  },
  {
    name:
      "of two transactions with one key the second waits: after a rollback of the first it has a job of its own",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("welcome")] });
      const options = { uniqueByArgs: true };
      const one = await stage.begin();
      const two = await stage.begin();
      const lost = await runtime.with(one.tx).enqueue("welcome", { id: 8 }, options);
      const second = runtime.with(two.tx).enqueue("welcome", { id: 8 }, options);
      second.catch(() => {});
      await pause(50);
      await one.rollback();
      const own = await second;
      await two.commit();
      assertNotEquals(own, lost);
      assertEquals((await runtime.get(own))!.state, "pending");
      assertEquals(await runtime.get(lost), null);
    },
  },
  {
    name:
      "of two transactions with one key the second waits: after a commit of the first it has that job's id",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("welcome")] });
      const options = { uniqueByArgs: true };
      const one = await stage.begin();
      const two = await stage.begin();
      const first = await runtime.with(one.tx).enqueue("welcome", { id: 8 }, options);
      const second = runtime.with(two.tx).enqueue("welcome", { id: 8 }, options);
      second.catch(() => {});
      await pause(50);
      await one.commit();
      assertEquals(await second, first);
      await two.commit();
      assertEquals((await runtime.list()).length, 1);
    },
  },
  {
    name: "a key that is released in a transaction can be taken again in it",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k")] });
      const options = { uniqueByArgs: true };
      const old = await runtime.enqueue("k", { id: 1 }, options);
      const made = await stage.transaction(async ({ tx }) => {
        const jobs = runtime.with(tx);
        await jobs.cancel(old);
        return await jobs.enqueue("k", { id: 1 }, options);
      });
      assertNotEquals(made, old);
      assertEquals((await runtime.get(old))!.state, "cancelled");
      assertEquals(await runtime.enqueue("k", { id: 1 }, options), made);
    },
  },
  {
    name: "with(tx) of something that is no transaction is refused by a clear error",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k")] });
      for (const tx of [undefined, null, {}, "tx"]) {
        const error = await assertRejects(async () => await runtime.with(tx as never).enqueue("k"));
        assert(error instanceof TypeError, `${String(tx)}: ${error}`);
      }
      assertEquals(await runtime.list(), []);
    },
  },
];
