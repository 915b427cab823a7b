import { assertEquals } from "@std/assert";
import { JOB_STEPS } from "../../adapters/postgres/schema/schema.ts";
import { Program } from "../programs/program.ts";
import { withSchemas } from "./support/schemas.ts";

Deno.test("eight processes migrate and start at the same moment, 20 times over: each step once, no errors", async () => {
  await withSchemas(20, async ({ url, sql, schemas }) => {
    const config = JSON.stringify({ url, schemas, at: Date.now() + 3500, everyMs: 150 });
    const programs = Array.from(
      { length: 8 },
      () => new Program("../tests/integration/programs/migrating", [config]),
    );
    try {
      for (const program of programs) {
        assertEquals([(await program.end()).code, program.stderr], [0, ""]);
      }
    } finally {
      for (const program of programs) await program[Symbol.asyncDispose]();
    }
    for (const schema of schemas) {
      const steps = await sql.unsafe(
        `select version from ${schema}.migration where part = 'jobs' order by version`,
      );
      assertEquals(steps.map(({ version }) => version), JOB_STEPS.map(({ version }) => version));
    }
  });
});
