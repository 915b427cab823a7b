import { assert, assertEquals } from "@std/assert";
import { PostgresDatabase } from "../../adapters/postgres/connection/database.ts";
import { createRuntime } from "../../mod.ts";
import type { MigrationStep } from "../../ports/database.ts";
import { eventually } from "../conformance/eventually.ts";
import { uniqueSchema } from "../support/test_database.ts";
import { withSchemas } from "./support/schemas.ts";

const SLOW: readonly MigrationStep[] = [
  {
    version: 1,
    name: "first",
    up: "create table {schema}.first (id int)",
    down: "drop table {schema}.first",
  },
  {
    version: 2,
    name: "slow",
    up: "create table {schema}.slow (id int); select pg_sleep(1)",
    down: "drop table {schema}.slow",
  },
];

Deno.test("a process that is cut off in the middle of a migration leaves whole steps, and the next one completes it", async () => {
  await withSchemas(1, async ({ url, sql, schemas: [schema] }) => {
    const killed = PostgresDatabase.connect({ url, schema: schema!, listen: "off" });
    await killed.migrate("part", SLOW.slice(0, 1));
    const migrating = killed.migrate("part", SLOW).then(() => null, (error) => error);
    await eventually(async () => {
      const sleeping = await sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where wait_event = 'PgSleep' and query like ${`%${schema}%`}`;
      return sleeping.length === 1;
    });
    assert(await migrating !== null);
    await killed.close();
    const [version] = await sql.unsafe(`select max(version) as version from ${schema}.migration`);
    assertEquals(version!.version, 1);
    const next = PostgresDatabase.connect({ url, schema: schema!, listen: "off" });
    await next.migrate("part", SLOW);
    assertEquals(await next.migratedTo("part"), 2);
    await next.close();
  });
});

Deno.test("those who wait for a migration outlive their role's statement_timeout, with one connection each", async () => {
  await withSchemas(1, async ({ url, sql, schemas: [schema] }) => {
    const role = uniqueSchema();
    const [{ name } = { name: "" }] = await sql`select current_database() as name`;
    await sql.unsafe(`
      create role ${role} login password 'p';
      alter role ${role} set statement_timeout = '300ms';
      alter role ${role} set lock_timeout = '300ms';
      grant create on database ${name} to ${role}`);
    const as = new URL(url);
    as.username = role;
    as.password = "p";
    const databases = Array.from(
      { length: 4 },
      () => PostgresDatabase.connect({ url: as.href, schema: schema!, poolSize: 1, listen: "off" }),
    );
    try {
      await Promise.all(databases.map((database) => database.migrate("part", SLOW)));
      assertEquals(await databases[0]!.migratedTo("part"), 2);
    } finally {
      for (const database of databases) await database.close();
      await sql.unsafe(`drop owned by ${role} cascade; drop role ${role}`);
    }
  });
});

Deno.test("two installs in two schemas of one database migrate at once and never mix", async () => {
  await withSchemas(2, async ({ url, schemas }) => {
    const began = performance.now();
    const databases = schemas.map((schema) => PostgresDatabase.connect({ url, schema, listen: "off" }));
    await Promise.all(databases.map((database) => database.migrate("part", SLOW)));
    // Each sleeps for 1 s, so one after the other would take 2.
    const tookMs = performance.now() - began;
    assert(tookMs < 1900, `they took ${tookMs} ms`);
    for (const database of databases) await database.close();

    const kinds = [{ name: "k", queue: "default", maxAttempts: 1, timeout: 1000, handler: () => {} }];
    const [one, other] = schemas.map((schema) => createRuntime({ url, schema, registrars: [{ kinds }] }));
    await Promise.all([one!.migrate(), other!.migrate()]);
    await Promise.all([one!.start(), other!.start()]);
    const id = await one!.enqueue("k");
    assertEquals((await one!.wait(id, 5000)).done, true);
    assertEquals(await other!.list(), []);
    await Promise.all([one!.stop(), other!.stop()]);
  });
});
