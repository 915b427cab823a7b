import { assert, assertEquals } from "@std/assert";
import { testDatabaseUrl, uniqueSchema } from "../support/test_database.ts";
import { createRuntime } from "../../mod.ts";
import { Program } from "./program.ts";
import postgres from "postgres";
import denoJson from "../../deno.json" with { type: "json" };

const root = new URL("../../", import.meta.url);

Deno.test("every entry point loads without this repository's import map", async () => {
  // The worker program runs as soon as it is loaded; what it starts is an entry point of its own.
  const { "./worker": _, ...others } = denoJson.exports;
  const urls = [...Object.values(others), "./programs/worker.ts"].map((path) => new URL(path, root).href);
  const script = `for (const url of ${JSON.stringify(urls)}) await import(url);`;
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-config", "--no-lock", script],
    stdout: "null",
    stderr: "piped",
  }).output();
  assert(urls.length > 10);
  assertEquals(code, 0, new TextDecoder().decode(stderr));
});

/** An application as a user has it: in a folder of its own, with an import map that only its own deno.json knows. */
const FILES: Readonly<Record<string, string>> = {
  "deno.json": '{ "imports": { "mylib": "./lib/mylib.ts" } }',
  "lib/mylib.ts": "export const greet = (name: string): string => `Hello, ${name}`;",
  "jobs/handler.ts": `
    import { greet } from "mylib";
    export default (args: { name: string }): string => {
      console.log("greeting\\n[other 7] of", args.name);
      return greet(args.name);
    };`,
  "jobs/app.ts": `
    import { greet } from "mylib";
    const kind = { queue: "default", maxAttempts: 1, timeout: 20_000, handler: new URL("./handler.ts", import.meta.url) };
    if (greet("x") !== "Hello, x") throw new Error("another mylib");
    export default {
      registrars: [{ kinds: [{ ...kind, name: "in.thread" }, { ...kind, name: "in.host", permissions: {} }] }],
    };`,
};

Deno.test("an application with a deno.json of its own runs, in threads and in host processes", async () => {
  const folder = await Deno.makeTempDir({ prefix: "an app #1 " });
  const url = await testDatabaseUrl();
  const schema = uniqueSchema();
  for (const [path, text] of Object.entries(FILES)) {
    await Deno.mkdir(`${folder}/${path}`.replace(/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(`${folder}/${path}`, text);
  }
  const kind = { queue: "default", maxAttempts: 1, timeout: 1000, handler: () => {} };
  const runtime = createRuntime({
    registrars: [{ kinds: [{ ...kind, name: "in.thread" }, { ...kind, name: "in.host" }] }],
    url,
    schema,
  });
  try {
    await using program = new Program("supervisor", ["--schema", schema, "./app.ts"], {
      cwd: `${folder}/jobs`,
      env: { DATABASE_URL: url },
    });
    assertEquals((await program.event("worker starting")).config, `${folder}/deno.json`);
    await program.event("started");
    for (const name of ["in.thread", "in.host"]) {
      const result = await runtime.wait(await runtime.enqueue(name, { name }), 25_000);
      assertEquals(result.done && result.output, `Hello, ${name}`, program.stdout + program.stderr);
    }
    program.signal("SIGTERM");
    assertEquals((await program.end()).code, 0);
    // Everything is a line of the log, what handlers print too.
    for (const line of program.stdout.trimEnd().split("\n")) JSON.parse(line);
    const printed = program.log.filter((line) => line.event === "output");
    assertEquals(printed.map(({ kind, text }) => `${kind}: ${text}`), [
      "in.thread: greeting",
      "in.thread: [other 7] of in.thread",
      "in.host: greeting",
      "in.host: [other 7] of in.host",
    ]);
    assert(printed.every(({ jobId }) => /^\d+$/.test(jobId as string)), JSON.stringify(printed));
    // Where the nearest one is another package's, the right one can be named.
    await Deno.writeTextFile(`${folder}/jobs/deno.json`, "{}");
    await using told = new Program(
      "supervisor",
      ["--config", "../deno.json", "--schema", schema, "./app.ts"],
      {
        cwd: `${folder}/jobs`,
        env: { DATABASE_URL: url },
      },
    );
    assertEquals((await told.event("worker starting")).config, `${folder}/deno.json`);
    const again = await runtime.wait(await runtime.enqueue("in.host", { name: "again" }), 25_000);
    assertEquals(again.done && again.output, "Hello, again", told.stdout + told.stderr);
  } finally {
    await runtime.stop();
    const sql = postgres(url, { max: 1, onnotice: () => {} });
    await sql`drop schema if exists ${sql(schema)} cascade`;
    await sql.end();
    await Deno.remove(folder, { recursive: true });
  }
});
