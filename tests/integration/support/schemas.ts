import { testDatabaseUrl, uniqueSchema } from "../../support/test_database.ts";
import { connectPostgres } from "./connect.ts";

/** Runs a test with a connection and schemas that are dropped after it. */
export async function withSchemas(
  count: number,
  body: (it: { url: string; sql: ReturnType<typeof connectPostgres>; schemas: string[] }) => Promise<void>,
): Promise<void> {
  const url = await testDatabaseUrl();
  const sql = connectPostgres(url, 2);
  const schemas = Array.from({ length: count }, uniqueSchema);
  try {
    await body({ url, sql, schemas });
  } finally {
    for (const schema of schemas) await sql.unsafe(`drop schema if exists ${schema} cascade`);
    await sql.end();
  }
}
