import { assert, assertEquals, assertLessOrEqual, assertMatch, assertRejects } from "@std/assert";
import {
  DatabaseUnavailableError,
  SessionSettingsError,
  StatementTimeoutError,
  UniqueKeyHeldError,
} from "../../../ports/errors.ts";
import { createLog } from "../../../shared/log.ts";
import { databaseUrl, freshSchema, gate, newJob, until, withStore } from "../fixture_test.ts";
import { createPostgresStore } from "../postgres_store.ts";
import { ConnectionPool } from "./connection_pool.ts";
import { readConnectionUrl } from "./connection_url.ts";
import { PostgresDatabase, type PostgresDatabaseOptions } from "./database.ts";
import { DEFAULT_BOUNDS } from "./session.ts";

/** Runs a test with a role of its own, which has these settings. */
async function withRole(
  settings: Readonly<Record<string, string>>,
  body: (
    role: { readonly url: string; readonly set: (name: string, value: string | null) => Promise<void> },
  ) => Promise<
    void
  >,
): Promise<void> {
  const admin = PostgresDatabase.connect({ url: databaseUrl(), poolSize: 1, listen: "off" });
  const name = `r_${crypto.randomUUID().slice(0, 8)}`;
  const url = new URL(databaseUrl());
  [url.username, url.password] = [name, "secret"];
  const set = async (parameter: string, value: string | null) => {
    await admin.query(
      value === null
        ? `alter role ${name} reset ${parameter}`
        : `alter role ${name} set ${parameter} = '${value.replaceAll("'", "''")}'`,
    );
  };
  await admin.query(`create role ${name} login superuser password 'secret'`);
  try {
    for (const [parameter, value] of Object.entries(settings)) await set(parameter, value);
    await body({ url: url.href, set });
  } finally {
    await until("the role's sessions are gone", async () =>
      (await admin.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where usename = $1::text",
        [name],
      )).length === 0);
    await admin.query(`drop owned by ${name} cascade`);
    await admin.query(`drop role ${name}`);
    await admin.close();
  }
}

async function withDatabase(
  options: Partial<PostgresDatabaseOptions>,
  body: (database: PostgresDatabase) => Promise<void>,
): Promise<void> {
  const database = PostgresDatabase.connect({
    url: databaseUrl(),
    schema: freshSchema(),
    listen: "off",
    ...options,
  });
  try {
    await body(database);
  } finally {
    await database.close();
  }
}

const pidOf = async (database: PostgresDatabase) =>
  Number((await database.query("select pg_backend_pid() as pid"))[0]?.pid);

Deno.test("whatever a role has for defaults, the statements of every job run as they should", () =>
  withRole({
    default_transaction_isolation: "serializable",
    default_transaction_deferrable: "on",
    TimeZone: "Asia/Kathmandu",
    DateStyle: "SQL, DMY",
    IntervalStyle: "sql_standard",
    bytea_output: "escape",
    extra_float_digits: "-5",
    standard_conforming_strings: "off",
    array_nulls: "off",
    search_path: "pg_temp",
    statement_timeout: "1ms",
    lock_timeout: "1ms",
    idle_session_timeout: "50ms",
    idle_in_transaction_session_timeout: "1ms",
  }, ({ url }) =>
    withStore(async ({ store, claim, finish }) => {
      const unique = (n: number) => newJob({ unique: true, args: `{"n":${n % 50}}` });
      const inserted = await Promise.all(Array.from({ length: 400 }, (_, n) => store.insert([unique(n)])));
      assertEquals(new Set(inserted.flat().map(({ id }) => id)).size, 50);
      await Promise.all(Array.from({ length: 50 }, () => store.insert([newJob()])));
      const claimed = await claim(200);
      assertEquals(claimed.length, 100);
      await finish(claimed);
      await new Promise((resolve) => setTimeout(resolve, 200));
      assertEquals((await store.get(claimed[0]!.id))?.state, "completed");
      const [settings] = await store.database.query(`
        select current_setting('transaction_isolation') as isolation, current_setting('TimeZone') as zone,
          '\\x00'::bytea::text as bytes, 'infinity'::timestamptz > now() as later`);
      assertEquals(settings, { isolation: "read committed", zone: "UTC", bytes: "\\x00", later: true });
    }, { url })));

