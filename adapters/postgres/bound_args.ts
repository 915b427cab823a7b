/**
 * Args that can't be read as text, for PostgreSQL makes none of more than 1 GB, would hold up their queue: each claim that
 * comes to them fails. Whoever inserts such a row is refused instead. `enqueue()` bounds its args before; this is for rows
 * that are inserted by SQL. Small args are let through without a look at their text, and a claim pays for nothing but the
 * first comparison.
 */
export const BOUND_ARGS: string = `
alter table {schema}.job add constraint job_args_within_64_mib check (
  case
    when run operator(pg_catalog.>) 0 then true
    when pg_catalog.pg_column_size(args) operator(pg_catalog.<=) 4000
      and pg_catalog.pg_column_compression(args) is null then true
    else pg_catalog.octet_length(args::pg_catalog.text) operator(pg_catalog.<=) 67108864
  end
) not valid`;

/** Undoes it. */
export const UNBOUND_ARGS: string = "alter table {schema}.job drop constraint job_args_within_64_mib";
