import type { Transaction } from "../../../ports/database.ts";
import { SchemaRenamedError } from "../../../ports/errors.ts";
import { quoteIdentifier } from "../../../shared/identifier.ts";
import { literal } from "../sql/sql_text.ts";
import { type SchemaDatabase, takeTurn } from "./migration_turn.ts";

/**
 * Our functions that name their schema. Their bodies are texts, so that they go on using the old name after
 * `alter schema ... rename`, as they do in a copy of a schema.
 */
const NAMING = [
  "apply_rules",
  "check_protocol",
  "enqueue",
  "lacking",
  "make_way",
  "note_listening",
  "offer_keyed",
  "offer_many",
  "pass_over_listening",
  "pass_over_migration",
  "record_periodic_run",
];

/** Tables that one of them names. */
const NAMED = "job|job_key|kind|migration|listening|periodic|periodic_run";

/** Functions that are made for another schema than the one they are in, whose name is then told as it is quoted. */
const MISNAMED = `
  select space.nspname as made_in, (regexp_match(proc.prosrc, '("(?:[^"]|"")+")\\.(?:${NAMED})\\M'))[1] as made_for
  from pg_catalog.pg_proc as proc
  join pg_catalog.pg_namespace as space on space.oid = proc.pronamespace
  where proc.proname in (${NAMING.map(literal).join(", ")})
    and strpos(proc.prosrc, '"' || replace(space.nspname, '"', '""') || '".') = 0
    and exists (select from pg_catalog.pg_class where relnamespace = space.oid and relname = 'job_history')
  order by 1, 2`;

const DEFINITIONS = `
  select pg_catalog.pg_get_functiondef(oid) as definition
  from pg_catalog.pg_proc
  where pronamespace = $name\${schema}$name$::regnamespace and prokind in ('f', 'p')
  order by oid`;

/** How functions and names of schemas differ. */
interface Misnamed {
  /** The names that functions of this schema use instead of its own, quoted. */
  readonly own: readonly string[];
  /** Other schemas with functions that use the name of this one. */
  readonly others: readonly string[];
}

/**
 * Makes the functions of a renamed or copied schema anew, for the name that it has: those of Millrace, and whatever else
 * is in the schema and names it in quotes, such as captures. Owners and rights stay.
 *
 * @throws {SchemaRenamedError} the schema has no tables yet, and the functions of a renamed one would write into them.
 */
export async function mendNames(database: SchemaDatabase, part: string, isNew: boolean): Promise<void> {
  const { own, others } = await misnamed(database);
  if (isNew && others.length > 0) throw new SchemaRenamedError(others[0]!, database.schema);
  if (own.length === 0) return;
  await takeTurn(database, {
    part,
    isDone: async () => (await misnamed(database)).own.length === 0,
    body: (tx) => rename(tx, own, database.schema),
  });
  database.log.warn("the schema has another name than its functions were made for, they were made anew", {
    schema: database.schema,
    madeFor: own.join(", "),
  });
}

/**
 * Checks that the functions of a schema are made for its name. Says so where those of another schema write into this one.
 *
 * @throws {SchemaRenamedError} they aren't.
 */
export async function checkNames(database: Pick<SchemaDatabase, "query" | "schema" | "log">): Promise<void> {
  const { own, others } = await misnamed(database);
  if (own.length > 0) throw new SchemaRenamedError(database.schema, unquoted(own[0]!));
  for (const other of others) {
    database.log.warn("functions of another schema write into this one, for they were made for its name", {
      schema: database.schema,
      other,
      remedy: `run migrate() on the schema ${other}, or the migrate program with --schema, or drop it`,
    });
  }
}

async function misnamed(database: Pick<SchemaDatabase, "query" | "schema">): Promise<Misnamed> {
  const { schema } = database;
  const rows = await database.query(MISNAMED);
  const names = (those: typeof rows, name: string) => [...new Set(those.map((row) => String(row[name])))];
  const known = rows.filter((row) => row.made_for !== null);
  return {
    own: names(known.filter((row) => row.made_in === schema), "made_for"),
    others: names(known.filter((row) => row.made_for === quoteIdentifier(schema)), "made_in"),
  };
}

async function rename(tx: Transaction, from: readonly string[], schema: string): Promise<void> {
  for (const row of await tx.unsafe(DEFINITIONS, [])) {
    const definition = String(row.definition);
    let renamed = definition;
    for (const old of from) {
      renamed = renamed
        .replaceAll(`${old}.`, () => `${quoteIdentifier(schema)}.`)
        .replace(
          /^ SET search_path TO .*$/m,
          (path) => path.replaceAll(literal(unquoted(old)), () => literal(schema)),
        );
    }
    if (renamed !== definition) await tx.unsafe(renamed, []);
  }
}

function unquoted(identifier: string): string {
  return identifier.slice(1, -1).replaceAll('""', '"');
}
