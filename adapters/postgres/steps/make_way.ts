/**
 * A job that would go back in line makes way for the live job that has taken its unique key; null when none has. A twin that
 * waits for a later time takes its due time, or the work would wait with it; a debounced one is due soon anyway.
 *
 * A function that is volatile looks anew each time, where a statement sees what was committed when it began. So it finds a
 * twin that was committed between that moment and the moment at which the statement locked the job. It waits for nobody:
 * whoever holds the twin's row begins it.
 */
export const CREATE_MAKE_WAY: string = `
create function {schema}.make_way(job_kind text, job_key bytea, job_id bigint, due timestamptz) returns bigint
language plpgsql volatile set search_path = pg_catalog, pg_temp as $body$
declare
  twin_id bigint;
begin
  select twin.id into twin_id
  from {schema}.job_key as held
  join {schema}.job as twin on twin.id = held.job_id
  where held.kind = make_way.job_kind
    and held.key = make_way.job_key
    and held.job_id <> make_way.job_id;
  if not found then
    return null;
  end if;
  update {schema}.job as twin
  set scheduled_at = make_way.due
  where twin.id = (
    select later.id
    from {schema}.job as later
    where later.id = twin_id
      and later.state = 'pending'
      and later.run = 0
      and later.scheduled_at > make_way.due
      and not exists (
        select from {schema}.kind as known where known.name = make_way.job_kind and known.quiet_ms is not null
      )
    for no key update skip locked
  );
  return twin_id;
end
$body$`;

/** Undoes it. */
export const DROP_MAKE_WAY: string = "drop function {schema}.make_way(text, bytea, bigint, timestamptz)";
