import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { createRuntime, type PostgresRuntime } from "../../mod.ts";
import { RefusedValueError, TransactionConflictError } from "../../ports/errors.ts";
import type { Tx } from "../../ports/tx.ts";
import { type Maker, MAKERS } from "../drivers/transaction_makers.ts";
import { testDatabaseUrl, uniqueSchema } from "../support/test_database.ts";
import { connectPostgres } from "./support/connect.ts";

/** A schema whose check takes its time. */
const checking = {
  wait: Promise.resolve(),
  validate: async (value: unknown) => {
    await checking.wait;
    return { value };
  },
};

interface Scene {
  readonly maker: Maker;
  readonly runtime: PostgresRuntime;
  readonly orders: string;
  readonly schema: string;
  count(): Promise<number>;
}

async function withScene(make: (url: string) => Maker, body: (scene: Scene) => Promise<void>): Promise<void> {
  const url = await testDatabaseUrl();
  const schema = uniqueSchema();
  const orders = `${schema}.orders`;
  const sql = connectPostgres(url, 1);
  const maker = make(url);
  const runtime = createRuntime({
    url,
    schema,
    registrars: [{
      kinds: [
        { name: "order.mail", queue: "default", maxAttempts: 3, timeout: 20_000, handler: () => "sent" },
        {
          name: "order.check",
          queue: "default",
          maxAttempts: 3,
          timeout: 20_000,
          handler: () => "checked",
          args: { "~standard": { version: 1, vendor: "test", validate: checking.validate } },
        },
        {
          name: "order.close",
          queue: "default",
          maxAttempts: 1,
          timeout: 20_000,
          handler: async (_args, ctx) => {
            await maker.transaction(async (tx) => {
              await tx.unsafe(`insert into ${orders} (id) values ($1::text::int)`, [7]);
              await ctx.completeIn(tx, { closed: true });
            });
          },
        },
      ],
    }],
  });
  try {
    await runtime.migrate();
    await sql.unsafe(`create table ${orders} (id int primary key, note text)`);
    await body({
      maker,
      runtime,
      orders,
      schema,
      count: async () => (await sql.unsafe(`select * from ${orders}`)).length,
    });
  } finally {
    await runtime.stop();
    await maker.end();
    await sql.unsafe(`drop schema ${schema} cascade`);
    await sql.end();
  }
}

const insertOrder = (tx: Tx, orders: string, id: number) =>
  tx.unsafe(
    `insert into ${orders} (id, note) values ($1::text::int, $2::text) returning id, note as the_note`,
    [
      id,
      null,
    ],
  );

