import type { Database, MigrationStep } from "../../ports/database.ts";
import { ProtocolTooOldError, SchemaVersionError } from "../../ports/errors.ts";
import { literal } from "./sql_text.ts";

/** The SQLSTATE of a process whose protocol is below the least; the error's detail is `[its protocol, the least]`. */
export const PROTOCOL_TOO_OLD = "MR001";

/** That of a process which knows too few of a part's steps; the detail is `[the part, its version, the one known]`. */
export const PART_TOO_OLD = "MR002";

/** The trigger on the record. What it looks at beside the protocol came with a later step. */
const checkFunction = (create: string, { variables = "", checks = "" } = {}): string => `
${create} {schema}.check_protocol() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $body$
declare
  least int;${variables}
begin
  select max(least_protocol) into least from {schema}.migration;
  if new.protocol < least then
    raise exception 'This program speaks protocol %, the schema requires % or higher', new.protocol, least
      using errcode = '${PROTOCOL_TOO_OLD}',
        detail = format('[%s,%s]', new.protocol, least),
        hint = 'Deploy the program that migrated the schema, or a newer one.';
  end if;${checks}
  return new;
end
$body$`;

/**
 * A step may raise the least protocol. From its commit on no process below it is put on the record, and those that are on
 * it claim nothing more; what they run they may end.
 *
 * The record itself refuses, so a program that knows nothing of protocols is refused too: its row says 1.
 */
export const CREATE_PROTOCOL: string = `
alter table {schema}.migration add column least_protocol int not null default 1;

alter table {schema}.worker
  add column protocol int not null default 1,
  -- Its protocol is below the least: it claims nothing more.
  add column outdated boolean not null default false;
${checkFunction("create function")};

create trigger check_protocol before insert on {schema}.worker
  for each row execute function {schema}.check_protocol()`;

/** Undoes it. */
export const DROP_PROTOCOL: string = `
drop trigger if exists outdated_claim on {schema}.job;
drop function if exists {schema}.refuse_outdated_claim();
drop trigger check_protocol on {schema}.worker;
drop function {schema}.check_protocol();
alter table {schema}.worker drop column outdated, drop column protocol;
alter table {schema}.migration drop column least_protocol`;

/**
 * A process says which version it knows of each part, and a step may require one, as it may require a protocol. Of a part
 * that a process knows nothing of it needs nothing.
 */
export const CREATE_PART_VERSIONS: string = `
alter table {schema}.migration add column if not exists least_version int not null default 0;

alter table {schema}.worker add column parts jsonb not null default '{}';

-- What the steps require beyond what a process has, for people; null when it has everything.
create function {schema}.lacking(protocol int, parts jsonb) returns text language sql stable
set search_path = pg_catalog, pg_temp as $body$
  select string_agg(required.needed, ', ')
  from (
    select format('protocol %s', max(m.least_protocol)) as needed
    from {schema}.migration as m
    having max(m.least_protocol) > protocol
    union all
    select format('version %s of %s', max(m.least_version), m.part)
    from {schema}.migration as m
    group by m.part
    having max(m.least_version) > (parts ->> m.part)::int
  ) as required
$body$;
${
  checkFunction("create or replace function", {
    variables: `
  behind jsonb;`,
    checks: `
  select jsonb_build_array(m.part, max(m.version), (new.parts ->> m.part)::int) into behind
  from {schema}.migration as m
  group by m.part
  having max(m.least_version) > (new.parts ->> m.part)::int
  limit 1;
  if behind is not null then
    raise exception 'This program is too old for the schema, which requires %', {schema}.lacking(new.protocol, new.parts)
      using errcode = '${PART_TOO_OLD}',
        detail = behind,
        hint = 'Deploy the program that migrated the schema, or a newer one.';
  end if;`,
  })
}`;

/** Undoes it, but for what steps of other parts require. */
export const DROP_PART_VERSIONS: string = `
${checkFunction("create or replace function")};
drop function {schema}.lacking(int, jsonb);
alter table {schema}.worker drop column parts`;

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
