import { assert, assertEquals, assertLess, assertRejects, assertStringIncludes } from "@std/assert";
import { PostgresDatabase } from "../../adapters/postgres/connection/database.ts";
import { createPostgresStore } from "../../adapters/postgres/postgres_store.ts";
import { SessionSettingsError, StatementTimeoutError } from "../../ports/errors.ts";
import { createLog } from "../../shared/log.ts";
import { testDatabaseUrl, uniqueSchema } from "../support/test_database.ts";
import { TestRole } from "../support/test_role.ts";
import { connectPostgres } from "./support/connect.ts";
import { findPgBouncer, PgBouncer } from "./support/pgbouncer.ts";
import { Site } from "./support/site.ts";

const program = findPgBouncer();

Deno.test({
  name: "through PgBouncer in transaction mode polling finds all work, which is said once",
  ignore: program === null,
  async fn() {
    await using bouncer = await PgBouncer.start(program!, await testDatabaseUrl());
    await using site = await Site.open({ through: bouncer.url, config: { preparedStatements: false } });
    // Migrates through it too.
    const worker = await site.working({ tick: { everyMs: 500, journal: site.journal.path } });
    const began = performance.now();
    const first = await site.enqueue("plain");
    assertEquals((await site.until(first, "completed")).output, worker.pid);
    assertLess(performance.now() - began, 15_000);

    const sql = connectPostgres(bouncer.url);
    const inTransaction = await sql.begin((tx) => site.runtime.with(tx).enqueue("plain", site.args()));
    await sql.end();
    const result = await site.runtime.wait(inTransaction, 5000);
    assert(result.done && result.state === "completed");

    const held = await site.enqueue("hold");
    await site.started(held);
    assertEquals((await site.runtime.cancel(held)).result, "requested");
    await site.until(held, "cancelled");

    const burst = await Promise.all(Array.from({ length: 200 }, () => site.enqueue("plain")));
    for (const id of burst) assertEquals((await site.until(id, "completed")).attempt, 1);

    const unavailable = worker.log.filter((line) => line.event === "listening is not possible");
    assertEquals(unavailable.length, 1);
    const running = await site.enqueue("hold");
    await site.started(running);
    worker.signal("SIGTERM");
    assertEquals((await worker.end()).code, 0);
    const given = (await site.runtime.get(running))!;
    assertEquals([given.state, given.attempt], ["pending", 0]);
    assertEquals((await site.sql.unsafe(`select from ${site.schema}.worker`)).length, 0);
  },
});

Deno.test({
  name: "through PgBouncer, with prepared statements left on: refused with what to do, not half working",
  ignore: program === null,
  async fn() {
    await using bouncer = await PgBouncer.start(program!, await testDatabaseUrl());
    await using site = await Site.open();
    const worker = site.worker({ url: bouncer.url });
    assertEquals((await worker.end()).code, 3);
    assert(/preparedStatements: false/.test(worker.log.at(-1)!.error as string), worker.stdout);
  },
});

/** What sessions of ours ask for, which a pooler is often told to drop. */
const DROPPED = [
  "default_transaction_isolation",
  "IntervalStyle",
  "bytea_output",
  "extra_float_digits",
  "array_nulls",
  "idle_session_timeout",
  "tcp_keepalives_idle",
  "tcp_keepalives_interval",
  "tcp_keepalives_count",
  "statement_timeout",
  "lock_timeout",
  "idle_in_transaction_session_timeout",
  "plan_cache_mode",
  "jit",
  "enable_seqscan",
  "enable_bitmapscan",
  "enable_hashjoin",
  "enable_mergejoin",
  "enable_sort",
  "synchronous_commit",
].join(",");

