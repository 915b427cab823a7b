import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertLess,
  assertMatch,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { createRuntime } from "../../mod.ts";
import { startEmbedded } from "../../embedded/mod.ts";
import {
  ConnectionTimeoutError,
  DatabaseSetupError,
  DatabaseUnavailableError,
  InvalidOptionError,
} from "../../ports/errors.ts";
import { eventually } from "../conformance/eventually.ts";
import { testDatabaseUrl, uniqueSchema } from "../support/test_database.ts";
import { runtimeOptions } from "./programs/composition.ts";
import { connectPostgres } from "./support/connect.ts";
import { Site } from "./support/site.ts";
import { TcpProxy } from "./support/tcp_proxy.ts";

/** What migrate() or start() says to a database. */
async function refusal(
  act: "migrate" | "start",
  url: string,
  schema: string = uniqueSchema(),
): Promise<Error> {
  const runtime = createRuntime(runtimeOptions({ url, schema }));
  try {
    return await assertRejects(() => runtime[act]()) as Error;
  } finally {
    await runtime.stop();
  }
}

/** What both say to a database without tables. */
async function refusals(url: string): Promise<[Error, Error]> {
  return [await refusal("migrate", url), await refusal("start", url)];
}

function changed(url: string, change: (url: URL) => void): string {
  const parsed = new URL(url);
  change(parsed);
  return parsed.href;
}

Deno.test("an unreachable database: a typed error that says so, soon, and without the password", async () => {
  const url = "postgres://someone:s3cret@127.0.0.1:1/nowhere";
  const began = performance.now();
  for (const error of await refusals(url)) {
    assertInstanceOf(error, DatabaseUnavailableError);
    assertMatch(error.message, /reach/);
    assert(!error.message.includes("s3cret"));
  }
  assertLess(performance.now() - began, 20_000);
});

Deno.test("a wrong password, an unknown user, an unknown database: the server's words and what to check", async () => {
  const good = await testDatabaseUrl();
  for (const error of await refusals(changed(good, (url) => url.password = "wr0ng"))) {
    assertMatch(error.message, /password/);
    assert(!error.message.includes("wr0ng"));
  }
  for (const error of await refusals(changed(good, (url) => url.pathname = "/no_such_database"))) {
    assertStringIncludes(error.message, "no_such_database");
    assertStringIncludes(error.message, "database URL");
  }
});

Deno.test("a wrong password, an unknown database, and tables that were not migrated are typed errors of the first call", async () => {
  const good = await testDatabaseUrl();
  const bad: readonly (readonly [string, string])[] = [
    [changed(good, (url) => url.password = "wr0ng"), "28P01"],
    [changed(good, (url) => url.pathname = "/no_such_database"), "3D000"],
    [good, "42P01"],
  ];
  for (const [url, sqlState] of bad) {
    const runtime = createRuntime(runtimeOptions({ url, schema: uniqueSchema() }));
    const calls = [
      () => runtime.enqueue("plain"),
      () => runtime.enqueue("plain", null, { uniqueByArgs: true }),
      () => runtime.enqueueMany([{ kind: "plain" }]),
      () => runtime.get("1"),
      () => runtime.cancel("1"),
      () => runtime.overview(),
    ];
    for (const call of calls) {
      const error = await assertRejects(call, DatabaseSetupError);
      assertEquals(error.sqlState, sqlState);
      assert(!error.message.includes("wr0ng"));
    }
    await runtime.stop();
  }
});

Deno.test("a URL that is missing is told as missing, and one that is there is not shown", () => {
  for (const url of [undefined, null, ""]) {
    const error = assertThrows(
      () => createRuntime({ url: url as string, registrars: [] }),
      InvalidOptionError,
    );
    assertStringIncludes(error.message, `url ${JSON.stringify(url) ?? "undefined"}: expected postgres://`);
  }
  for (const url of [new URL("postgres://a:s3cret@h/d"), { url: "postgres://a:s3cret@h/d" }, "s3cret"]) {
    const error = assertThrows(
      () => createRuntime({ url: url as string, registrars: [] }),
      InvalidOptionError,
    );
    assert(!error.message.includes("s3cret"), error.message);
  }
});

Deno.test("a role without the right to create: migrate() says what is missing; with the tables there it can work", async () => {
  await using site = await Site.open();
  const role = uniqueSchema();
  const url = await testDatabaseUrl();
  await site.sql.unsafe(`create role ${role} login password 'p'`);
  try {
    const as = changed(url, (each) => {
      each.username = role;
      each.password = "p";
    });
    const migrating = await refusal("migrate", as);
    assertMatch(migrating.message, /permission denied.*grant/);
    await site.sql.unsafe(`
      grant usage on schema ${site.schema} to ${role};
      grant select, insert, update, delete on all tables in schema ${site.schema} to ${role}`);
    const worker = site.worker({ url: as });
    await worker.event("started");
    const id = await site.enqueue("plain");
    assertEquals((await site.until(id, "completed")).attempt, 1);
    worker.signal("SIGTERM");
    assertEquals((await worker.end()).code, 0);
  } finally {
    await site.sql.unsafe(`drop owned by ${role}; drop role ${role}`);
  }
});

