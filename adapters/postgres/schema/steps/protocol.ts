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
      using errcode = 'MR001',
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
      using errcode = 'MR002',
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
