import { grantAsOn } from "./grants.ts";

/**
 * The runs of periodics in a table of their own: the end of a run inserts a row and waits for nobody, where an update of
 * the periodic's row would wait for whoever holds it, and with it every job that ends in the same statement.
 *
 * The column `runs` of `periodic` stays, for programs that still read it while they are replaced.
 */
export const CREATE_PERIODIC_RUNS: string = `
create table {schema}.periodic_run (
  id bigint generated always as identity primary key,
  name text not null,
  job_id bigint not null,
  finished_at timestamptz not null,
  state text not null,
  output jsonb,
  error text
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

create index periodic_run_name on {schema}.periodic_run (name, id);

-- Ends of runs fill it, with the rights of whoever writes the history.
${grantAsOn("periodic_run", ["periodic", "job_history"])};

insert into {schema}.periodic_run (name, job_id, finished_at, state, output, error)
select
  name, (run ->> 'jobId')::bigint, (run ->> 'finishedAt')::timestamptz, run ->> 'state',
  nullif(run -> 'output', 'null'), run ->> 'error'
from {schema}.periodic
cross join lateral jsonb_array_elements(case jsonb_typeof(runs) when 'array' then runs else '[]' end)
  with ordinality as kept (run, place)
where run ->> 'jobId' ~ '^[0-9]{1,18}$' and run ->> 'finishedAt' ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{8,15}Z$'
  and run ->> 'state' is not null
order by name, place desc;

-- All ends of runs write a row of the history, so this is the one place that sees them all. The newest 20 are kept: each
-- new one takes the place of the one that is then too many, and of none that somebody holds.${
  recordRun("substr(new.kind, length('periodic:') + 1)")
}`;

/** Back in the column, by the update that holds up others. */
export const DROP_PERIODIC_RUNS: string = `
update {schema}.periodic
set runs = coalesce((
  select jsonb_agg(
    jsonb_build_object(
      'jobId', job_id::text,
      'finishedAt', to_char(finished_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
      'state', state,
      'output', output,
      'error', error
    )
    order by id desc
  )
  from (
    select * from {schema}.periodic_run where periodic_run.name = periodic.name order by id desc limit 20
  ) as kept
), '[]');

create or replace function {schema}.record_periodic_run() returns trigger language plpgsql
  set search_path = pg_catalog, pg_temp as $body$
begin
  update {schema}.periodic
  set runs = jsonb_path_query_array(
    jsonb_build_array(jsonb_build_object(
      'jobId', new.id::text,
      'finishedAt', to_char(new.finished_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
      'state', new.state,
      'output', new.output,
      'error', case when new.state <> 'completed' then new.errors -> -1 ->> 'message' end
    )) || runs,
    '$[0 to 19]'
  )
  where name = substr(new.kind, length('periodic:') + 1);
  return null;
end
$body$;

drop table {schema}.periodic_run`;

/** The function that records the end of a run, with the periodic's name told by an expression. */
export function recordRun(name: string): string {
  return `
create or replace function {schema}.record_periodic_run() returns trigger language plpgsql
  set search_path = pg_catalog, pg_temp as $body$
declare
  periodic_name text := ${name};
begin
  insert into {schema}.periodic_run (name, job_id, finished_at, state, output, error)
  values (
    periodic_name, new.id, new.finished_at, new.state, new.output,
    case when new.state <> 'completed' then new.errors -> -1 ->> 'message' end
  );
  delete from {schema}.periodic_run
  where id in (
    select id
    from {schema}.periodic_run
    where name = periodic_name
    order by id desc
    offset 20
    limit 1
    for update skip locked
  );
  return null;
end
$body$`;
}
