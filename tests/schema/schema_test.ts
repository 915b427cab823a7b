/** The whole schema is committed as text, so that no change of it goes unseen in a review. */
import { assertEquals } from "@std/assert";
import { PostgresDatabase } from "../../adapters/postgres/connection/database.ts";
import { JOB_STEPS, JOBS_PART } from "../../adapters/postgres/schema/schema.ts";
import { OUTBOX } from "../../events/_schema.ts";
import type { PartMigrations } from "../../ports/registrar.ts";
import { WEBHOOKS } from "../../webhooks/schema.ts";
import { withSchemas } from "../integration/support/schemas.ts";
import { describeSchema } from "./describe_schema.ts";

const PARTS: readonly PartMigrations[] = [{ part: JOBS_PART, steps: JOB_STEPS }, OUTBOX, WEBHOOKS];
const SCHEMA = await Deno.readTextFile(new URL("./schema.txt", import.meta.url));

/** Brings a schema up and describes it. */
async function described(up: (database: PostgresDatabase) => Promise<void>): Promise<string> {
  let text = "";
  await withSchemas(1, async ({ url, sql, schemas: [schema] }) => {
    const database = PostgresDatabase.connect({ url, schema: schema!, listen: "off" });
    await up(database).finally(() => database.close());
    text = await describeSchema(sql, schema!);
  });
  return text;
}

Deno.test("the schema of all parts is what tests/schema/schema.txt says (deno run -A tools/schema.ts writes it)", async () => {
  const text = await described(async (database) => {
    for (const { part, steps } of PARTS) await database.migrate(part, steps);
  });
  assertEquals(text, SCHEMA);
});

Deno.test("the steps from the first on, each by itself, lead to the same schema, and so does each taken back and made again", async () => {
  const text = await described(async (database) => {
    for (const { part, steps } of PARTS) {
      for (const [index, { down, up }] of steps.entries()) {
        await database.migrate(part, steps.slice(0, index + 1), { breaking: true });
        await database.transaction(async (tx) => {
          await tx.unsafe(down, []);
          await tx.unsafe(up, []);
        });
      }
    }
  });
  assertEquals(text, SCHEMA);
});
