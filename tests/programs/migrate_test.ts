import { assert, assertEquals, assertFalse, assertStringIncludes } from "@std/assert";
import postgres from "postgres";
import denoJson from "../../deno.json" with { type: "json" };
import { testDatabaseUrl, uniqueSchema } from "../support/test_database.ts";
import { SECRET_KEY } from "../webhooks/support/composition.ts";
import { Program } from "./program.ts";

async function run(...args: string[]): Promise<Program> {
  const program = new Program("migrate", args, { env: { DATABASE_URL: await testDatabaseUrl() } });
  await program.end();
  return program;
}

Deno.test("the migrate program makes the tables, again changes nothing, and removes them", async () => {
  const sql = postgres(await testDatabaseUrl(), { max: 1, onnotice: () => {} });
  const schema = `With "quotes" ${uniqueSchema()}`;
  const tables = async () => {
    const rows = await sql`select tablename from pg_tables where schemaname = ${schema} order by 1`;
    return rows.map((row) => row.tablename as string);
  };
  try {
    assertEquals((await (await run("--schema", schema)).end()).code, 0);
    const made = await tables();
    assert(made.includes("job") && made.includes("outbox"), made.join(", "));
    assertEquals((await (await run("--schema", schema)).end()).code, 0);
    assertEquals(await tables(), made);
    assertEquals((await (await run("--schema", schema, "--down", "0")).end()).code, 0);
    assertEquals(await tables(), ["migration"]);
  } finally {
    await sql`drop schema if exists ${sql(schema)} cascade`;
    await sql.end();
  }
});

Deno.test("--down says what it can't do: above the version that is there, or where nothing is", async () => {
  const schema = uniqueSchema();
  const sql = postgres(await testDatabaseUrl(), { max: 1, onnotice: () => {} });
  const down = (version: number) => run("--schema", schema, "--down", String(version));
  const refused = async (version: number, says: string) => {
    const program = await down(version);
    assertEquals((await program.end()).code, 2, program.stdout + program.stderr);
    assertStringIncludes(program.stderr, says);
    assertFalse(program.stdout.includes("migrated"), program.stdout);
  };
  try {
    await refused(0, "tables are not there");
    const up = await run("--schema", schema);
    const { to } = await up.event("migrated");
    await refused(99, `down to version 99: it is at version ${to}`);
    assertEquals((await (await down(to as number)).end()).code, 0);
    const gone = await (await down(0)).event("migrated");
    assertEquals({ from: gone.from, to: gone.to }, { from: to, to: 0 });
    await refused(0, "tables are not there");
  } finally {
    await sql`drop schema if exists ${sql(schema)} cascade`;
    await sql.end();
  }
});

Deno.test("--print-sql prints what people can run themselves, and the runtime accepts the outcome", async () => {
  const sql = postgres(await testDatabaseUrl(), { max: 1, onnotice: () => {} });
  const schema = uniqueSchema();
  try {
    const up = await run("--schema", schema, "--print-sql");
    assertEquals((await up.end()).code, 0);
    await sql.unsafe(up.stdout);
    const version = async () =>
      await sql.unsafe(`select part, max(version) as version from ${schema}.migration group by 1 order by 1`);
    const printed = await version();
    await run("--schema", schema);
    assertEquals(await version(), printed);
    const down = await run("--schema", schema, "--print-sql", "--down", "0");
    await sql.unsafe(down.stdout);
    assertEquals(
      (await sql`select 1 from pg_tables where schemaname = ${schema} and tablename <> 'migration'`).length,
      0,
    );
  } finally {
    await sql.unsafe(`drop schema if exists ${schema} cascade`);
    await sql.end();
  }
});

Deno.test("the migrate program names what it can't use, and helps", async () => {
  const wrong = await run("--down", "one");
  assertEquals((await wrong.end()).code, 2);
  assertStringIncludes(wrong.stderr, '--down "one": expected an integer');
  assertEquals((await (await run("--print-sql", "--down", "3")).end()).code, 2);
  for (const schema of ["information_schema", "pg_catalog"]) {
    for (const more of [[], ["--down", "0"], ["--print-sql"]]) {
      const refused = await run("--schema", schema, ...more);
      assertEquals((await refused.end()).code, 2);
      assertStringIncludes(refused.stderr, `Cannot use --schema "${schema}": expected`);
    }
  }
  for (const name of ["migrate", "reseal"]) {
    const nowhere = new Program(name, [], { env: { DATABASE_URL: "", MILLRACE_SECRET_KEY: SECRET_KEY } });
    assertEquals((await nowhere.end()).code, 2);
    assertStringIncludes(nowhere.stderr, "expected DATABASE_URL to be set, or --embedded");
  }
  const unreachable = new Program("migrate", [], {
    env: { DATABASE_URL: "postgres://a:s3cret@127.0.0.1:1/b" },
  });
  assertEquals((await unreachable.end()).code, 1);
  assertFalse((unreachable.stdout + unreachable.stderr).includes("s3cret"));
  assertStringIncludes((await run("--help")).stdout, "Usage: deno task migrate");
});

Deno.test("the tasks of a clone say by themselves that they may start a database", () => {
  for (const task of ["worker", "migrate", "webhooks:reseal"] as const) {
    assert(/^deno run -A \S+ --embedded$/.test(denoJson.tasks[task].command), task);
  }
});
