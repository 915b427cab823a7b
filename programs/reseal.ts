/**
 * Seals the secrets of all webhook endpoints with the first of the keys (`deno task webhooks:reseal`), so that the
 * other keys can be removed.
 *
 * @module
 */
import { createRuntime } from "../mod.ts";
import { Webhooks } from "../webhooks/mod.ts";
import { type Arguments, parseArguments, UsageError } from "./arguments.ts";
import { EMBEDDED_FLAG, EMBEDDED_HELP, programDatabase } from "./database.ts";
import { programLog, writeError, writeOut } from "./output.ts";
import { schemaOption } from "./schema_option.ts";

const HELP = `Seals the secrets of all webhook endpoints with the first key of MILLRACE_SECRET_KEY.

Usage: deno task webhooks:reseal [OPTIONS]
       deno run -A jsr:@millrace/millrace/webhooks/reseal [OPTIONS]

To replace a key: set MILLRACE_SECRET_KEY to "NEW,OLD" in every process, run this, and then set it to "NEW". The database
is that of DATABASE_URL. Safe to run at any time and again.

  --schema NAME    the schema of the tables (default millrace)
  ${EMBEDDED_HELP}
  --help           this text

Exit codes: 0 done; 1 failed, what was sealed before stays so; 2 the command line is wrong.
`;

const QUEUE = "webhook";

async function reseal(given: Arguments): Promise<void> {
  const schema = schemaOption(given);
  const log = programLog();
  const webhooks = new Webhooks({ queue: QUEUE });
  await using database = await programDatabase(given, log);
  // It is never started: no job is worked here.
  await using _runtime = createRuntime({
    url: database.url,
    ...(schema === undefined ? {} : { schema }),
    registrars: [webhooks.registrar],
    queues: [{ name: QUEUE, concurrency: 1 }],
    log,
  });
  log.info("resealed", { secrets: await webhooks.reseal() });
}

async function main(): Promise<number> {
  try {
    const given = parseArguments(Deno.args, { values: ["schema"], flags: [EMBEDDED_FLAG], words: 0 });
    if (given.flags.has("help")) writeOut(HELP);
    else await reseal(given);
    return 0;
  } catch (error) {
    writeError(`${error instanceof Error ? error.message : String(error)}\n`);
    return error instanceof UsageError ? 2 : 1;
  }
}

if (import.meta.main) Deno.exit(await main());
