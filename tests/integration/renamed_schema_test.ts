/** A schema whose name is not the one that its functions were made for. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { channelName } from "../../adapters/postgres/sql/identifiers.ts";
import {
  captureChanges,
  createLog,
  createRuntime,
  type PostgresRuntime,
  SchemaRenamedError,
  silentLog,
} from "../../mod.ts";
import { eventually } from "../conformance/eventually.ts";
import { testDatabaseUrl, uniqueSchema } from "../support/test_database.ts";
import { connectPostgres } from "./support/connect.ts";

interface Schemas extends AsyncDisposable {
  readonly sql: ReturnType<typeof connectPostgres>;
  /** Two names, one with what must be quoted. */
  readonly old: string;
  readonly present: string;
  runtime(schema: string, lines?: string[]): PostgresRuntime;
}

async function schemas(): Promise<Schemas> {
  await using stack = new AsyncDisposableStack();
  const url = await testDatabaseUrl();
  const sql = connectPostgres(url, 3);
  stack.defer(() => sql.end({ timeout: 2 }));
  const [old, present] = [uniqueSchema(), `It's ${uniqueSchema()}`];
  stack.defer(async () => void await sql`drop schema if exists ${sql(old)}, ${sql(present)} cascade`);
  const kept = stack.move();
  return {
    sql,
    old,
    present,
    runtime: (schema, lines) => {
      const runtime = createRuntime({
        url,
        schema,
        poolSize: 4,
        registrars: [{
          kinds: [{
            name: "plain",
            queue: "default",
            maxAttempts: 3,
            timeout: 5000,
            handler: (args) => args,
          }],
          periodics: [{ name: "tick", every: 60_000, handler: () => null }],
        }],
        queues: [{ name: "default", concurrency: 2 }],
        log: lines === undefined
          ? silentLog
          : createLog({ level: "warn", write: (line) => void lines.push(line) }),
      });
      kept.defer(() => runtime.stop());
      return runtime;
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

Deno.test("a renamed schema is refused with what mends it, and migrate() mends it whole", async () => {
  await using it = await schemas();
  const { sql, old, present } = it;
  const before = it.runtime(old);
  await before.migrate();
  await before.start();
  await sql`create table ${sql(old)}.orders (id int primary key, status text)`;
  const captured = { table: "orders", tableSchema: old, schema: old, key: ["id"], columns: ["status"] };
  await sql.unsafe(captureChanges({ ...captured, type: "order.changed", searchPath: [old] }).up);
  await before.stop();
  await sql`alter schema ${sql(old)} rename to ${sql(present)}`;

  const lines: string[] = [];
  const runtime = it.runtime(present, lines);
  const error = await assertRejects(() => runtime.start(), SchemaRenamedError);
  assertEquals([error.schema, error.madeFor], [present, old]);
  for (const word of [present, old, "migrate()", `--schema ${JSON.stringify(present)}`]) {
    assertStringIncludes(error.message, word);
  }
  // What is not mended would write into whatever has its old name.
  const anew = it.runtime(old);
  assertStringIncludes((await assertRejects(() => anew.migrate(), SchemaRenamedError)).message, present);
  assertEquals((await sql`select from pg_namespace where nspname = ${old}`).length, 0);

  await runtime.migrate();
  assertEquals(lines.map((line) => JSON.parse(line).event), [
    "the schema has another name than its functions were made for, they were made anew",
  ]);
  await runtime.migrate();
  assertEquals(lines.length, 1);
  await anew.migrate();
  await anew.start();
  await runtime.start();
  const ids = [
    await runtime.enqueue("plain", {}),
    await runtime.runPeriodic("tick"),
    ...await Promise.all(
      ["", ", unique_by_args => true"].map(async (more) =>
        String((await sql.unsafe(`select "${present}".enqueue('plain', '[1]'${more}) as id`))[0]!.id)
      ),
    ),
  ];
  for (const id of ids) {
    const result = await runtime.wait(id, 10_000);
    assertEquals(result.done && result.state, "completed", id);
  }
  assertEquals((await runtime.periodic())[0]?.runs.length, 1);
  await sql`insert into ${sql(present)}.orders values (1, 'new')`;
  const counted = async (
    table: string,
  ) => (await Promise.all(
    [present, old].map(async (schema) =>
      Number((await sql`select count(*) from ${sql(schema)}.${sql(table)}`)[0]!.count)
    ),
  ));
  assertEquals(await counted("outbox"), [1, 0]);
  assertEquals(await counted("job_history"), [4, 0]);
  assertEquals(await counted("job_key"), [1, 0]);
  const [left] = await sql`
    select count(*)::int from pg_proc
    where pronamespace = ${`"${present}"`}::regnamespace
      and (strpos(prosrc, ${`"${old}"`}) > 0 or strpos(array_to_string(proconfig, ','), ${old}) > 0)`;
  assertEquals(left!.count, 0);
});

Deno.test("relays of a renamed schema are woken on the channel of its present name", async () => {
  await using it = await schemas();
  const { sql, old, present } = it;
  await it.runtime(old).migrate();
  await sql`alter schema ${sql(old)} rename to ${sql(present)}`;
  await it.runtime(present).migrate();
  await sql`insert into ${sql(present)}.relay (owner, fingerprint) values (gen_random_uuid(), 'a')`;
  let woken = 0;
  await sql.listen(channelName(present, "outbox"), () => void woken++);
  await sql.unsafe(`select "${present}".wake_relay()`);
  assert(await eventually(() => Promise.resolve(woken === 1), 5000));
});

Deno.test("a copy that writes into the original is told of where the original starts", async () => {
  await using it = await schemas();
  const { sql, old, present } = it;
  await it.runtime(old).migrate();
  await sql`alter schema ${sql(old)} rename to ${sql(present)}`;
  const copy = it.runtime(present);
  await copy.migrate();
  await it.runtime(old).migrate();
  // As a dump has it whose tables were renamed by hand.
  const [made] = await sql`
    select pg_get_functiondef(oid) as text from pg_proc
    where pronamespace = ${`"${present}"`}::regnamespace and proname = 'note_listening'`;
  await sql.unsafe(
    String(made!.text).replaceAll(`insert into "${present}"`, `insert into "${old}"`),
  );
  const lines: string[] = [];
  await it.runtime(old, lines).start();
  const told = lines.map((line) => JSON.parse(line)).filter(({ other }) => other === present);
  assertEquals(told.length, 1);
  assertStringIncludes(told[0].remedy, "migrate()");
  await assertRejects(() => it.runtime(present).start(), SchemaRenamedError);
});
