/**
 * Args that can't be read as text, for PostgreSQL makes none of more than 1 GB, would hold up their queue: each claim that
 * comes to them fails. Whoever inserts such a row is refused instead. `enqueue()` bounds its args before; this is for rows
 * that are inserted by SQL.
 *
 * A trigger, for PostgreSQL prepares a CHECK for each statement that writes to the table: that made a claim 17 us dearer,
 * and an insert 19 us instead of 10. Small args are let through without a look at their text.
 */
export const BOUND_ARGS: string = `
create function {schema}.bound_args() returns trigger language plpgsql
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

create trigger bound_args before insert or update of args on {schema}.job
  for each row when (
    pg_catalog.pg_column_size(new.args) operator(pg_catalog.>) 4000
      or pg_catalog.pg_column_compression(new.args) is not null
  )
  execute function {schema}.bound_args()`;

/** Undoes it. */
export const UNBOUND_ARGS: string = `
drop trigger bound_args on {schema}.job;
drop function {schema}.bound_args()`;
