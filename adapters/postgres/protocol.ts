import type { Database } from "../../ports/database.ts";
import { ProtocolTooOldError } from "../../ports/errors.ts";

/** The SQLSTATE of a process whose protocol is below the least; the error's detail is `[its protocol, the least]`. */
export const PROTOCOL_TOO_OLD = "MR001";

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

create function {schema}.check_protocol() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $body$
declare
  least int;
begin
  select max(least_protocol) into least from {schema}.migration;
  if new.protocol < least then
    raise exception 'This program speaks protocol %, the schema requires % or higher', new.protocol, least
      using errcode = '${PROTOCOL_TOO_OLD}',
        detail = format('[%s,%s]', new.protocol, least),
        hint = 'Deploy the program that migrated the schema, or a newer one.';
  end if;
  return new;
end
$body$;

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

/** Waits for the claims, heartbeats and entries that are under way, and holds up others until the commit. */
const LOCK_RECORD = "lock table {schema}.worker in exclusive mode";

/**
 * Programs of protocol 1 ask nobody before they claim. Where such a process is at work, a trigger leaves out the rows that
 * it would claim. It fires for their claims, and for those of what lies aside: others do not write that column.
 */
const JUDGE = `
do $body$
declare
  least int := (select max(least_protocol) from {schema}.migration);
begin
  update {schema}.worker set outdated = protocol < least where outdated is distinct from (protocol < least);
  -- Looked for first: to drop one that isn't there takes the whole table, and waits for every open enqueue.
  if exists (
    select from pg_trigger
    where tgrelid = $table\${schema}.job$table$::regclass and tgname = 'outdated_claim'
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

/** The statements that follow a step that raises the least protocol, in its transaction and once it is recorded. */
export function raiseProtocol(part: string, version: number, least: number): string[] {
  return [
    LOCK_RECORD,
    `update {schema}.migration set least_protocol = ${least} where part = '${part}' and version = ${version}`,
    JUDGE,
  ];
}

/** The statements that follow when such a step was undone and is no longer recorded. */
export const LOWER_PROTOCOL: readonly string[] = [LOCK_RECORD, JUDGE];

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
