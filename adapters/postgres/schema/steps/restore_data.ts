/**
 * A restore of the data alone writes rows while our triggers are there. What they would add is in the dump too, so they let
 * such rows be: a process that is on the record already, a run that has ended before, a step that is made.
 */
export const RESTORE_DATA: string = `
create or replace function {schema}.note_listening() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $body$
begin
  insert into {schema}.listening (queue, owner)
  select distinct queue, new.id from jsonb_array_elements_text(new.queues) as given (queue)
  on conflict do nothing;
  return null;
end
$body$;

-- A dump has the processes before what they listen to, which is noted by then.
create function {schema}.pass_over_listening() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $body$
begin
  if exists (
    select from {schema}.listening as known where known.queue = new.queue and known.owner = new.owner
  ) then
    return null;
  end if;
  return new;
end
$body$;

create trigger pass_over_listening before insert on {schema}.listening
  for each row execute function {schema}.pass_over_listening();

create function {schema}.pass_over_migration() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $body$
begin
  if exists (
    select from {schema}.migration as known where known.part = new.part and known.version = new.version
  ) then
    return null;
  end if;
  return new;
end
$body$;

create trigger pass_over_migration before insert on {schema}.migration
  for each row execute function {schema}.pass_over_migration();

-- Who was outdated when it was dumped claims nothing, and must not end the restore.
drop trigger check_protocol on {schema}.worker;
create trigger check_protocol before insert on {schema}.worker
  for each row when (not new.outdated)
  execute function {schema}.check_protocol();

-- A run that ends now has ended since its statement began.
drop trigger periodic_run on {schema}.job_history;
create trigger periodic_run after insert on {schema}.job_history
  for each row when (
    (new.periodic is not null or starts_with(new.kind, 'periodic:'))
      and new.finished_at operator(pg_catalog.>=) pg_catalog.statement_timestamp()
  )
  execute function {schema}.record_periodic_run()`;

/** Undoes it. */
export const UNDO_RESTORE_DATA: string = `
drop trigger periodic_run on {schema}.job_history;
create trigger periodic_run after insert on {schema}.job_history
  for each row when (new.periodic is not null or starts_with(new.kind, 'periodic:'))
  execute function {schema}.record_periodic_run();

drop trigger check_protocol on {schema}.worker;
create trigger check_protocol before insert on {schema}.worker
  for each row execute function {schema}.check_protocol();

drop trigger pass_over_migration on {schema}.migration;
drop function {schema}.pass_over_migration();
drop trigger pass_over_listening on {schema}.listening;
drop function {schema}.pass_over_listening();

create or replace function {schema}.note_listening() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $body$
begin
  insert into {schema}.listening (queue, owner)
  select distinct queue, new.id from jsonb_array_elements_text(new.queues) as given (queue);
  return null;
end
$body$`;
