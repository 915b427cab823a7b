import type { Database, MigrationStep } from "../../../ports/database.ts";
import { ProtocolTooOldError, SchemaVersionError } from "../../../ports/errors.ts";
import { literal } from "../sql/sql_text.ts";

/** The SQLSTATE of a process whose protocol is below the least; the error's detail is `[its protocol, the least]`. */
export const PROTOCOL_TOO_OLD = "MR001";

/** That of a process which knows too few of a part's steps; the detail is `[the part, its version, the one known]`. */
export const PART_TOO_OLD = "MR002";

/**
 * Who may claim from now on. It waits for the claims, heartbeats and entries that are under way, and holds up others until
 * the commit.
 *
 * Programs of protocol 1 ask nobody before they claim. Where such a process is at work, a trigger leaves out the rows that
 * it would claim. It fires for their claims, and for those of what lies aside: others do not write that column.
 */
const JUDGE = `
do $body$
begin
  -- Without the tables of jobs there is nobody on the record, and in old ones nobody's parts are.
  if to_regprocedure($name\${schema}.lacking(int, jsonb)$name$) is null then
    return;
  end if;
  lock table {schema}.worker in exclusive mode;
  update {schema}.worker
  set outdated = {schema}.lacking(protocol, parts) is not null
  where outdated is distinct from ({schema}.lacking(protocol, parts) is not null);
  -- Looked for first: to drop one that isn't there takes the whole table, and waits for every open enqueue.
  if exists (
    select from pg_trigger
    where tgrelid = $name\${schema}.job$name$::regclass and tgname = 'outdated_claim'
  ) then
    drop trigger outdated_claim on {schema}.job;
  end if;
  if exists (select from {schema}.worker where outdated and protocol = 1) then
    create or replace function {schema}.refuse_outdated_claim() returns trigger language plpgsql
    set search_path = pg_catalog, pg_temp as $name$
    begin
      if exists (select from {schema}.worker where id = new.owner and outdated) then
        return null;
      end if;
      return new;
    end
    $name$;
    create trigger outdated_claim before update of undeclared on {schema}.job
      for each row when (new.state = 'running')
      execute function {schema}.refuse_outdated_claim();
  else
    drop function if exists {schema}.refuse_outdated_claim();
  end if;
end
$body$`;

/** Looked for first: to add a column takes the whole table, even one that is there. */
const ADD_LEAST_VERSION = `
do $body$
begin
  if not exists (
    select from pg_attribute
    where attrelid = $name\${schema}.migration$name$::regclass and attname = 'least_version' and not attisdropped
  ) then
    alter table {schema}.migration add column least_version int not null default 0;
  end if;
end
$body$`;

/** The statements that follow a step that requires something of programs, in its transaction and once it is recorded. */
export function raiseLeast(part: string, { version, leastVersion, leastProtocol }: MigrationStep): string[] {
  const step = `part = ${literal(part)} and version = ${version}`;
  const raised = [
    ...(leastVersion === undefined ? [] : [
      ADD_LEAST_VERSION,
      `update {schema}.migration set least_version = ${leastVersion} where ${step}`,
    ]),
    ...(leastProtocol === undefined
      ? []
      : [`update {schema}.migration set least_protocol = ${leastProtocol} where ${step}`]),
  ];
  return raised.length === 0 ? [] : [...raised, JUDGE];
}

/** The statements that follow when such a step was undone and is no longer recorded. */
export function lowerLeast({ leastVersion, leastProtocol }: MigrationStep): string[] {
  return leastVersion === undefined && leastProtocol === undefined ? [] : [JUDGE];
}

const LOWEST = "select min(protocol) as lowest from {schema}.worker";

/**
 * The lowest protocol of the processes on the record, dead ones that were not rescued yet included; null when there are
 * none. What a program of a protocol would break must not be used while one is on the record.
 */
export async function lowestProtocol(database: Pick<Database, "query">): Promise<number | null> {
  const [row] = await database.query(LOWEST);
  return typeof row?.lowest === "number" ? row.lowest : null;
}

/** The typed error of a process that was refused. */
export function protocolTooOld(error: Error): ProtocolTooOldError {
  const [protocol, least]: number[] = JSON.parse(String(Reflect.get(error, "detail")));
  return new ProtocolTooOldError(protocol!, least!, { cause: error });
}

/** The typed error of a process that knows too few of a part's steps. */
export function partTooOld(error: Error): SchemaVersionError {
  const [part, found, known]: [string, number, number] = JSON.parse(String(Reflect.get(error, "detail")));
  return new SchemaVersionError(`of ${part}`, found, known, { cause: error });
}
