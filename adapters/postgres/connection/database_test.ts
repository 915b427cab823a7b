import {
  assertEquals,
  assertInstanceOf,
  assertLessOrEqual,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import {
  ConnectionTimeoutError,
  DatabaseUnavailableError,
  InvalidOptionError,
  PoolTooSmallError,
  StatementTimeoutError,
} from "../../../ports/errors.ts";
import { databaseUrl, freshSchema, gate, until } from "../fixture_test.ts";
import { createPostgresStore } from "../postgres_store.ts";
import { PostgresDatabase, type PostgresDatabaseOptions } from "./database.ts";
import { DEFAULT_BOUNDS } from "./session.ts";

async function withDatabase(
  body: (database: PostgresDatabase) => Promise<void>,
  options: Partial<PostgresDatabaseOptions> = {},
): Promise<void> {
  const database = PostgresDatabase.connect({ url: databaseUrl(), schema: freshSchema(), ...options });
  try {
    await body(database);
  } finally {
    await database.close();
  }
}

Deno.test("a parameter that is no text, number or null is refused at once, and the connection serves on", () =>
  withDatabase(async (database) => {
    const wrong: unknown[] = [[undefined], [new Date(NaN)], [{ toString: () => "x" }], [true], [1n], "x", 0];
    for (const params of [...wrong, ...wrong]) {
      await assertRejects(
        () => database.query("select $1::text as given", params as readonly string[]),
        InvalidOptionError,
        "params",
      );
    }
    assertEquals((await database.query("select $1::text as given", ["x"]))[0]!.given, "x");
  }, { poolSize: 1 }));

Deno.test("bad options are refused at construction, and a bad URL is not shown", () => {
  const url = "postgres://app:secret@localhost/app";
  assertThrows(() => PostgresDatabase.connect({ url, schema: "" }), InvalidOptionError);
  assertThrows(() => PostgresDatabase.connect({ url, poolSize: 0 }), InvalidOptionError);
  assertThrows(() => PostgresDatabase.connect({ url, acquireTimeoutMs: 0 }), InvalidOptionError);
  for (const bad of ["", "secret", "http://app:secret@localhost", "postgres://app:secret@:bad"]) {
    const error = assertThrows(() => PostgresDatabase.connect({ url: bad }), InvalidOptionError);
    assertEquals(error.message.includes("secret"), false);
  }
  const error = assertThrows(() => createPostgresStore({ url, poolSize: 3 }), PoolTooSmallError);
  assertEquals([error.size, error.needed], [3, 4]);
});

Deno.test("an unreachable database and a wrong password are told apart, without secrets", async () => {
  const target = new URL(databaseUrl());
  target.password = "topsecret";
  target.port = "1";
  const gone = PostgresDatabase.connect({ url: target.href });
  const unreachable = await assertRejects(() => gone.query("select 1"), DatabaseUnavailableError);
  assertEquals(unreachable.message.includes("topsecret"), false);
  await gone.close();
  const missing = new URL(databaseUrl());
  missing.pathname = "/no_such_database";
  const other = PostgresDatabase.connect({ url: missing.href });
  const error = await assertRejects(() => other.query("select 1"), Error, "create the database");
  assertInstanceOf(error.cause, Error);
  await other.close();
});

Deno.test("a server that hangs up while a connection begins is unavailable within the bound", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const serving = (async () => {
    for await (const connection of listener) connection.close();
  })();
  const port = (listener.addr as Deno.NetAddr).port;
  const database = PostgresDatabase.connect({
    url: `postgres://app:secret@127.0.0.1:${port}/app`,
    connectTimeoutMs: 500,
  });
  const begun = performance.now();
  await assertRejects(() => database.query("select 1"), DatabaseUnavailableError);
  assertLessOrEqual(performance.now() - begun, 5000);
  await database.close();
  listener.close();
  await serving;
});

