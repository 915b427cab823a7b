import { assertEquals, assertStringIncludes } from "@std/assert";
import { SECRET_KEY, Site } from "../webhooks/support/site.ts";
import { Program } from "./program.ts";

Deno.test("the reseal program seals every secret with the first key, and says what is missing", async () => {
  await using site = await Site.open({ secretKey: `old:${SECRET_KEY}` });
  await site.endpoint("http://127.0.0.1:8080/");
  await site.endpoint("http://127.0.0.1:8080/", { signature: "v1a" });
  const next = SECRET_KEY.replace("BwcH", "AAAA");
  const run = async (key: string) => {
    const program = new Program("reseal", ["--schema", site.schema], {
      env: { DATABASE_URL: site.url, MILLRACE_SECRET_KEY: key },
    });
    const { code } = await program.end();
    return { code, text: program.stdout + program.stderr };
  };
  const without = await run("");
  assertEquals(without.code, 1);
  assertStringIncludes(without.text, "openssl rand -base64 32");
  const lost = await run(`new:${next}`);
  assertEquals(lost.code, 1);
  assertStringIncludes(lost.text, "the key old, which is not in MILLRACE_SECRET_KEY");
  const done = await run(`new:${next},old:${SECRET_KEY}`);
  assertEquals(done.code, 0, done.text);
  assertStringIncludes(done.text, '"secrets":2');
  assertStringIncludes((await run(`new:${next}`)).text, '"secrets":0');
});

Deno.test("the migrate program makes the tables of webhooks where they are asked for, and removes them", async () => {
  await using site = await Site.open();
  const run = async (...args: string[]) => {
    const program = new Program("migrate", args, { env: { DATABASE_URL: site.url } });
    assertEquals((await program.end()).code, 0, program.stderr);
    return program.stdout;
  };
  const tables = async (schema: string) => {
    const rows = await site
      .sql`select tablename from pg_tables where schemaname = ${schema} and tablename ~ 'webhook'`;
    return rows.length;
  };
  const schema = `${site.schema}_2`;
  try {
    await run("--schema", schema);
    assertEquals(await tables(schema), 0);
    await run("--schema", schema, "--webhooks");
    assertEquals(await tables(schema), 3);
    await run("--schema", schema, "--down", "0");
    assertEquals(await tables(schema), 0);
    assertStringIncludes(await run("--print-sql", "--webhooks"), "webhook_endpoint");
  } finally {
    await site.sql.unsafe(`drop schema if exists ${schema} cascade`);
  }
});
