/** The pages' code that stands for itself is run as it is written there. */
import { assert, assertEquals } from "@std/assert";
import { createRuntime } from "../../mod.ts";
import { withSchemas } from "./support/schemas.ts";

const page = (name: string) => Deno.readTextFile(new URL(`../../docs/${name}`, import.meta.url));

/** The code of a page in one language, block by block. */
function codeOf(text: string, language: "sql" | "ts"): string[] {
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"))].map(([, code]) => code!);
}

Deno.test("the guide's SQL enqueues what it says, called and by its trigger", async () => {
  await withSchemas(2, async ({ url, sql, schemas: [schema, shop] }) => {
    const kinds = ["order.mail", "report.build", "trial.end"].map((name) => ({
      name,
      queue: "default",
      maxAttempts: 1,
      timeout: 1000,
      handler: () => {},
    }));
    const queues = [{ name: "default", concurrency: 1 }, { name: "bulk", concurrency: 1 }];
    await using runtime = createRuntime({ url, schema: schema!, registrars: [{ kinds }], queues });
    await runtime.migrate();
    // What a start writes down: which kinds there are.
    await runtime.start();
    await runtime.pauseQueue("default");
    await runtime.pauseQueue("bulk");
    const [calls, trigger, ...more] = codeOf(await page("guide.md"), "sql").map((code) =>
      code.replaceAll("millrace.", `${schema}.`)
    );
    assert(calls !== undefined && trigger !== undefined);
    assertEquals(more, []);
    await sql.unsafe(calls.replaceAll("new.id", "7"));
    await sql.begin(async (tx) => {
      await tx.unsafe(`create schema ${shop}; set local search_path = ${shop}; create table orders (id int)`);
      await tx.unsafe(trigger);
      await tx.unsafe("insert into orders values (8)");
    });
    const jobs = await runtime.list();
    assertEquals(jobs.map(({ kind, queue, priority }) => `${kind} ${queue} ${priority}`).sort(), [
      "order.mail default 2",
      "order.mail default 2",
      "report.build default 2",
      "trial.end bulk 4",
    ]);
  });
});

Deno.test("the tests that the page about testing shows pass", async () => {
  const [shown, ...more] = codeOf(await page("testing.md"), "ts");
  assert(shown !== undefined);
  assertEquals(more, []);
  const folder = await Deno.makeTempDir();
  try {
    const entry = (name: string) => JSON.stringify(new URL(`../../${name}`, import.meta.url).href);
    await Deno.writeTextFile(
      `${folder}/shown_test.ts`,
      shown.replace('"@std/assert"', entry("tests/support/assert.ts"))
        .replace('"@millrace/millrace/testing"', entry("testing/mod.ts"))
        .replace('"@millrace/millrace"', entry("mod.ts")),
    );
    const config = decodeURIComponent(new URL("../../deno.json", import.meta.url).pathname);
    const { success, stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["test", "--allow-all", "--no-check", "--config", config, `${folder}/shown_test.ts`],
      env: { NO_COLOR: "1" },
    }).output();
    const text = new TextDecoder().decode(stdout);
    assert(success, text);
    assert(text.includes("2 passed | 0 failed"), text);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
