/**
 * Brings a database's schema up, or down, or prints the SQL (`deno task migrate`).
 *
 * @module
 */
import { createPostgresStore, migrationSql } from "../adapters/postgres/mod.ts";
import { type Arguments, integerOption, parseArguments, UsageError } from "./arguments.ts";
import { programDatabase } from "./database.ts";
import { programLog, writeError, writeOut } from "./output.ts";

const HELP = `Brings Millrace's tables to the version of this program.

Usage: deno task migrate [OPTIONS]

The database is that of DATABASE_URL; without it an embedded PostgreSQL is started under .millrace/.

  --schema NAME    the schema of the tables (default millrace)
  --down N         take them back to version N; 0 removes them. The jobs are lost
  --print-sql      print the SQL and change nothing; with --down 0 the SQL that removes them
  --help           this text

Exit codes: 0 done; 1 failed; 2 the command line is wrong.
`;

const VERSION_MAX = 10_000;
const SCHEMA_DEFAULT = "millrace";

async function migrate(given: Arguments): Promise<void> {
  const schema = given.values.get("schema") ?? SCHEMA_DEFAULT;
  const down = integerOption(given, "down", 0, VERSION_MAX);
  if (given.flags.has("print-sql")) {
    if (down !== undefined && down !== 0) {
      throw new UsageError(`Cannot print the SQL down to version ${down}: expected --down 0`);
    }
    const sql = migrationSql(schema);
    return writeOut(down === undefined ? sql.up : sql.down);
  }
  const log = programLog();
  await using database = await programDatabase(log);
  const store = createPostgresStore({ url: database.url, schema, log });
  try {
    if (down === undefined) await store.migrate();
    else await store.migrateDown(down);
    log.info("migrated", { schema, to: down ?? "newest" });
  } finally {
    await store.close();
  }
}

async function main(): Promise<number> {
  try {
    const given = parseArguments(Deno.args, { values: ["schema", "down"], flags: ["print-sql"], words: 0 });
    if (given.flags.has("help")) writeOut(HELP);
    else await migrate(given);
    return 0;
  } catch (error) {
    writeError(`${error instanceof Error ? error.message : String(error)}\n`);
    return error instanceof UsageError ? 2 : 1;
  }
}

if (import.meta.main) Deno.exit(await main());
