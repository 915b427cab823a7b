import { assert, assertEquals, assertInstanceOf, assertLessOrEqual } from "@std/assert";
import { createRuntime, type PostgresRuntime } from "../../mod.ts";
import {
  ConnectionTimeoutError,
  DatabaseUnavailableError,
  StatementTimeoutError,
} from "../../ports/errors.ts";
import { pause } from "../conformance/eventually.ts";
import { testDatabaseUrl, uniqueSchema } from "../support/test_database.ts";
import { connectPostgres } from "./support/connect.ts";
import { findPgBouncer, PgBouncer } from "./support/pgbouncer.ts";

const POOL_SIZE = 5;
const RUNTIMES = 2;
/** What a locked table is held for: several times as long as any bound. */
const HELD_MS = 4000;

const program = findPgBouncer();

/** Two runtimes at work as a role of their own, while somebody holds the table of jobs. */
async function whileTableIsLocked(
  through: (url: string) => Promise<string>,
  preparedStatements: boolean,
): Promise<void> {
  const url = await testDatabaseUrl();
  const [role, schema] = [uniqueSchema(), uniqueSchema()];
  const sql = connectPostgres(url);
  const [{ name } = { name: "" }] = await sql`select current_database() as name`;
  await sql.unsafe(`create role ${role} login password 'p'; grant create on database ${name} to ${role}`);
  const as = new URL(url);
  [as.username, as.password] = [role, "p"];
  const database = await through(as.href);
  const kinds = [{ name: "k", queue: "default", maxAttempts: 3, timeout: 10_000, handler: () => {} }];
  const runtimes: PostgresRuntime[] = Array.from({ length: RUNTIMES }, () =>
    createRuntime({
      url: database,
      schema,
      poolSize: POOL_SIZE,
      preparedStatements,
      statementTimeoutMs: 500,
      lockTimeoutMs: 300,
      acquireTimeoutMs: 1000,
      registrars: [{ kinds }],
      log: { debug() {}, info() {}, warn() {}, error() {} },
    }));
  const sessions = async () =>
    Number((await sql`select count(*) as n from pg_stat_activity where usename = ${role}`)[0]!.n);
  try {
    await runtimes[0]!.migrate();
    for (const runtime of runtimes) await runtime.start();
    const locked = connectPostgres(url);
    await locked.unsafe(`begin; lock table ${schema}.job`);
    const endMs = performance.now() + HELD_MS;
    const errors: unknown[] = [];
    let most = 0;
    const use = async (call: () => Promise<unknown>) => {
      while (performance.now() < endMs) await call().catch((error) => errors.push(error));
    };
    const calls = runtimes.flatMap((runtime) => [
      use(() => runtime.enqueue("k")),
      use(() => runtime.enqueue("k", null, { runAt: new Date("2200-01-01") })),
      use(() => runtime.cancel("1")),
      use(() => runtime.overview()),
      use(() => runtime.list()),
      use(() => runtime.retry("1")),
    ]);
    while (performance.now() < endMs) {
      most = Math.max(most, await sessions());
      await pause(50);
    }
    await Promise.all(calls);
    await locked.unsafe("rollback");
    await locked.end();
    assertLessOrEqual(most, RUNTIMES * POOL_SIZE);
    assert(errors.length > 0);
    for (const error of errors) {
      if (error instanceof ConnectionTimeoutError || error instanceof DatabaseUnavailableError) continue;
      assertInstanceOf(error, StatementTimeoutError);
    }
    for (const runtime of runtimes) {
      const result = await runtime.wait(await runtime.enqueue("k"), 20_000);
      assertEquals([result.done, result.done && result.state], [true, "completed"]);
    }
    assertLessOrEqual(await sessions(), RUNTIMES * POOL_SIZE);
  } finally {
    await Promise.all(runtimes.map((runtime) => runtime.stop()));
    await sql.unsafe(`drop schema if exists ${schema} cascade`);
    await sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = ${role}`;
    await sql.unsafe(`drop owned by ${role}; drop role ${role}`);
    await sql.end();
  }
}

Deno.test("while somebody holds the table of jobs a process has no more sessions than its pool, and goes on after it", () =>
  whileTableIsLocked((url) => Promise.resolve(url), true));

Deno.test({
  name: "behind PgBouncer too: what is given up is ended on the server",
  ignore: program === null,
  async fn() {
    let bouncer: PgBouncer | undefined;
    try {
      await whileTableIsLocked(async (url) => (bouncer = await PgBouncer.start(program!, url)).url, false);
    } finally {
      await bouncer?.[Symbol.asyncDispose]();
    }
  },
});