Deno.test("a role's transaction_timeout, which no session of ours can state, is told, and ends no migration", () =>
  withRole({}, ({ url, set }) =>
    withStore(async ({ store }) => {
      const [{ version } = { version: 0 }] = await store.database.query(
        "select current_setting('server_version_num')::int as version",
      );
      if (Number(version) < 170_000) return;
      await set("transaction_timeout", "300ms");
      const lines: Record<string, unknown>[] = [];
      const log = createLog({ level: "warn", write: (line) => lines.push(JSON.parse(line)) });
      const bounded = createPostgresStore({ url, schema: store.database.schema, listen: "off", log });
      await bounded.open();
      assertEquals(lines.map(({ event, parameter, ms }) => [event, parameter, ms]), [
        ["session with a tighter bound", "transaction_timeout", 300],
      ]);
      const up = "create table {schema}.slow (); select pg_sleep(0.6)";
      await bounded.database.migrate("slow", [{
        version: 1,
        name: "slow",
        up,
        down: "drop table {schema}.slow",
      }]);
      await assertRejects(() => bounded.database.query("select pg_sleep(0.6)"), DatabaseUnavailableError);
      await bounded.close();
    })));

Deno.test("sessions that were opened on a read-only server are thrown away: a typed error until it is not, then all works", () =>
  withRole({}, async ({ url, set }) => {
    const store = createPostgresStore({ url, schema: freshSchema(), listen: "off" });
    await store.migrate();
    await set("default_transaction_read_only", "on");
    const stale = createPostgresStore({ url, schema: store.database.schema, listen: "off" });
    const refused = await assertRejects(
      () => stale.insert([newJob()]),
      DatabaseUnavailableError,
      "read-only",
    );
    assertMatch(refused.message, /connect to the primary/);
    await set("default_transaction_read_only", null);
    const begun = performance.now();
    await until("a job can be enqueued again", () => stale.insert([newJob()]).then(() => true, () => false));
    assertLessOrEqual(performance.now() - begun, 10_000);
    await store.database.query("drop schema {schema} cascade");
    await Promise.all([store.close(), stale.close()]);
  }));

Deno.test("where all sessions of a pool are of a server that takes no writes any more, not even the first statement fails", () =>
  withRole(
    { default_transaction_read_only: "on" },
    ({ url, set }) =>
      withDatabase({ url, poolSize: 3 }, async (database) => {
        const fill = () =>
          Promise.all([1, 2, 3].map(() => database.query("select pg_sleep(0.2), pg_backend_pid() as pid")));
        const stale = (await fill()).map(([row]) => Number(row?.pid));
        assertEquals(new Set(stale).size, 3);
        await set("default_transaction_read_only", null);
        await new Promise((resolve) => setTimeout(resolve, 2100));
        await database.query("create schema {schema}");
        const fresh = (await fill()).map(([row]) => Number(row?.pid));
        assertEquals(fresh.filter((pid) => stale.includes(pid)), []);
        await database.query("drop schema {schema}");
      }),
  ));

Deno.test("a statement whose prepared form is gone or is stale works at once", () =>
  withDatabase({ poolSize: 1 }, async (database) => {
    await database.query("create schema {schema}");
    await database.query("create table {schema}.t (n int)");
    await database.query("select * from {schema}.t where n = $1::int", [1]);
    await database.query("alter table {schema}.t add column m int");
    assertEquals(
      await database.query("select * from {schema}.t where n = $1::int", [1]).then((rows) => rows.length),
      0,
    );
    await database.query("deallocate all");
    assertEquals(
      await database.query("select * from {schema}.t where n = $1::int", [1]).then((rows) => rows.length),
      0,
    );
    await database.query("drop schema {schema} cascade");
  }));

Deno.test("a transaction whose prepared statements were dropped works, and nothing of it is done twice", () =>
  withDatabase({ poolSize: 1 }, async (database) => {
    await database.query("create schema {schema}");
    await database.query("create table {schema}.t (n int)");
    const add = (drop?: string) =>
      database.transaction(async (tx) => {
        await tx.unsafe("insert into {schema}.t values ($1::int)", [1]);
        if (drop === undefined) return;
        await tx.unsafe(drop, []);
        await tx.unsafe("insert into {schema}.t values ($1::int)", [1]);
      });
    await add();
    await add("deallocate all");
    await add();
    await database.transaction(async (tx) => {
      await tx.unsafe("do $$ begin execute 'deallocate all'; end $$", []);
    });
    await add();
    await database.query("discard all");
    await add();
    const [count] = await database.query("select count(*)::int as n from {schema}.t");
    assertEquals(count, { n: 6 });
    await database.query("drop schema {schema} cascade");
  }));