Deno.test("missing rights and a read-only session keep the server's text and say what to do", () =>
  withDatabase(async (database) => {
    const role = `r_${crypto.randomUUID().slice(0, 8)}`;
    await database.query(`create role ${role}`);
    try {
      const denied = database.transaction(async (tx) => {
        await tx.unsafe(`set local role ${role}`, []);
        await tx.unsafe("select * from pg_authid", []);
      });
      await assertRejects(() => denied, Error, "grant the database user the right");
    } finally {
      await database.query(`drop role ${role}`);
    }
    const readOnly = database.transaction(async (tx) => {
      await tx.unsafe("set transaction read only", []);
      await tx.unsafe("create schema {schema}", []);
    });
    const error = await assertRejects(() => readOnly, Error, "connect to the primary");
    assertStringIncludes(error.message, "read-only transaction");
  }));

Deno.test("a transaction commits when its function resolves and rolls back when it throws", () =>
  withDatabase(async (database) => {
    await database.query("create schema {schema}");
    await database.query("create table {schema}.t (n int)");
    await database.transaction(async (tx) => {
      await tx.unsafe("insert into {schema}.t values ($1::int)", [1]);
    });
    const rolledBack = database.transaction(async (tx) => {
      await tx.unsafe("insert into {schema}.t values (2)", []);
      throw new Error("mine");
    });
    await assertRejects(() => rolledBack, Error, "mine");
    const swallowed = database.transaction(async (tx) => {
      await tx.unsafe("insert into {schema}.t values (3)", []);
      await Promise.resolve(tx.unsafe("select 1/0", [])).catch(() => {});
    });
    await assertRejects(() => swallowed, Error, "rolled back");
    assertEquals((await database.query("select n from {schema}.t")).map((row) => row.n), [1]);
    await database.query("drop schema {schema} cascade");
  }));

Deno.test("a statement through a transaction that has ended is refused", () =>
  withDatabase(async (database) => {
    const tx = await database.transaction((tx) => Promise.resolve({ tx }));
    await assertRejects(() => Promise.resolve(tx.tx.unsafe("select 1", [])), Error, "has ended");
  }));

Deno.test("when all connections are taken a caller waits for a bounded time, then a typed error; work goes on after it", () =>
  withDatabase(async (database) => {
    const [taken, letGo] = [gate(), gate()];
    const holder = database.transaction(async () => {
      taken.open();
      await letGo.opened;
    });
    await taken.opened;
    const error = await assertRejects(() => database.query("select 1"), ConnectionTimeoutError);
    assertEquals(error.waitedMs, 50);
    letGo.open();
    await holder;
    assertEquals((await database.query("select 1 as one"))[0]?.one, 1);
  }, { poolSize: 1, acquireTimeoutMs: 50 }));

Deno.test("a connection that is cut mid-statement fails that statement and transaction, and no other", () =>
  withDatabase(async (database) => {
    for (let round = 0; round < 10; round++) {
      const [running, letGo] = [gate(), gate()];
      let pid = 0;
      const cut = database.transaction(async (tx) => {
        pid = Number((await tx.unsafe("select pg_backend_pid() as pid", []))[0]?.pid);
        running.open();
        if (round % 2 === 0) await tx.unsafe("select pg_sleep(30)", []);
        else await letGo.opened;
        await tx.unsafe("select 1", []);
      });
      const failed = assertRejects(() => cut, DatabaseUnavailableError);
      await running.opened;
      await database.query("select pg_terminate_backend($1::int)", [pid]);
      await until(
        "the backend is gone",
        async () =>
          (await database.query("select 1 from pg_stat_activity where pid = $1::int", [pid])).length === 0,
      );
      letGo.open();
      await failed;
      const answers = await Promise.all([1, 2, 3].map((n) => database.query("select $1::int as n", [n])));
      assertEquals(answers.map((rows) => rows[0]?.n), [1, 2, 3]);
    }
  }, { poolSize: 3 }));

