/**
 * A job that would go back in line makes way for the live job that has taken its unique key; null when none has. A twin that
 * waits for a later time takes its due time, or the work would wait with it; a debounced one is due soon anyway.
 *
 * A function that is volatile looks anew each time, where a statement sees what was committed when it began. So it finds a
 * twin that was committed between that moment and the moment at which the statement locked the job. It waits for nobody:
 * whoever holds the twin's row begins it, and whoever holds the key takes it.
 */
export const CREATE_MAKE_WAY: string = `
create function {schema}.make_way(job_kind text, job_key bytea, job_id bigint, due timestamptz) returns bigint
language plpgsql volatile set search_path = pg_catalog, pg_temp set lock_timeout = '20ms' as $body$
declare
  holder bigint;
  twin_id bigint;
begin
  select held.job_id, twin.id into holder, twin_id
  from {schema}.job_key as held
  left join {schema}.job as twin on twin.id = held.job_id
  where held.kind = make_way.job_kind and held.key = make_way.job_key;
  if holder = make_way.job_id then
    return null;
  end if;
  if twin_id is null then
    -- Nobody who lives has the key: the job takes it back, or what comes now would wait beside it.
    begin
      if holder is null then
        insert into {schema}.job_key (kind, key, job_id)
        values (make_way.job_kind, make_way.job_key, make_way.job_id)
        on conflict do nothing;
      else
        perform from {schema}.job_key as held
        where held.kind = make_way.job_kind and held.key = make_way.job_key and held.job_id = holder
        for update skip locked;
        if found then
          update {schema}.job_key as held
          set job_id = make_way.job_id
          where held.kind = make_way.job_kind and held.key = make_way.job_key;
        end if;
      end if;
    exception when lock_not_available then
      null;
    end;
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
