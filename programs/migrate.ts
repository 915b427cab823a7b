/**
 * Migrates a database's schema up or down, or prints the SQL (`deno task migrate`).
 *
 * @module
 */
import { createPostgresStore } from "../adapters/postgres/postgres_store.ts";
import { printMigration } from "../adapters/postgres/schema/migrate.ts";
import { JOBS_PART, migrationSql } from "../adapters/postgres/schema/schema.ts";
import { OUTBOX } from "../events/_schema.ts";
import type { PartMigrations } from "../ports/registrar.ts";
import { WEBHOOKS } from "../webhooks/mod.ts";
import { type Arguments, integerOption, parseArguments, UsageError } from "./arguments.ts";
import { EMBEDDED_FLAG, EMBEDDED_HELP, programDatabase } from "./database.ts";
import { programLog, writeError, writeOut } from "./output.ts";
import { schemaOption } from "./schema_option.ts";

const HELP = `Brings Millrace's tables, of jobs and of events, to the version of this program.

Usage: deno task migrate [OPTIONS]
       deno run -A jsr:@millrace/millrace/migrate [OPTIONS]

The database is that of DATABASE_URL. Safe to run by many at once: the tables are made or changed by one of them, the
others wait. All steps are made, those too that older programs can't go on with; newer tables are left alone. Standard
output is one JSON object a line (with --print-sql the SQL), mistakes are told on standard error.

  --schema NAME    the schema of the tables (default millrace)
  --down N         take the tables of jobs back to version N, which is at most the one they are at; the jobs are lost.
                   0 removes the tables of events and webhooks too, and all that is in them
  --webhooks       make the tables of webhooks too, which only programs with webhooks need
  ${EMBEDDED_HELP}
  --print-sql      print the SQL and change nothing; with --down 0 the SQL that removes them
  --help           this text

Exit codes: 0 done; 1 failed; 2 the command line is wrong.
`;

const VERSION_MAX = 10_000;
const SCHEMA_DEFAULT = "millrace";
/** Running this program is a request for the breaking steps too. */
const ALL = { breaking: true };

async function migrate(given: Arguments): Promise<void> {
  const schema = schemaOption(given) ?? SCHEMA_DEFAULT;
  const down = integerOption(given, "down", 0, VERSION_MAX);
  if (given.flags.has("print-sql")) {
    if (down !== undefined && down !== 0) {
      throw new UsageError(`Cannot print the SQL down to version ${down}: expected --down 0`);
    }
    const jobs = migrationSql(schema);
    const parts = partsOf(given).map(({ part, steps }) => printMigration(schema, part, steps));
    return writeOut(
      down === undefined
        ? [jobs.up, ...parts.map(({ up }) => up)].join("\n")
        : [...parts.toReversed().map(({ down }) => down), jobs.down].join("\n"),
    );
  }
  const log = programLog();
  await using database = await programDatabase(given, log);
  const store = createPostgresStore({ url: database.url, schema, log });
  try {
    const version = () => store.database.migratedTo(JOBS_PART);
    const from = await version();
    if (down === undefined) {
      await store.migrate(ALL);
      for (const { part, steps } of partsOf(given)) await store.database.migrate(part, steps, ALL);
    } else {
      checkDown(schema, from, down);
      for (const { part, steps } of down === 0 ? [WEBHOOKS, OUTBOX] : []) {
        if (await store.database.migratedTo(part) > 0) await store.database.migrateDown(part, steps);
      }
      await store.migrateDown(down);
    }
    log.info("migrated", { schema, from, to: await version() });
  } finally {
    await store.close();
  }
}

/** The parts besides the jobs, in the order in which their tables are created. */
function partsOf(given: Arguments): readonly PartMigrations[] {
  return given.flags.has("webhooks") ? [OUTBOX, WEBHOOKS] : [OUTBOX];
}

function checkDown(schema: string, from: number, to: number): void {
  const what = `Cannot take the schema ${JSON.stringify(schema)} down to version ${to}`;
  if (from === 0) throw new UsageError(`${what}: Millrace's tables are not there`);
  if (to > from) throw new UsageError(`${what}: it is at version ${from}`);
}

async function main(): Promise<number> {
  try {
    const given = parseArguments(Deno.args, {
      values: ["schema", "down"],
      flags: ["print-sql", "webhooks", EMBEDDED_FLAG],
      words: 0,
    });
    if (given.flags.has("help")) writeOut(HELP);
    else await migrate(given);
    return 0;
  } catch (error) {
    writeError(`${error instanceof Error ? error.message : String(error)}\n`);
    return error instanceof UsageError ? 2 : 1;
  }
}

if (import.meta.main) Deno.exit(await main());
