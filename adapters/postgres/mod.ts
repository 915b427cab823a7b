/**
 * Millrace on PostgreSQL, through postgres.js.
 *
 * @module
 */
export { PostgresDatabase, type PostgresDatabaseOptions } from "./database.ts";
export { type MigrationSql, printMigration } from "./migrate.ts";
export { createPostgresStore, PostgresStore, type PostgresStoreOptions } from "./postgres_store.ts";
export { migrationSql } from "./schema.ts";
export type { Bounds } from "./session.ts";
export { type StatementContext, translateError } from "./translate_error.ts";
export type { Statements } from "./statements.ts";
