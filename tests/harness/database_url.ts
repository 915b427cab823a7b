/**
 * The database of this test run.
 *
 * @throws {Error} there is none.
 */
export function databaseUrl(): string {
  const url = Deno.env.get("DATABASE_URL");
  if (url) return url;
  throw new Error("DATABASE_URL is not set: `deno task test` starts an embedded PostgreSQL and sets it");
}
