/**
 * Claims look for the priorities that there are, so a job of any other one would never run, and nothing would say so. Rows of
 * before get the nearest one.
 *
 * It is asked in the trigger that bounds the args: one comparison more there is not measurable, a CHECK costs each insert and
 * claim as much as 10 us.
 */
export const BOUND_PRIORITY: string = `
create or replace function {schema}.bound_args() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $body$
begin
  if new.priority not between 1 and 4 then
    raise exception 'Cannot use priority %: expected 1 (first), 2, 3 or 4', new.priority
      using errcode = 'check_violation', schema = tg_table_schema, table = 'job', column = 'priority',
        constraint = 'job_priority_from_1_to_4';
  end if;
  if octet_length(new.args::text) > 67108864 then
    raise exception 'The args of this job have more than 64 MiB as text'
      using errcode = 'check_violation', schema = tg_table_schema, table = 'job', column = 'args',
        constraint = 'job_args_within_64_mib';
  end if;
  return new;
end
$body$;

drop trigger bound_args on {schema}.job;
create trigger bound_args before insert or update of args, priority on {schema}.job
  for each row when (
    pg_catalog.pg_column_size(new.args) operator(pg_catalog.>) 4000
      or pg_catalog.pg_column_compression(new.args) is not null
      or new.priority operator(pg_catalog.<) 1
      or new.priority operator(pg_catalog.>) 4
  )
  execute function {schema}.bound_args();

update {schema}.job set priority = least(greatest(priority, 1), 4) where priority not between 1 and 4`;

/** Undoes it. */
export const UNBOUND_PRIORITY: string = `
create or replace function {schema}.bound_args() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $body$
begin
  if octet_length(new.args::text) > 67108864 then
    raise exception 'The args of this job have more than 64 MiB as text'
      using errcode = 'check_violation', schema = tg_table_schema, table = 'job', column = 'args',
        constraint = 'job_args_within_64_mib';
  end if;
  return new;
end
$body$;

drop trigger bound_args on {schema}.job;
create trigger bound_args before insert or update of args on {schema}.job
  for each row when (
    pg_catalog.pg_column_size(new.args) operator(pg_catalog.>) 4000
      or pg_catalog.pg_column_compression(new.args) is not null
  )
  execute function {schema}.bound_args()`;
