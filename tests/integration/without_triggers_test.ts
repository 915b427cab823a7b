/** Sessions and subscribers in which our triggers don't fire. */
import { assertEquals } from "@std/assert";
import { createRuntime, silentLog } from "../../mod.ts";
import { testDatabaseUrl, uniqueSchema } from "../support/test_database.ts";
import { connectPostgres } from "./support/connect.ts";

Deno.test("a process that is not on the list of who listens finds jobs by its polls", async () => {
  await using stack = new AsyncDisposableStack();
  const [url, schema] = [await testDatabaseUrl(), uniqueSchema()];
  const sql = connectPostgres(url);
  stack.defer(() => sql.end({ timeout: 2 }));
  const runtime = createRuntime({
    url,
    schema,
    poolSize: 4,
    settings: { pollMs: 200 },
    registrars: [{
      kinds: [{ name: "plain", queue: "default", maxAttempts: 3, timeout: 5000, handler: (args) => args }],
    }],
    queues: [{ name: "default", concurrency: 1 }],
    log: silentLog,
  });
  stack.defer(async () => void await sql`drop schema if exists ${sql(schema)} cascade`);
  stack.defer(() => runtime.stop());
  await runtime.migrate();
  // As the role's session_replication_role = replica has it.
  await sql`alter table ${sql(schema)}.worker disable trigger note_listening`;
  await runtime.start();
  assertEquals((await sql`select from ${sql(schema)}.listening`).length, 0);
  await sql`set session_replication_role = replica`;
  for (let n = 0; n < 3; n++) {
    const [row] = await sql`select ${sql(schema)}.enqueue('plain', '{}') as id`;
    const result = await runtime.wait(String(row!.id), 10_000);
    assertEquals(result.done && result.state, "completed");
  }
});