/** Runs a test behind a pooler that drops what sessions ask for, as a role whose transactions are serializable. */
async function withDropping(
  mode: "session" | "transaction",
  body: (url: string, set: (setting: string) => Promise<void>) => Promise<void>,
): Promise<void> {
  const admin = connectPostgres(await testDatabaseUrl(), 1);
  {
    await using role = await TestRole.make(admin, "dropped");
    const set = async (setting: string) => {
      await admin.unsafe(`alter role ${role.name} ${setting}`);
    };
    await set("superuser");
    await set("set default_transaction_isolation = serializable");
    {
      const settings = { pool_mode: mode, ignore_startup_parameters: DROPPED, default_pool_size: "20" };
      await using bouncer = await PgBouncer.start(program!, role.url, settings);
      await body(bouncer.url, set);
    }
    await admin`select pg_terminate_backend(pid) from pg_stat_activity where usename = ${role.name}`;
  }
  await admin.end();
}

const SETTINGS = `
  select current_setting('default_transaction_isolation') as isolation, current_setting('statement_timeout') as statement,
    current_setting('lock_timeout') as lock, current_setting('idle_in_transaction_session_timeout') as idle`;

Deno.test({
  name: "behind a pooler that drops what sessions ask for, but keeps them: they have it all the same",
  ignore: program === null,
  fn: () =>
    withDropping("session", async (url) => {
      const lines: unknown[] = [];
      const log = createLog({ level: "warn", write: (line) => lines.push(line) });
      const database = PostgresDatabase.connect({ url, schema: uniqueSchema(), poolSize: 2, log });
      const both = await Promise.all([
        database.query(SETTINGS),
        database.transaction(async (tx) => await tx.unsafe(SETTINGS, [])),
      ]);
      const all = { isolation: "read committed", statement: "1min", lock: "10s", idle: "1min" };
      assertEquals(both.map(([row]) => row), [all, all]);
      assertEquals([database.keepsSettings, lines], [true, []]);
      await database.close();
    }),
});

Deno.test({
  name:
    "behind a pooler that drops what sessions ask for, and shares them: nothing is set on others' sessions",
  ignore: program === null,
  fn: () =>
    withDropping("transaction", async (url, set) => {
      const lines: Record<string, unknown>[] = [];
      const log = createLog({ level: "warn", write: (line) => lines.push(JSON.parse(line)) });
      const options = { url, schema: uniqueSchema(), listen: "off", log } as const;
      // Without a start: a program that only enqueues.
      const refused = createPostgresStore(options);
      const error = await assertRejects(() => refused.get("1"), SessionSettingsError, "alter role");
      assertEquals(error.settings.map(({ parameter, value }) => [parameter, value]), [
        ["default_transaction_isolation", "serializable"],
      ]);
      await refused.close();

      await set("reset default_transaction_isolation");
      const admin = connectPostgres(await testDatabaseUrl(), 1);
      await admin`select pg_terminate_backend(pid) from pg_stat_activity where usename = ${
        new URL(url).username
      }`;
      await admin.end();
      const store = createPostgresStore({ ...options, lockTimeoutMs: 1000, statementTimeoutMs: 3000 });
      const { database } = store;
      await database.query("create schema {schema}");
      const [alone] = await database.query(SETTINGS);
      assertEquals([alone?.statement, alone?.lock, database.keepsSettings], ["0", "0", false]);
      const [within] = await database.transaction(async (tx) => await tx.unsafe(SETTINGS, []));
      assertEquals([within?.statement, within?.lock], ["3s", "1s"]);
      const told = lines.filter(({ event }) => event === "a pooler drops the settings of sessions");
      assertEquals(told.length, 1);
      assertStringIncludes(String(told[0]!.settings), "statement_timeout = 0, expected 3s");

      // A unique enqueue waits for another one's key in tries that are brief here too.
      await store.migrate();
      await database.transaction(async (tx) => {
        await tx.unsafe("lock table {schema}.job_key in access exclusive mode", []);
        const job = {
          kind: "k",
          queue: "q",
          args: "{}",
          priority: 2,
          maxAttempts: 1,
          runAt: null,
          unique: true,
        };
        const began = performance.now();
        await assertRejects(() => store.insert([job]), StatementTimeoutError);
        assertLess(performance.now() - began, 2500);
      });
      await database.query("drop schema {schema} cascade");
      await store.close();
    }),
});
