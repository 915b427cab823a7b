import { assertEquals, assertRejects } from "@std/assert";
import { eventually } from "../conformance/eventually.ts";
import { TransactionConflictError } from "../../ports/errors.ts";
import type { Tx } from "../../ports/tx.ts";
import { testDatabaseUrl } from "../support/test_database.ts";
import { connectPostgres } from "./support/connect.ts";
import { Site } from "./support/site.ts";

const UNIQUE = { uniqueByArgs: true };

/** Waits until some session of this database waits for another one's transaction. */
async function someoneWaits(site: Site): Promise<void> {
  await eventually(async () => {
    const waiting = await site.sql`
      select from pg_stat_activity
      where wait_event_type = 'Lock' and wait_event = 'transactionid' and query like ${`%${site.schema}%`}`;
    return waiting.length === 1;
  });
}

/** A transaction that was begun by hand, on a client of one connection. */
function openedBy(client: ReturnType<typeof connectPostgres>): Tx {
  return { unsafe: (text, params) => client.unsafe(text, params) };
}

Deno.test("a duplicate in a business transaction is the first job's id, and the transaction goes on", async () => {
  await using site = await Site.open();
  await site.sql.unsafe(`create table ${site.schema}.orders (id int)`);
  const first = await site.runtime.enqueue("plain", { n: 7 }, UNIQUE);
  const found = await site.sql.begin(async (tx) => {
    await tx.unsafe(`insert into ${site.schema}.orders values (1)`);
    const id = await site.runtime.with(tx).enqueue("plain", { n: 7 }, UNIQUE);
    await tx.unsafe(`insert into ${site.schema}.orders values (2)`);
    return id;
  });
  assertEquals(found, first);
  assertEquals((await site.sql.unsafe(`select from ${site.schema}.orders`)).length, 2);
  assertEquals((await site.runtime.list()).length, 1);
});

for (const end of ["commit", "rollback"] as const) {
  Deno.test(`who waits for another transaction's key gets a job that exists, after its ${end}`, async () => {
    await using site = await Site.open();
    const holder = connectPostgres(await testDatabaseUrl());
    try {
      await holder.unsafe("begin");
      const held = await site.runtime.with(openedBy(holder)).enqueue("plain", { n: 8 }, UNIQUE);
      const waiting = site.sql.begin((tx) => site.runtime.with(tx).enqueue("plain", { n: 8 }, UNIQUE));
      await someoneWaits(site);
      await holder.unsafe(end);
      const id = await waiting;
      assertEquals(id === held, end === "commit");
      assertEquals((await site.runtime.get(id))?.state, "pending");
      assertEquals((await site.runtime.list()).map((job) => job.id), [id]);
    } finally {
      await holder.end();
    }
  });
}

Deno.test("in repeatable read, after the holder's commit, it is a typed error that says to try again", async () => {
  await using site = await Site.open();
  const holder = connectPostgres(await testDatabaseUrl());
  try {
    await holder.unsafe("begin");
    const held = await site.runtime.with(openedBy(holder)).enqueue("plain", { n: 9 }, UNIQUE);
    const waiting = site.sql.begin(
      "isolation level repeatable read",
      async (tx) => {
        await tx`select 1`;
        return await site.runtime.with(tx).enqueue("plain", { n: 9 }, UNIQUE);
      },
    );
    const refused = assertRejects(() => waiting, TransactionConflictError);
    await someoneWaits(site);
    await holder.unsafe("commit");
    await refused;
    const again = await site.sql.begin(
      "isolation level repeatable read",
      (tx) => site.runtime.with(tx).enqueue("plain", { n: 9 }, UNIQUE),
    );
    assertEquals(again, held);
  } finally {
    await holder.end();
  }
});