Deno.test("close is idempotent, and what comes after it is a typed error", () =>
  withDatabase(async (database) => {
    await database.query("select 1");
    await Promise.all([database.close(), database.close()]);
    await assertRejects(() => database.query("select 1"), DatabaseUnavailableError);
  }));

Deno.test("a statement that takes longer than its bound is ended by the server, and its session goes on", () =>
  withDatabase(async (database) => {
    const [before] = await database.query("select pg_backend_pid() as pid");
    const error = await assertRejects(() => database.query("select pg_sleep(30)"), StatementTimeoutError);
    assertEquals([error.bound, error.boundMs], ["statement", 100]);
    await assertRejects(
      () => database.transaction(async (tx) => await tx.unsafe("select pg_sleep(30)", [])),
      StatementTimeoutError,
    );
    const patient = { statementTimeoutMs: 0 };
    await database.transaction(async (tx) => await tx.unsafe("select pg_sleep(0.3)", []), patient);
    const [after] = await database.query(
      "select pg_backend_pid() as pid, current_setting('statement_timeout') as ms",
    );
    assertEquals(after, { pid: before!.pid, ms: "100ms" });
  }, { poolSize: 1, statementTimeoutMs: 100 }));

Deno.test("a statement that waits for another session's lock is given up at its bound: nothing was done", () =>
  withDatabase(async (database) => {
    await database.query("create schema {schema}");
    await database.query("create table {schema}.t (n int)");
    await database.transaction(async (tx) => {
      await tx.unsafe("lock table {schema}.t", []);
      const insert = "insert into {schema}.t values (1)";
      const error = await assertRejects(() => database.query(insert), StatementTimeoutError, "pg_locks");
      assertEquals([error.bound, error.boundMs], ["lock", 100]);
      const waits = () =>
        database.transaction(async (own) => await own.unsafe(insert, []), { lockTimeoutMs: 50 });
      assertEquals((await assertRejects(waits, StatementTimeoutError)).boundMs, 50);
    });
    assertEquals((await database.query("select n from {schema}.t")).length, 0);
    await database.query("drop schema {schema} cascade");
  }, { lockTimeoutMs: 100 }));

Deno.test("a transaction that stands still is ended by the server, and what comes after it works", () =>
  withDatabase(async (database) => {
    const still = database.transaction(async (tx) => {
      await tx.unsafe("select 1", []);
      await new Promise((resolve) => setTimeout(resolve, 400));
      await tx.unsafe("select 1", []);
    }, { idleTimeoutMs: 50 });
    await assertRejects(() => still, DatabaseUnavailableError);
    assertEquals((await database.query("select 1 as one"))[0]?.one, 1);
  }, { poolSize: 1 }));

Deno.test("bounds that are none are refused, wherever they are given", () =>
  withDatabase(async (database) => {
    const url = databaseUrl();
    for (const bad of [-1, 0.5, Number.NaN, 2e9, "1s" as unknown as number]) {
      for (const name of ["statementTimeoutMs", "lockTimeoutMs", "idleTimeoutMs"]) {
        const error = assertThrows(() => PostgresDatabase.connect({ url, [name]: bad }), InvalidOptionError);
        assertEquals(error.option, name);
        await assertRejects(
          () => database.transaction(() => Promise.resolve(), { [name]: bad }),
          InvalidOptionError,
        );
      }
    }
  }));

Deno.test("bounds that are given as undefined are the defaults", () => {
  const none = { statementTimeoutMs: undefined, lockTimeoutMs: undefined, idleTimeoutMs: undefined };
  return withDatabase(async (database) => {
    assertEquals(database.bounds, DEFAULT_BOUNDS);
    const [row] = await database.transaction(
      async (tx) => await tx.unsafe("select 1 as one", []),
      none as object,
    );
    assertEquals(row?.one, 1);
  }, none as object);
});