Deno.test("a read-only database: migrate() and start() say that it is, and enqueue too", async () => {
  await using server = await startEmbedded({ ephemeral: true });
  await using site = await Site.open({ url: server.url });
  const sql = connectPostgres(server.url);
  await sql`alter database postgres set default_transaction_read_only = on`;
  await sql.end();
  const migrating = await refusal("migrate", server.url);
  assertMatch(migrating.message, /read-only.*primary/);
  const starting = await refusal("start", server.url, site.schema);
  assertMatch(starting.message, /read-only/);
  const runtime = createRuntime(runtimeOptions({ url: server.url, schema: site.schema }));
  const error = await assertRejects(() => runtime.enqueue("plain"), Error);
  assertMatch(error.message, /read-only.*primary/);
  await runtime.stop();
});

Deno.test("connections that are cut mid-statement, again and again: every job runs, none twice", async () => {
  await using proxy = new TcpProxy(await testDatabaseUrl());
  await using site = await Site.open({ through: proxy.url });
  const worker = await site.working();
  const ids: string[] = [];
  for (let round = 0; round < 8; round++) {
    // The next answer never comes: what was asked has taken effect, and nobody here knows.
    proxy.cutAtAnswer(1 + round % 3);
    ids.push(...await Promise.all(Array.from({ length: 5 }, () => site.enqueue("plain"))));
    await eventually(async () => {
      const rows = await site.sql.unsafe(`select from ${site.schema}.job_history`);
      return rows.length >= ids.length - 2;
    }, 15_000).catch(() => {});
  }
  proxy.restore();
  for (const id of ids) {
    const job = await site.until(id, "completed");
    assertEquals([job.attempt, job.errors], [1, []]);
    assertEquals(site.journal.starts(id).length, 1, `job ${id}`);
  }
  worker.signal("SIGTERM");
  assertEquals((await worker.end()).code, 0);
});

Deno.test("a network that swallows packets for a while: the worker recovers by itself, and nothing is lost", async () => {
  await using proxy = new TcpProxy(await testDatabaseUrl());
  await using site = await Site.open({ through: proxy.url });
  const worker = await site.working();
  const held = await site.enqueue("hold");
  await site.started(held);
  proxy.freeze();
  const during = await site.enqueue("plain");
  site.gate.open();
  await eventually(() => site.journal.ends(held).length === 1);
  proxy.restore();
  for (const id of [held, during]) assertEquals((await site.until(id, "completed")).attempt, 1);
  assertEquals(worker.log.some((line) => line.level === "error"), false);
});

Deno.test("all connections of the server taken: typed errors in bounded time, nothing crashes, and it goes on after", async () => {
  await using server = await startEmbedded({
    ephemeral: true,
    settings: { max_connections: "20", superuser_reserved_connections: "0", autovacuum: "off" },
  });
  await using site = await Site.open({ url: server.url, config: { acquireTimeoutMs: 1000 } });
  const worker = await site.working();
  await site.until(await site.enqueue("plain"), "completed");
  const hogs = connectPostgres(server.url, 30);
  const late = createRuntime({
    ...runtimeOptions({ url: server.url, schema: site.schema, acquireTimeoutMs: 1000 }),
  });
  try {
    await Promise.allSettled(Array.from({ length: 30 }, () => hogs`select pg_sleep(0.05)`));
    const began = performance.now();
    const error = await assertRejects(() => late.enqueue("plain", site.args()), DatabaseUnavailableError);
    assertMatch(error.message, /no connection left.*max_connections/);
    assertLess(performance.now() - began, 20_000);
  } finally {
    await hogs.end({ timeout: 1 });
  }
  await site.until(await eventually(() => late.enqueue("plain", site.args())), "completed");
  await late.stop();
  worker.signal("SIGTERM");
  assertEquals((await worker.end()).code, 0);
});

Deno.test("a pool that is used up by slow transactions: a bounded wait, a typed error, and work goes on after", async () => {
  await using site = await Site.open();
  const options = runtimeOptions({ url: await testDatabaseUrl(), schema: site.schema, poolSize: 4 });
  await using runtime = createRuntime({ ...options, acquireTimeoutMs: 300 });
  await runtime.start();
  // Row locks hold up the statements of this runtime, until its connections are all taken.
  await using blocker = await lockTable(site);
  const calls = Array.from({ length: 12 }, (_, n) => runtime.cancel(String(n + 1)));
  // One of them may have got the connection: it waits for the lock, and has its answer once that is gone.
  await Promise.any(calls.map((call) => assertRejects(() => call, ConnectionTimeoutError)));
  await blocker.release();
  await Promise.allSettled(calls);
  await site.until(await eventually(() => runtime.enqueue("plain", site.args())), "completed");
});

Deno.test("with every handler busy the application's own queries get their connections at once", async () => {
  await using site = await Site.open({ config: { concurrency: 50 } });
  await site.working();
  const ids = await Promise.all(Array.from({ length: 60 }, () => site.enqueue("hold")));
  await site.started(ids[0]!);
  const began = performance.now();
  for (let n = 0; n < 20; n++) await site.sql`select 1`;
  // Without a connection of their own they would wait for the handlers, and those for the gate.
  assertLess(performance.now() - began, 20_000);
  site.gate.open();
  for (const id of ids) await site.until(id, "completed");
});

/** Holds the job tables against every writer until it is released. */
async function lockTable(site: Site): Promise<AsyncDisposable & { release(): Promise<void> }> {
  const sql = connectPostgres(await testDatabaseUrl());
  await sql.unsafe(`begin; lock table ${site.schema}.job in exclusive mode`);
  let released: Promise<unknown> | undefined;
  const release = async () => {
    await (released ??= sql.unsafe("commit").then(() => sql.end()));
  };
  return { release, [Symbol.asyncDispose]: release };
}
