import type { MigrationStep, Transaction } from "../../ports/database.ts";
import { InvalidOptionError, SchemaVersionError } from "../../ports/errors.ts";
import { checkSchemaName, substitute } from "./identifiers.ts";
import { type SchemaDatabase, takeTurn } from "./migration_turn.ts";
import { LOWER_PROTOCOL, raiseProtocol } from "./protocol.ts";

const SCHEMA_EXISTS = "select 1 from pg_namespace where nspname = $1::text";

const CREATE_TABLE = `
  create table if not exists {schema}.migration (
    part text not null,
    version int not null,
    name text not null,
    applied_at timestamptz not null default clock_timestamp(),
    primary key (part, version)
  )`;

const TABLE_EXISTS = `
  select 1
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = $1::text and c.relname = 'migration' and c.relkind = 'r'`;

const VERSION = "select coalesce(max(version), 0) as version from {schema}.migration where part = $1::text";

const RECORD = "insert into {schema}.migration (part, version, name) values ($1::text, $2::int, $3::text)";

const FORGET = "delete from {schema}.migration where part = $1::text and version = $2::int";

/**
 * Brings one part to its newest step, one process at a time. Each step is a transaction of its own; those of a part that
 * is new are one, for nobody uses its tables yet.
 */
export async function migrate(
  database: SchemaDatabase,
  part: string,
  steps: readonly MigrationStep[],
): Promise<void> {
  checkSteps(part, steps);
  const isDone = async () => await versionWithin(database, part, steps) === steps.length;
  // A process that is killed leaves whole steps only, and the next one goes on from there.
  while (!(await isDone())) {
    await takeTurn(database, { part, isDone, body: (tx) => stepUp(database, tx, part, steps) });
  }
}

/** Takes one part back to a version, the newest step first. */
export async function migrateDown(
  database: SchemaDatabase,
  part: string,
  steps: readonly MigrationStep[],
  version = 0,
): Promise<void> {
  checkSteps(part, steps);
  const isDone = async () => await versionWithin(database, part, steps) <= version;
  while (!(await isDone())) {
    await takeTurn(database, { part, isDone, body: (tx) => stepDown(database, tx, part, steps, version) });
  }
}

/** The version that one part is at; 0 when there is nothing. */
export async function migratedTo(
  database: Pick<SchemaDatabase, "query" | "schema">,
  part: string,
): Promise<number> {
  const exists = await database.query(TABLE_EXISTS, [database.schema]);
  if (exists.length === 0) return 0;
  return Number((await database.query(VERSION, [part]))[0]?.version);
}

/** @throws {SchemaVersionError} it is newer than the steps. */
async function versionWithin(
  database: SchemaDatabase,
  part: string,
  steps: readonly MigrationStep[],
): Promise<number> {
  const version = await migratedTo(database, part);
  if (version > steps.length) throw new SchemaVersionError(database.schema, version, steps.length);
  return version;
}

/** The SQL of a part for people who run migrations themselves, with psql or a tool of their own. */
export interface MigrationSql {
  /** Makes the schema and the tables, and records each step. */
  readonly up: string;
  /** Undoes it, and loses what the tables held. */
  readonly down: string;
}

/**
 * Prints the steps of a part as SQL, the recording of each step included.
 *
 * @throws {InvalidOptionError} no schema can have that name, or the steps are not in order.
 */
export function printMigration(schema: string, part: string, steps: readonly MigrationStep[]): MigrationSql {
  checkSchemaName(schema);
  checkSteps(part, steps);
  const print = (sql: string) => `${substitute(sql, schema).replace(/^\n/, "").trimEnd()};\n`;
  const literal = (text: string) => `'${text.replaceAll("'", "''")}'`;
  const up = steps.map((step) =>
    `-- ${part} ${step.version}: ${step.name}\nbegin;\n${print(step.up)}` +
    print(
      `insert into {schema}.migration (part, version, name) ` +
        `values (${literal(part)}, ${step.version}, ${literal(step.name)})`,
    ) + afterUp(part, step).map(print).join("") + "commit;\n"
  );
  const down = steps.toReversed().map((step) =>
    `-- ${part} ${step.version}: undo ${step.name}\nbegin;\n${print(step.down)}` +
    print(`delete from {schema}.migration where part = ${literal(part)} and version = ${step.version}`) +
    afterDown(step).map(print).join("") + "commit;\n"
  );
  return {
    up: print("create schema if not exists {schema}") + print(CREATE_TABLE) + "\n" + up.join("\n"),
    down: down.join("\n"),
  };
}

async function stepUp(
  database: SchemaDatabase,
  tx: Transaction,
  part: string,
  steps: readonly MigrationStep[],
): Promise<void> {
  if (!(await exists(tx, TABLE_EXISTS, database.schema))) {
    // Looked for first: `if not exists` needs the right to create even when there is nothing to create.
    if (!(await exists(tx, SCHEMA_EXISTS, database.schema))) await tx.unsafe("create schema {schema}", []);
    await tx.unsafe(CREATE_TABLE, []);
  }
  const version = await versionOf(tx, part);
  for (const step of version === 0 ? steps : steps.slice(version, version + 1)) {
    await tx.unsafe(step.up, []);
    await tx.unsafe(RECORD, [part, step.version, step.name]);
    for (const statement of afterUp(part, step)) await tx.unsafe(statement, []);
  }
}

async function stepDown(
  database: SchemaDatabase,
  tx: Transaction,
  part: string,
  steps: readonly MigrationStep[],
  target: number,
): Promise<void> {
  if (!(await exists(tx, TABLE_EXISTS, database.schema))) return;
  const version = await versionOf(tx, part);
  const step = steps[version - 1];
  if (version <= target || step === undefined) return;
  await tx.unsafe(step.down, []);
  await tx.unsafe(FORGET, [part, step.version]);
  for (const statement of afterDown(step)) await tx.unsafe(statement, []);
}

function afterUp(part: string, { version, leastProtocol }: MigrationStep): readonly string[] {
  return leastProtocol === undefined ? [] : raiseProtocol(part, version, leastProtocol);
}

function afterDown({ leastProtocol }: MigrationStep): readonly string[] {
  return leastProtocol === undefined ? [] : LOWER_PROTOCOL;
}

async function exists(tx: Transaction, query: string, schema: string): Promise<boolean> {
  return (await tx.unsafe(query, [schema])).length > 0;
}

async function versionOf(tx: Transaction, part: string): Promise<number> {
  return Number((await tx.unsafe(VERSION, [part]))[0]?.version);
}

function checkSteps(part: string, steps: readonly MigrationStep[]): void {
  steps.forEach((step, index) => {
    if (step.version !== index + 1) {
      throw new InvalidOptionError(
        `version of step ${index + 1} of ${part}`,
        step.version,
        "1, 2, 3, ... in order",
      );
    }
  });
}
