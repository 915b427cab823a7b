import { assert, assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { RefusedValueError, TransactionConflictError } from "../../../ports/errors.ts";
import type { Tx } from "../../../ports/tx.ts";
import { gate, newJob, withStore } from "../fixture_test.ts";

Deno.test("ids come in the order of the request, and args come back digit by digit", () =>
  withStore(async ({ store }) => {
    const texts = [
      '{"id": 1970670598291982290}',
      '"a\\\\u0000"',
      '{"q": "\\"{},\\\\"}',
      "null",
      '["ü", 1.50]',
    ];
    const inserted = await store.insert(texts.map((args) => newJob({ args })));
    assertEquals(inserted.map(({ existed }) => existed), texts.map(() => false));
    for (const [index, { id }] of inserted.entries()) {
      assertEquals((await store.get(id))?.argsText, texts[index]);
    }
    assertEquals(inserted.map(({ id }) => id), ["1", "2", "3", "4", "5"]);
  }));

Deno.test("an instant in the past is now: a claimer would not look behind its position", () =>
  withStore(async ({ store, claim }) => {
    await store.insert([newJob({ runAt: "2001-01-01T00:00:00.000Z" })]);
    const [job] = await store.list({ limit: 1 });
    assert(Date.parse(job!.scheduledAt) > Date.now() - 60_000, job!.scheduledAt);
    assertEquals((await claim()).length, 1);
  }));

Deno.test("a value that the database refuses stores nothing of the call", () =>
  withStore(async ({ store }) => {
    await assertRejects(
      () => store.insert([newJob(), newJob({ args: '"\\u0000"' }), newJob()]),
      RefusedValueError,
    );
    assertEquals(await store.list({ limit: 10 }), []);
  }));

Deno.test("in a transaction a job exists if and only if it commits", () =>
  withStore(async ({ store, claim }) => {
    let id = "";
    await assertRejects(() =>
      store.database.transaction(async (tx) => {
        id = (await store.insert([newJob()], tx))[0]!.id;
        throw new Error("roll back");
      })
    );
    assertEquals(await store.get(id), null);
    await store.database.transaction(async (tx) => {
      id = (await store.insert([newJob()], tx))[0]!.id;
      assertEquals((await claim()).length, 0);
    });
    assertEquals((await claim()).map((job) => job.id), [id]);
  }));

Deno.test("a transaction whose driver renames columns is refused, not read as an id that is none", () =>
  withStore(async ({ store }) => {
    for (const unique of [false, true]) {
      await assertRejects(
        () =>
          store.database.transaction(async (tx) => {
            const shouting: Tx = {
              unsafe: async (text, params) =>
                (await tx.unsafe(text, params)).map((row) =>
                  Object.fromEntries(Object.entries(row).map(([name, value]) => [name.toUpperCase(), value]))
                ),
            };
            await store.insert([newJob({ unique })], shouting);
          }),
        TypeError,
        "expected the column id",
      );
    }
    assertEquals(await store.list({ limit: 10 }), []);
  }));

Deno.test("unique jobs of one call: the key ignores the order of keys, and duplicates share an id", () =>
  withStore(async ({ store }) => {
    const inserted = await store.insert([
      newJob({ unique: true, args: '{"b":2,"a":1}' }),
      newJob({ args: '{"a":1,"b":2}' }),
      newJob({ unique: true, args: '{"a":1,"b":2}' }),
      newJob({ unique: true, args: '{"a":1}' }),
      newJob({ unique: true, args: '{"a":1}', kind: "other" }),
    ]);
    assertEquals(inserted.map(({ existed }) => existed), [false, false, true, false, false]);
    assertEquals(inserted[0]!.id, inserted[2]!.id);
    assertEquals(new Set(inserted.map(({ id }) => id)).size, 4);
  }));

Deno.test("a key is held while its job waits, runs or is completed, and free when it was discarded or cancelled", () =>
  withStore(async ({ store, claim, finish }) => {
    const enqueue = async () => (await store.insert([newJob({ unique: true })]))[0]!;
    const first = await enqueue();
    assertEquals(await enqueue(), { id: first.id, existed: true });
    const running = await claim();
    assertEquals(await enqueue(), { id: first.id, existed: true });
    await finish(running);
    assertEquals(await enqueue(), { id: first.id, existed: true });
    assertEquals(await store.purge({ completedMs: 0, othersMs: 0, limit: 10 }), 1);
    const second = await enqueue();
    assertEquals(second.existed, false);
    await finish(await claim(), "discarded");
    const third = await enqueue();
    assertNotEquals(third.id, second.id);
    await store.cancel(third.id);
    assertEquals((await enqueue()).existed, false);
  }));

Deno.test("50 concurrent enqueuers of one key make one job", () =>
  withStore(async ({ store }) => {
    for (let round = 0; round < 10; round++) {
      const args = JSON.stringify({ round });
      const results = await Promise.all(
        Array.from({ length: 50 }, () => store.insert([newJob({ unique: true, args })])),
      );
      const made = results.flat().filter(({ existed }) => !existed);
      assertEquals(made.length, 1);
      assertEquals(new Set(results.flat().map(({ id }) => id)).size, 1);
    }
    assertEquals((await store.list({ limit: 100 })).length, 10);
  }, { poolSize: 20 }));

Deno.test("50 concurrent enqueuers in transactions, half of which roll back: each gets a job that exists", () =>
  withStore(async ({ store }) => {
    for (let round = 0; round < 5; round++) {
      const args = JSON.stringify({ round });
      const outcomes = await Promise.all(Array.from({ length: 50 }, async (_, n) => {
        try {
          return await store.database.transaction(async (tx) => {
            const [one] = await store.insert([newJob({ unique: true, args })], tx);
            if (n % 2 === 0) throw new Error("roll back");
            return one!.id;
          });
        } catch (error) {
          if ((error as Error).message === "roll back") return null;
          throw error;
        }
      }));
      const ids = new Set(outcomes.filter((id) => id !== null));
      assertEquals(ids.size, 1);
      assertEquals((await store.get([...ids][0]!))?.state, "pending");
    }
  }, { poolSize: 20 }));

Deno.test("many batches with the same keys in different orders do not deadlock", () =>
  withStore(async ({ store }) => {
    const jobs = Array.from({ length: 40 }, (_, n) => newJob({ unique: true, args: JSON.stringify({ n }) }));
    const results = await Promise.all(Array.from({ length: 12 }, (_, turn) => {
      const mixed = turn % 2 === 0 ? jobs : jobs.toReversed();
      return store.insert(mixed);
    }));
    assertEquals(new Set(results.flat().map(({ id }) => id)).size, 40);
  }, { poolSize: 14 }));

Deno.test("a duplicate found inside a transaction does it no harm", () =>
  withStore(async ({ store }) => {
    const [held] = await store.insert([newJob({ unique: true })]);
    await store.database.query("create table {schema}.orders (id int)");
    await store.database.transaction(async (tx) => {
      await tx.unsafe("insert into {schema}.orders values (1)", []);
      assertEquals(await store.insert([newJob({ unique: true })], tx), [{ id: held!.id, existed: true }]);
      await tx.unsafe("insert into {schema}.orders values (2)", []);
    });
    assertEquals((await store.database.query("select count(*)::int as n from {schema}.orders"))[0]?.n, 2);
    assertEquals((await store.list({ limit: 10 })).length, 1);
  }));

Deno.test("an enqueuer that waits for a transaction which rolls back gets a job of its own", () =>
  withStore(async ({ store }) => {
    const [written, decided] = [gate(), gate()];
    const first = store.database.transaction(async (tx) => {
      await store.insert([newJob({ unique: true })], tx);
      written.open();
      await decided.opened;
      throw new Error("roll back");
    });
    await written.opened;
    const second = store.insert([newJob({ unique: true })]);
    decided.open();
    await assertRejects(() => first, Error, "roll back");
    const [own] = await second;
    assertEquals(own!.existed, false);
    assertEquals((await store.get(own!.id))?.state, "pending");
  }));

Deno.test("in repeatable read a key that another transaction took is a typed conflict", () =>
  withStore(async ({ store }) => {
    const [begun, committed] = [gate(), gate()];
    const late = store.database.transaction(async (tx) => {
      await tx.unsafe("select 1 from {schema}.job", []);
      begun.open();
      await committed.opened;
      await store.insert([newJob({ unique: true })], tx);
    }, { isolation: "repeatable read" });
    await begun.opened;
    await store.insert([newJob({ unique: true })]);
    committed.open();
    const error = await assertRejects(() => late, TransactionConflictError);
    assertEquals(error.sqlState, "40001");
  }));
