import type { MigrateOptions, MigrationStep, Transaction } from "../../../ports/database.ts";
import { BreakingMigrationError, InvalidOptionError, SchemaVersionError } from "../../../ports/errors.ts";
import { checkSchemaName, substitute } from "../sql/identifiers.ts";
import { literal } from "../sql/sql_text.ts";
import { type SchemaDatabase, takeTurn } from "./migration_turn.ts";
import { lowerLeast, raiseLeast } from "./protocol.ts";
import { checkNames, mendNames } from "./renamed.ts";

/** The name under which the steps of the job tables are recorded. */
export const JOBS_PART: string = "jobs";

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

/** The columns are read by their names, for a table may not have them: older releases made it, or no step needed them. */
const STATE = `
  select
    coalesce(max(version) filter (where part = $1::text), 0) as version,
    coalesce(max((to_jsonb(m) ->> 'least_version')::int) filter (where part = $1::text), 0) as least_version,
    coalesce(max((to_jsonb(m) ->> 'least_protocol')::int), 1) as least_protocol,
    coalesce(bool_or(part = ${literal(JOBS_PART)}), false) as has_jobs
  from {schema}.migration as m`;

const VERSION = "select coalesce(max(version), 0) as version from {schema}.migration where part = $1::text";

const RECORD = "insert into {schema}.migration (part, version, name) values ($1::text, $2::int, $3::text)";

const FORGET = "delete from {schema}.migration where part = $1::text and version = $2::int";

/** Which steps of a part are made, and what they require. */
interface PartState {
  /** The newest step; 0 when there is none. */
  readonly version: number;
  /** The lowest version of the part whose programs can go on. */
  readonly leastVersion: number;
  /** The lowest protocol that may work, over all parts. */
  readonly leastProtocol: number;
  /** Whether there are jobs, and so perhaps programs. */
  readonly hasJobs: boolean;
}

const NOTHING: PartState = { version: 0, leastVersion: 0, leastProtocol: 1, hasJobs: false };

/**
 * Brings one part to its newest step, one process at a time. Each step is a transaction of its own; those of a part that
 * is new are one, for nobody uses its tables yet.
 */
export async function migrate(
  database: SchemaDatabase,
  part: string,
  steps: readonly MigrationStep[],
  { breaking = false }: MigrateOptions = {},
): Promise<void> {
  checkSteps(part, steps);
  const isDone = async () => {
    const state = await stateOf(database, part);
    assertNotTooOld(database, part, steps, state);
    if (state.version >= steps.length) return true;
    const broken = breaking ? undefined : steps.slice(state.version).find((step) => isBreaking(step, state));
    if (broken !== undefined) throw new BreakingMigrationError(part, broken.version, broken.name);
    return false;
  };
  if (part === JOBS_PART) await mendNames(database, part, await migratedTo(database, part) === 0);
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
  const isDone = async () => {
    const found = await migratedTo(database, part);
    if (found > steps.length) throw versionError(database, part, found, steps.length);
    return found <= version;
  };
  // A step that is undone makes some of the functions anew, and the others would be passed over.
  if (part === JOBS_PART) await mendNames(database, part, false);
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

/**
 * Checks that a program with these steps can work on a part, and says so where its tables are newer.
 *
 * @throws {SchemaVersionError} it can't.
 * @throws {SchemaRenamedError} the functions of the schema use another one.
 */
export async function checkMigrated(
  database: Pick<SchemaDatabase, "query" | "schema" | "log">,
  part: string,
  steps: readonly MigrationStep[],
): Promise<void> {
  const state = await stateOf(database, part);
  const { version } = state;
  if (version < steps.length) throw versionError(database, part, version, steps.length);
  assertNotTooOld(database, part, steps, state);
  if (part === JOBS_PART) await checkNames(database);
  if (version === steps.length) return;
  database.log.info("the schema is newer than this program, which can go on with it", {
    schema: database.schema,
    part,
    version,
    known: steps.length,
  });
}

async function stateOf(
  database: Pick<SchemaDatabase, "query" | "schema">,
  part: string,
): Promise<PartState> {
  const exists = await database.query(TABLE_EXISTS, [database.schema]);
  if (exists.length === 0) return NOTHING;
  const [row] = await database.query(STATE, [part]);
  return {
    version: Number(row?.version),
    leastVersion: Number(row?.least_version),
    leastProtocol: Number(row?.least_protocol),
    hasJobs: row?.has_jobs === true,
  };
}

/** Whether a step stops programs that could work until it is made. */
function isBreaking({ leastVersion = 0, leastProtocol = 1 }: MigrationStep, state: PartState): boolean {
  return (state.version > 0 && leastVersion > state.leastVersion) ||
    (state.hasJobs && leastProtocol > state.leastProtocol);
}

function assertNotTooOld(
  database: Pick<SchemaDatabase, "schema">,
  part: string,
  steps: readonly MigrationStep[],
  { version, leastVersion }: PartState,
): void {
  if (leastVersion > steps.length) throw versionError(database, part, version, steps.length);
}

function versionError(
  { schema }: Pick<SchemaDatabase, "schema">,
  part: string,
  found: number,
  needed: number,
): SchemaVersionError {
  return new SchemaVersionError(`${schema} (${part})`, found, needed);
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
  const up = steps.map((step) =>
    `-- ${part} ${step.version}: ${step.name}${limits(step)}\nbegin;\n${print(step.up)}` +
    print(
      `insert into {schema}.migration (part, version, name) ` +
        `values (${literal(part)}, ${step.version}, ${literal(step.name)})`,
    ) + raiseLeast(part, step).map(print).join("") + "commit;\n"
  );
  const down = steps.toReversed().map((step) =>
    `-- ${part} ${step.version}: undo ${step.name}\nbegin;\n${print(step.down)}` +
    print(`delete from {schema}.migration where part = ${literal(part)} and version = ${step.version}`) +
    lowerLeast(step).map(print).join("") + "commit;\n"
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
    for (const statement of raiseLeast(part, step)) await tx.unsafe(statement, []);
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
  for (const statement of lowerLeast(step)) await tx.unsafe(statement, []);
}

async function exists(tx: Transaction, query: string, schema: string): Promise<boolean> {
  return (await tx.unsafe(query, [schema])).length > 0;
}

async function versionOf(tx: Transaction, part: string): Promise<number> {
  return Number((await tx.unsafe(VERSION, [part]))[0]?.version);
}

/** For people who make the step by hand: who can't go on with it. */
function limits({ leastVersion, leastProtocol }: MigrationStep): string {
  const least = [
    ...(leastVersion === undefined ? [] : [`version ${leastVersion}`]),
    ...(leastProtocol === undefined ? [] : [`protocol ${leastProtocol}`]),
  ];
  return least.length === 0 ? "" : ` (programs below ${least.join(" and ")} can't go on with it)`;
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
    const { leastVersion } = step;
    if (leastVersion === undefined) return;
    if (!Number.isInteger(leastVersion) || leastVersion < 1 || leastVersion > index + 1) {
      throw new InvalidOptionError(
        `leastVersion of step ${index + 1} of ${part}`,
        leastVersion,
        `an integer from 1 to ${index + 1}`,
      );
    }
  });
}
