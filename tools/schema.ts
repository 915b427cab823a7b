/**
 * Writes the schema as text (`tests/schema/schema.txt`): everything that the migrations of all parts make, as the catalogs of
 * an embedded PostgreSQL tell it. A test compares the two.
 *
 * @module
 */
import postgres from "postgres";
import { PostgresDatabase } from "../adapters/postgres/connection/database.ts";
import { JOB_STEPS, JOBS_PART } from "../adapters/postgres/schema/schema.ts";
import { startEmbedded } from "../embedded/mod.ts";
import { OUTBOX } from "../events/_schema.ts";
import { describeSchema } from "../tests/schema/describe_schema.ts";
import { WEBHOOKS } from "../webhooks/schema.ts";

await using server = await startEmbedded({ ephemeral: true });
const database = PostgresDatabase.connect({ url: server.url, listen: "off" });
for (const { part, steps } of [{ part: JOBS_PART, steps: JOB_STEPS }, OUTBOX, WEBHOOKS]) {
  await database.migrate(part, steps);
}
const sql = postgres(server.url, { max: 1 });
await Deno.writeTextFile(
  new URL("../tests/schema/schema.txt", import.meta.url),
  await describeSchema(sql, database.schema),
);
await sql.end();
await database.close();