Deno.test("a connection of the greatest age is replaced, and never are there more than the pool may have", async () => {
  const client = {
    address: readConnectionUrl(databaseUrl()),
    preparedStatements: true,
    connectTimeoutMs: 10_000,
    session: { application_name: `age_${crypto.randomUUID().slice(0, 8)}` },
    bounds: DEFAULT_BOUNDS,
    ageMaxMs: 100,
  };
  const pool = new ConnectionPool({ client, size: 2, acquireTimeoutMs: 10_000 });
  const pids = new Set<number>();
  let most = 0;
  const endMs = performance.now() + 800;
  await Promise.all(Array.from({ length: 6 }, async () => {
    while (performance.now() < endMs) {
      await pool.use(async (each) => {
        const [row] = await each.run(
          `select pg_backend_pid() as pid,
            (select count(*)::int from pg_stat_activity where application_name = $1::text) as sessions`,
          [client.session.application_name],
        );
        pids.add(Number(row?.pid));
        most = Math.max(most, Number(row?.sessions));
      });
    }
  }));
  await pool.end(1000);
  assert(pids.size > 4, `${pids.size} sessions`);
  assertEquals(most, 2);
});

Deno.test("where sessions can't state a bound the client has the server end the statement, and then takes another", () =>
  withDatabase({ poolSize: 1, preparedStatements: false, statementTimeoutMs: 200 }, async (database) => {
    const pid = await pidOf(database);
    const begun = performance.now();
    const error = await assertRejects(() => database.query("select pg_sleep(30)"), StatementTimeoutError);
    assertEquals([error.bound, error.boundMs], ["statement", 200]);
    assertLessOrEqual(performance.now() - begun, 5000);
    const left = await database.query(
      "select from pg_stat_activity where pid = $1::int and state = 'active'",
      [pid],
    );
    assertEquals(left.length, 0);
    // A transaction says its bounds itself, so the server needs nobody to tell it.
    const next = await pidOf(database);
    const slow = () => database.transaction(async (tx) => await tx.unsafe("select pg_sleep(30)", []));
    await assertRejects(slow, StatementTimeoutError);
    assertEquals(await pidOf(database), next);
  }));

Deno.test("what still runs when a database is closed is ended on the server too", async () => {
  const mark = `mark_${crypto.randomUUID().slice(0, 8)}`;
  await withDatabase({}, async (other) => {
    await withDatabase({}, async (database) => {
      const running = database.query(`select pg_sleep(60) as ${mark}`).catch(() => {});
      const isThere = async () =>
        (await other.query(
          "select from pg_stat_activity where query like $1::text and pid <> pg_backend_pid()",
          [
            `%${mark}`,
          ],
        )).length > 0;
      await until("it runs", isThere);
      await database.close();
      await running;
      await until("it has ended", async () => !(await isThere()));
    });
  });
});

Deno.test("a unique key that an open transaction holds: a typed error at the bound, and nobody else waits", () =>
  withStore(async ({ store, claim, finish }) => {
    const held = newJob({ unique: true, args: '{"held":true}' });
    const [taken, letGo] = [gate(), gate()];
    const holder = store.database.transaction(async (tx) => {
      await store.insert([held], tx);
      taken.open();
      await letGo.opened;
    });
    await taken.opened;
    const waiting = Promise.all(
      Array.from({ length: 12 }, () => assertRejects(() => store.insert([held]), UniqueKeyHeldError)),
    );
    let isOver = false;
    waiting.finally(() => isOver = true);
    for (let n = 0; n < 5; n++) {
      await store.insert([newJob()]);
      await finish(await claim());
    }
    await store.insert([newJob({ unique: true })]);
    assertEquals(isOver, false);
    const several = () => store.insert([newJob(), held]);
    const [[error]] = await Promise.all([waiting, assertRejects(several, UniqueKeyHeldError)]);
    assertEquals(error!.kind, "k");
    assertMatch(error!.message, /kind "k".*Nothing was stored/);
    const other = store.insert([held]);
    letGo.open();
    await holder;
    assertEquals((await other)[0]?.existed, true);
  }, { lockTimeoutMs: 3000 }));

