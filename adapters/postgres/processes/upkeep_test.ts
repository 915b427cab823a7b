import { assertEquals } from "@std/assert";
import type { UpkeepReport } from "../../../ports/upkeep.ts";
import { PostgresDatabase } from "../connection/database.ts";
import { databaseUrl, freshSchema, gate, withStore } from "../fixture_test.ts";
import { createPostgresStore, type PostgresStore } from "../postgres_store.ts";

function report(task: string, change: Partial<UpkeepReport> = {}): UpkeepReport {
  return { task, owner: null, process: "host:1", successAgoMs: 0, failed: null, ...change };
}

async function tasksOf(store: PostgresStore): Promise<string[]> {
  return (await store.upkeep()).rows.map(({ task }) => task);
}

Deno.test("a report waits for no row that somebody holds", () =>
  withStore(async ({ store }) => {
    await store.reportUpkeep([report("held"), report("free")]);
    const [held, done] = [gate(), gate()];
    const holding = store.database.transaction(async (tx) => {
      await tx.unsafe("select from {schema}.upkeep where task = 'held' for update", []);
      held.open();
      await done.opened;
    });
    await held.opened;
    const failed = { count: 1, firstAgoMs: 0, lastAgoMs: 0, error: "no" };
    await store.reportUpkeep(
      ["held", "free", "new"].map((task) => report(task, { successAgoMs: null, failed })),
    );
    done.open();
    await holding;
    const { rows } = await store.upkeep();
    assertEquals(rows.map(({ task, failuresInARow }) => [task, failuresInARow]), [["free", 1], ["held", 0], [
      "new",
      1,
    ]]);
  }));

Deno.test("a process that is silent, or whose word is from a time to come, is left out and then forgotten", () =>
  withStore(async ({ store }) => {
    await store.reportUpkeep(["a", "b", "c"].map((task) => report(task, { owner: task })));
    await store.database.query(
      "update {schema}.upkeep set renewed_at = renewed_at + case task when 'a' then -1 else 1 end * interval '30 days' where task <> 'c'",
    );
    assertEquals(await tasksOf(store), ["c"]);
    await store.reportUpkeep([report("c", { owner: "c" })]);
    assertEquals((await store.database.query("select task from {schema}.upkeep")).length, 1);
  }));

Deno.test("a task of the whole fleet that nobody has reported for 30 days is left out and then forgotten", () =>
  withStore(async ({ store }) => {
    await store.reportUpkeep(["gone", "rare", "new"].map((task) => report(task)));
    await store.database.query(
      "update {schema}.upkeep set renewed_at = renewed_at - case task when 'gone' then 31 when 'rare' then 29 else 0 end * interval '1 day'",
    );
    assertEquals(await tasksOf(store), ["new", "rare"]);
    await store.reportUpkeep([report("new")]);
    const rows = await store.database.query("select task from {schema}.upkeep order by task");
    assertEquals(rows.map(({ task }) => task), ["new", "rare"]);
  }));

Deno.test("an error that the database's encoding lacks is stored without what it lacks", async () => {
  const name = freshSchema();
  const admin = PostgresDatabase.connect({ url: databaseUrl(), listen: "off" });
  await admin.query(`create database ${name} encoding 'LATIN1' locale 'C' template template0`);
  const url = new URL(databaseUrl());
  url.pathname = `/${name}`;
  const store = createPostgresStore({ url: url.href, listen: "off" });
  try {
    await store.migrate();
    const failed = { count: 1, firstAgoMs: 0, lastAgoMs: 0, error: "broken 💥 at \u0000 last" };
    await store.reportUpkeep([report("sweep", { failed }), report("purge")]);
    assertEquals((await store.upkeep()).rows.map(({ lastError }) => lastError), [
      null,
      "broken ? at ? last",
    ]);
  } finally {
    await store.close();
    await admin.query(`drop database ${name} with (force)`);
    await admin.close();
  }
});