for (const [key, make] of Object.entries(MAKERS)) {
  Deno.test(`${key}: order and job commit together, and roll back together`, () =>
    withScene(make, async ({ maker, runtime, orders, count }) => {
      let id = "";
      await maker.transaction(async (tx) => {
        const rows = await insertOrder(tx, orders, 1);
        assertEquals(rows.map((row) => ({ ...row })), [{ id: 1, the_note: null }]);
        id = await runtime.with(tx).enqueue("order.mail", { order: 1, note: "ä'\"\\$1" });
        assertEquals(await runtime.get(id), null);
      });
      assertEquals((await runtime.get(id))!.args, { order: 1, note: "ä'\"\\$1" });
      await assertRejects(() =>
        maker.transaction(async (tx) => {
          await insertOrder(tx, orders, 2);
          id = await runtime.with(tx).enqueue("order.mail", { order: 2 });
          throw new Error("changed my mind");
        })
      );
      assertEquals([await runtime.get(id), await count()], [null, 1]);
    }));

  Deno.test(`${key}: many, unique and cancelled jobs do in it what they do elsewhere`, () =>
    withScene(make, async ({ maker, runtime }) => {
      const unique = { uniqueByArgs: true, runAt: new Date(Date.now() + 60_000), priority: 1 } as const;
      const before = await runtime.enqueue("order.mail", { a: 1, b: 2 }, unique);
      await maker.transaction(async (tx) => {
        const jobs = runtime.with(tx);
        assertEquals(await jobs.enqueue("order.mail", { b: 2, a: 1 }, unique), before);
        const ids = await jobs.enqueueMany(
          [1, 2, 1].map((n) => ({ kind: "order.mail", args: { n }, ...unique })),
        );
        assertEquals([new Set(ids).size, ids[0]], [2, ids[2]]);
        assertEquals(await jobs.cancel(before), { result: "cancelled", state: "cancelled" });
        assertEquals((await jobs.cancel("999999999")).result, "gone");
      });
      assertEquals((await runtime.get(before))!.state, "cancelled");
    }));

  Deno.test(`${key}: a handler completes its job in it, once`, () =>
    withScene(make, async ({ runtime, count }) => {
      await runtime.start();
      const result = await runtime.wait(await runtime.enqueue("order.close"), 20_000);
      assert(result.done);
      assertEquals([result.state, result.output, result.error], ["completed", { closed: true }, null]);
      assertEquals(await count(), 1);
    }));

  Deno.test(`${key}: what the database refuses is the same typed error`, () =>
    withScene(make, async ({ maker, runtime, schema }) => {
      const unique = { uniqueByArgs: true };
      await assertRejects(() =>
        maker.transaction(async (tx) => {
          await tx.unsafe("set transaction isolation level repeatable read", []);
          await tx.unsafe("select 1 as one", []);
          await runtime.enqueue("order.mail", {}, unique);
          const error = await assertRejects(
            () => runtime.with(tx).enqueue("order.mail", {}, unique),
            TransactionConflictError,
          );
          assertEquals(error.sqlState, "40001");
          throw error;
        })
      );
      await assertRejects(() =>
        maker.transaction(async (tx) => {
          await tx.unsafe(`alter table ${schema}.job add constraint no_priority_4 check (priority < 4)`, []);
          const error = await assertRejects(
            () => runtime.with(tx).enqueue("order.mail", {}, { priority: 4 }),
            RefusedValueError,
          );
          assertEquals(error.sqlState, "23514");
          throw error;
        })
      );
    }));

  Deno.test(`${key}: a transaction that was handed over without its helper is refused by the helper's name`, () =>
    withScene(make, async ({ maker, runtime }) => {
      await maker.bare((tx) => {
        const error = assertThrows(
          () => runtime.with(tx as Tx),
          TypeError,
          "@millrace/millrace/transactions",
        );
        assertMatch(error.message, new RegExp(`pass ${key.replace(/On.*/, "")}Tx\\(`));
        assertThrows(() => runtime.recorder.with(tx as Tx), TypeError, "Tx(");
      });
    }));

  Deno.test(`${key}: a transaction that was kept is no door into a later one, where that can be told`, () =>
    withScene(make, async ({ maker, runtime }) => {
      let kept: Tx | undefined;
      await maker.transaction((tx) => {
        kept = tx;
        return Promise.resolve();
      });
      if (!maker.tellsEnd) return;
      await assertRejects(() => runtime.with(kept!).enqueue("order.mail"));
      // Its connection is now this one's.
      await maker.transaction(async () => {
        await assertRejects(() => runtime.with(kept!).enqueue("order.mail"));
      });
      assertEquals(await runtime.list(), []);
    }));

  Deno.test(`${key}: what a schema's promise has delayed beyond the end of the transaction is refused`, () =>
    withScene(make, async ({ maker, runtime }) => {
      const ended = Promise.withResolvers<void>();
      checking.wait = ended.promise;
      const forgotten: Promise<unknown>[] = [];
      await maker.transaction((tx) => {
        for (
          const act of [
            () => runtime.with(tx).enqueue("order.check", { n: 1 }),
            () => runtime.with(tx).enqueueMany([{ kind: "order.check", args: { n: 1 } }]),
          ]
        ) forgotten.push(assertRejects(act));
        return Promise.resolve();
      });
      // Its connection may be this one's now.
      await maker.transaction(async () => {
        ended.resolve();
        await Promise.all(forgotten);
      });
      assertEquals(await runtime.list(), []);
      await maker.transaction(async (tx) => {
        await runtime.with(tx).enqueue("order.check", { n: 1 });
      });
      assertEquals((await runtime.list()).length, 1);
    }));

  Deno.test(`${key}: what was not awaited in a transaction is written by it, where its check takes no time`, () =>
    withScene(make, async ({ maker, runtime }) => {
      let forgotten: Promise<string> | undefined;
      await assertRejects(() =>
        maker.transaction((tx) => {
          forgotten = runtime.with(tx).enqueue("order.mail");
          forgotten.catch(() => {});
          return Promise.reject(new Error("changed my mind"));
        })
      );
      await forgotten?.catch(() => {});
      assertEquals(await runtime.list(), []);
    }));

  Deno.test(`${key}: what is no open transaction is refused`, () =>
    withScene(make, ({ maker }) => {
      for (const [what, mistake] of Object.entries(maker.mistakes)) {
        assertThrows(mistake, TypeError, "expected", what);
      }
      return Promise.resolve();
    }));
}