Deno.test("what waits for the row of a job or of a queue has its bound, and keeps no connection from others", () =>
  withStore(async ({ store, claim, finish }) => {
    const [job] = await store.insert([newJob({ runAt: "2200-01-01T00:00:00Z" })]);
    await store.declare({ queues: ["held"], kinds: [] });
    const [taken, letGo] = [gate(), gate()];
    const holder = store.database.transaction(async (tx) => {
      await tx.unsafe("select from {schema}.job where id = $1::text::bigint for update", [job!.id]);
      await tx.unsafe("select from {schema}.queue where name = 'held' for update", []);
      taken.open();
      await letGo.opened;
    });
    await taken.opened;
    const calls = [() => store.cancel(job!.id), () => store.retry(job!.id), () => store.pauseQueue("held")];
    const waiting = Promise.all(
      [...calls, ...calls, ...calls, ...calls].map((call) => assertRejects(call, StatementTimeoutError)),
    );
    let isOver = false;
    waiting.finally(() => isOver = true);
    for (let n = 0; n < 5; n++) {
      await store.insert([newJob()]);
      await finish(await claim());
      await store.counts();
    }
    assertEquals(isOver, false);
    for (const error of await waiting) assertEquals(error.bound, "lock");
    letGo.open();
    await holder;
    assertEquals((await store.cancel(job!.id)).result, "cancelled");
  }, { lockTimeoutMs: 3000 }));

Deno.test("behind a pooler the role's defaults are looked at: what statements go wrong with is refused, the rest is told", () =>
  withRole({ statement_timeout: "1s" }, async ({ url, set }) => {
    const lines: Record<string, unknown>[] = [];
    const log = createLog({ level: "warn", write: (line) => lines.push(JSON.parse(line)) });
    await withStore(async ({ store }) => {
      const behind = () =>
        createPostgresStore({ url, schema: store.database.schema, preparedStatements: false, log });
      const one = behind();
      await one.open();
      await one.close();
      assertEquals(lines.map(({ event, parameter, ms }) => [event, parameter, ms]), [
        ["session with a tighter bound", "statement_timeout", 1000],
      ]);
      await set("default_transaction_isolation", "serializable");
      const other = behind();
      const error = await assertRejects(() => other.open(), SessionSettingsError, "alter role");
      assertEquals(error.parameter, "default_transaction_isolation");
      await other.close();
    });
  }));

Deno.test("what a login trigger sets after a session has said what it relies on is set back", async () => {
  const admin = PostgresDatabase.connect({ url: databaseUrl(), poolSize: 1, listen: "off" });
  const name = `db_${crypto.randomUUID().slice(0, 8)}`;
  const [{ version } = { version: 0 }] = await admin.query(
    "select current_setting('server_version_num')::int as version",
  );
  if (Number(version) >= 170_000) {
    await admin.query(`create database ${name}`);
    const url = new URL(databaseUrl());
    url.pathname = `/${name}`;
    await withDatabase({ url: url.href }, async (database) => {
      await database.transaction(async (tx) => {
        await tx.unsafe(
          `
          create function greet() returns event_trigger language plpgsql as $$
          begin
            set statement_timeout = 0;
            set default_transaction_isolation = 'serializable';
          end $$;
          create event trigger greeting on login execute function greet()`,
          [],
        );
      });
    });
    await withDatabase({ url: url.href }, async (database) => {
      const [row] = await database.query(
        `select current_setting('statement_timeout') as statement,
          current_setting('default_transaction_isolation') as isolation`,
      );
      // The statement that finds it runs as serializable itself, and no later one.
      const [later] = await database.query("select current_setting('transaction_isolation') as isolation");
      assertEquals([row?.statement, row?.isolation, later?.isolation], [
        "1min",
        "read committed",
        "read committed",
      ]);
    });
    await admin.query(`drop database ${name} with (force)`);
  }
  await admin.close();
});
