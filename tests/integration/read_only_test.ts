import { assertEquals, assertLess, assertRejects } from "@std/assert";
import { createRuntime } from "../../mod.ts";
import { DatabaseUnavailableError } from "../../ports/errors.ts";
import { silentLog } from "../../shared/log.ts";
import { eventually } from "../conformance/eventually.ts";
import { testDatabaseUrl, uniqueSchema } from "../support/test_database.ts";
import { connectPostgres } from "./support/connect.ts";

Deno.test("a server that is read-only for a while, as in a switch-over: typed errors, then all works without a restart", async () => {
  const url = await testDatabaseUrl();
  const [role, schema] = [uniqueSchema(), uniqueSchema()];
  const sql = connectPostgres(url);
  const [{ name } = { name: "" }] = await sql`select current_database() as name`;
  await sql.unsafe(`create role ${role} login password 'p'; grant create on database ${name} to ${role}`);
  const as = new URL(url);
  [as.username, as.password] = [role, "p"];
  const kinds = [{ name: "k", queue: "default", maxAttempts: 3, timeout: 10_000, handler: () => {} }];
  const runtime = createRuntime({ url: as.href, schema, registrars: [{ kinds }], log: silentLog });
  const endSessions = () =>
    sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = ${role}`;
  try {
    await runtime.migrate();
    await runtime.start();
    assertEquals((await runtime.wait(await runtime.enqueue("k"), 20_000)).done, true);
    await sql.unsafe(`alter role ${role} set default_transaction_read_only = on`);
    await endSessions();
    await eventually(async () => {
      await assertRejects(() => runtime.enqueue("k"), DatabaseUnavailableError, "read-only");
      return true;
    });
    await new Promise((resolve) => setTimeout(resolve, 3000));
    await assertRejects(() => runtime.enqueue("k"), DatabaseUnavailableError, "read-only");
    // The sessions that it has now stay as they are: only new ones take writes.
    await sql.unsafe(`alter role ${role} reset default_transaction_read_only`);
    const began = performance.now();
    const id = await eventually(() => runtime.enqueue("k"), 30_000);
    assertEquals((await runtime.wait(id, 30_000)).done, true);
    assertLess(performance.now() - began, 30_000);
  } finally {
    await runtime.stop();
    await sql.unsafe(`drop schema if exists ${schema} cascade`);
    await endSessions();
    await sql.unsafe(`drop owned by ${role}; drop role ${role}`);
    await sql.end();
  }
});
