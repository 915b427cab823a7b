import { grantAsOn } from "./grants.ts";

/**
 * Which process works which queue, by queue. The record of processes keeps it, whichever program enters itself; one that
 * died stands in it until it is rescued, and is woken in vain.
 */
export const CREATE_LISTENING: string = `
create table {schema}.listening (
  queue text not null,
  owner uuid not null references {schema}.worker (id) on delete cascade,
  primary key (queue, owner)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

create function {schema}.note_listening() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $body$
begin
  insert into {schema}.listening (queue, owner)
  select distinct queue, new.id from jsonb_array_elements_text(new.queues) as given (queue);
  return null;
end
$body$;

create trigger note_listening after insert on {schema}.worker
  for each row execute function {schema}.note_listening();

insert into {schema}.listening (queue, owner)
select distinct queue, id from {schema}.worker cross join jsonb_array_elements_text(queues) as given (queue);

-- Processes that work fill it, and whoever enqueues reads both.
${grantAsOn("listening", ["worker", "awake"])}`;

/** Undoes it. */
export const DROP_LISTENING: string = `
drop trigger note_listening on {schema}.worker;
drop function {schema}.note_listening();
drop table {schema}.listening`;
