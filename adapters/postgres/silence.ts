import { grantAsOn } from "./grants.ts";

/**
 * Who need not be woken. A notification inside every business transaction costs a third to a half of their rate, so a
 * queue is told of only when somebody listens who does not look anyway.
 */

/**
 * SQL for why nobody needs to be woken for a queue: `awake`, somebody claims from it without a pause; `nobody`, no process
 * works it; `paused`. Null when somebody does. A process that begins to work a queue, or resumes it, looks for itself.
 *
 * A mark holds for a second: one that runs for longer is from a time when the clock was ahead.
 */
export function silence(queue: string): string {
  return `case
        when exists (
          select from {schema}.awake
          where awake.queue = ${queue}
            and awake.until between clock_timestamp() and clock_timestamp() + interval '1 minute'
        ) then 'awake'
        when not exists (select from {schema}.listening where listening.queue = ${queue}) then 'nobody'
        when exists (
          select from {schema}.queue as known where known.name = ${queue} and known.paused_at is not null
        ) then 'paused'
      end`;
}

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
