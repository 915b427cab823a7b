import { startEmbedded } from "../../embedded/mod.ts";

let started: Promise<string> | undefined;

/**
 * The URL of the database that tests use: `DATABASE_URL`, as `deno task test` sets it. Where one file is run by plain
 * `deno test`, an embedded PostgreSQL that ends with the process.
 */
export function testDatabaseUrl(): Promise<string> {
  const url = Deno.env.get("DATABASE_URL");
  if (url !== undefined && url !== "") return Promise.resolve(url);
  return started ??= startEmbedded({ ephemeral: true, settings: { max_connections: "300" } })
    .then((server) => server.url);
}

/** A schema name that nobody else uses. */
export function uniqueSchema(): string {
  return `test_${crypto.randomUUID().replaceAll("-", "").slice(0, 16)}`;
}
