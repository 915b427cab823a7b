import { ENQUEUE_BY_RULES, ENQUEUE_IN_RANGE } from "./enqueue_function.ts";

const OFFER_KEYED_ARGS =
  "bigint, text, bytea, text[], bigint, bigint, bigint, text, int, int, jsonb, timestamptz, boolean";

const OFFER_MANY_ARGS = `${"text, ".repeat(15)}boolean`;

/** Who has a right. */
const ROLE = "case when acl.grantee = 0 then 'public' else acl.grantee::regrole::text end";

/**
 * The one place that judges who holds a unique key. It gives the key to a job, which it makes unless there is one already,
 * or answers with the holder. A holder that lives is locked before its state is judged, until the transaction ends: what was
 * answered for one that waits is true at its claim, which then sees the transaction's changes. The lock is the weakest that
 * keeps a claim out, so any number of transactions may meet one holder.
 *
 * Rows are locked in one order, a job before its key; only a key that is free is taken without a job.
 *
 * It runs with its owner's rights, for those who only enqueue may neither read nor change jobs: they may do no more than
 * what a rule says, to a job whose key they can name.
 */
const CREATE_OFFER_KEYED = `
create function {schema}.offer_keyed(
  -- The job that is to hold the key; null for one that is to be made.
  given_id bigint,
  given_kind text,
  given_key bytea,
  -- What is declared of twins; without states, what unique_by_args means.
  key_while text[],
  key_within_ms bigint,
  quiet_ms bigint,
  at_most_ms bigint,
  given_queue text,
  given_priority int,
  given_max_attempts int,
  given_args jsonb,
  given_run_at timestamptz,
  -- Whether a holder that waits is moved.
  may_move boolean,
  out id bigint,
  out added boolean,
  -- The queue that has a job now, or a time to wake up at.
  out woken_queue text
) language plpgsql security definer set search_path = pg_catalog, pg_temp as $body$
#variable_conflict use_variable
declare
  states text[] := coalesce(key_while, '{pending,retryable,running,completed}');
  due timestamptz := greatest(
    case
      when quiet_ms is null then coalesce(given_run_at, clock_timestamp())
      else clock_timestamp() + quiet_ms * interval '1 ms'
    end,
    clock_timestamp()
  );
  holder bigint;
  twin record;
  is_new boolean;
  tries int := 0;
begin
  id := coalesce(given_id, nextval($name\${schema}.job_id_seq$name$::regclass));
  -- Without a key there is nobody to meet.
  while given_key is not null loop
    tries := tries + 1;
    if tries > 50 then
      raise exception 'The unique key of a job of kind % changed hands 50 times', to_json(given_kind)
        using errcode = 'serialization_failure';
    end if;
    insert into {schema}.job_key (kind, key, job_id)
    values (given_kind, given_key, id)
    on conflict do nothing;
    exit when found;
    select held.job_id into holder
    from {schema}.job_key as held
    where held.kind = given_kind and held.key = given_key;
    continue when not found;
    exit when holder = id;
    select job.queue, job.state, job.run, job.scheduled_at into twin
    from {schema}.job
    where job.id = holder
    for key share;
    if found then
      -- It may have given up the key while its row was waited for.
      perform from {schema}.job_key as held
      where held.kind = given_kind and held.key = given_key and held.job_id = holder;
      continue when not found;
      if twin.state = any(states) then
        if may_move and twin.state <> 'running' then
          -- In a queue that nobody works any more it would keep all that comes from ever being run.
          if given_queue <> twin.queue
            and not exists (select from {schema}.listening as known where known.queue = twin.queue)
            and exists (select from {schema}.listening as known where known.queue = given_queue)
          then
            update {schema}.job as waiting set queue = given_queue where waiting.id = holder;
            woken_queue := given_queue;
          end if;
          is_new := twin.state = 'pending' and twin.run = 0;
          if quiet_ms is not null then
            -- One that is due keeps its place in line: calls that never pause must not put it off for ever.
            update {schema}.job
            set args = given_args,
              scheduled_at = case
                when is_new and job.scheduled_at > clock_timestamp() then greatest(
                  least(due, job.enqueued_at + at_most_ms * interval '1 ms'), clock_timestamp()
                )
                else job.scheduled_at
              end
            where job.id = holder;
          elsif is_new and twin.scheduled_at > due then
            update {schema}.job
            set scheduled_at = greatest(due, clock_timestamp())
            where job.id = holder and job.scheduled_at > due;
            if due <= clock_timestamp() then
              woken_queue := coalesce(woken_queue, twin.queue);
            end if;
          end if;
        end if;
        id := holder;
        added := false;
        return;
      end if;
    else
      select ended.state, ended.finished_at into twin
      from {schema}.job_history as ended
      where ended.id = holder;
      if not found then
        -- On its way from one table to the other, or gone without its key.
        continue when tries < 5;
      elsif twin.state = any(states)
        and (key_within_ms is null or twin.finished_at > clock_timestamp() - key_within_ms * interval '1 ms')
      then
        id := holder;
        added := false;
        return;
      end if;
    end if;
    update {schema}.job_key as held
    set job_id = id
    where held.kind = given_kind and held.key = given_key and held.job_id = holder;
    exit when found;
  end loop;
  added := true;
  if given_id is null then
    insert into {schema}.job (
      id, kind, queue, priority, max_attempts, args, unique_key, scheduled_at, rules_applied
    )
    values (
      id, given_kind, given_queue, given_priority, given_max_attempts, given_args, given_key,
      greatest(due, clock_timestamp()), true
    );
    if quiet_ms is not null or due <= clock_timestamp() then
      woken_queue := given_queue;
    end if;
  end if;
end
$body$`;

/**
 * What is inserted by who knows nothing of rules: an older program, or SQL that writes rows. Of its row nobody has asked for
 * the kind's rules, so they are applied now. Its program counts on the id of its row, so a row that a twin keeps out ends at
 * once, and says so.
 */
export const CREATE_APPLY_RULES_FUNCTION: string = `
create function {schema}.apply_rules() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $body$
declare
  declared record;
  new_key bytea;
  offered record;
  ended int;
begin
  select known.key_by, known.key_while, known.key_within_ms, known.quiet_ms, known.at_most_ms into declared
  from {schema}.kind as known
  where known.name = new.kind and known.key_while is not null;
  if not found or new.state <> 'pending' then
    return null;
  end if;
  new_key := (
      select sha256(convert_to(
        -- A fraction is rare, and looking for its zeros is dear.
        case when text like '%.%0%' then regexp_replace(text, '("(?:[^"\\\\]|\\\\.)*")|(\\d\\.\\d*[1-9])0+(?!\\d)|(\\d)\\.0+(?!\\d)', '\\1\\2\\3', 'g') else text end,
        'UTF8'
      ))
      from (
        select case
            when declared.key_by is null then case new.args when '{}' then 'null' else new.args end
            else (
              select coalesce(jsonb_agg(new.args #> string_to_array(path, '.') order by place), '[]')
              from unnest(declared.key_by) with ordinality as named (path, place)
            )
          end::text as text
        offset 0
      ) as keyed
    );
  if new.unique_key <> new_key then
    delete from {schema}.job_key as held
    where held.kind = new.kind and held.key = new.unique_key and held.job_id = new.id;
  end if;
  select * into offered
  from {schema}.offer_keyed(
    new.id, new.kind, new_key,
    declared.key_while, declared.key_within_ms, declared.quiet_ms, declared.at_most_ms,
    new.queue, null, null, new.args, new.scheduled_at, true
  );
  if offered.added then
    update {schema}.job
    set unique_key = new_key,
      scheduled_at = case
        when declared.quiet_ms is null then scheduled_at
        else clock_timestamp() + declared.quiet_ms * interval '1 ms'
      end
    where id = new.id;
  else
    with kept_out as (
      delete from {schema}.job
      where id = new.id
      returning job.*, 'cancelled' as final, null::jsonb as output,
        
    case
      when jsonb_build_object(
      'class', 'superseded', 'message', 'superseded by job ' || offered.id || ', which has the same unique key'
    ) is null then job.errors
      when coalesce(jsonb_typeof(job.errors), 'null') = 'null' then jsonb_build_array(jsonb_build_object('attempt', job.attempt, 'at', to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) || jsonb_build_object(
      'class', 'superseded', 'message', 'superseded by job ' || offered.id || ', which has the same unique key'
    ))
      when jsonb_typeof(job.errors) <> 'array' then jsonb_build_array((job.errors), jsonb_build_object('attempt', job.attempt, 'at', to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) || jsonb_build_object(
      'class', 'superseded', 'message', 'superseded by job ' || offered.id || ', which has the same unique key'
    ))
      when jsonb_array_length(job.errors) >= 100 then ((job.errors) - 1) || (jsonb_build_object('attempt', job.attempt, 'at', to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) || jsonb_build_object(
      'class', 'superseded', 'message', 'superseded by job ' || offered.id || ', which has the same unique key'
    ))
      else (job.errors) || (jsonb_build_object('attempt', job.attempt, 'at', to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) || jsonb_build_object(
      'class', 'superseded', 'message', 'superseded by job ' || offered.id || ', which has the same unique key'
    ))
    end as final_errors
    ), written as (
    insert into {schema}.job_history (
      id, kind, queue, state, priority, scheduled_at, enqueued_at, claimed_at, finished_at,
      attempt, max_attempts, run, snoozes, alone, args, unique_key, errors, progress, output, periodic
    )
    select
      id, kind, queue, final, priority, case when undeclared then claimed_at else scheduled_at end, enqueued_at, claimed_at, clock_timestamp(),
      attempt, max_attempts, run, snoozes, alone, args, unique_key, final_errors, progress, output, periodic
    from kept_out
    returning id, run, state, queue
  ), released as (
    
    delete from {schema}.job_key
    using kept_out as ended
    where ended.unique_key is not null
      and ended.final <> 'completed'
      and job_key.kind = ended.kind
      and job_key.key = ended.unique_key
      and job_key.job_id = ended.id
  )
    select count(*) into ended from written;
  end if;
  return null;
end
$body$`;

const CREATE_APPLY_RULES = `${CREATE_APPLY_RULES_FUNCTION};

create trigger apply_rules after insert on {schema}.job
  for each row when (not new.rules_applied)
  execute function {schema}.apply_rules()`;

/**
 * Offers jobs one after the other, in the order of their keys, so that no two enqueuers wait for each other crosswise. A
 * function keeps its plan, where a statement over `unnest` is planned anew at each use in a caller's session, which costs
 * several times as much as the rest.
 */
export const CREATE_OFFER_MANY: string = `
create function {schema}.offer_many(
  kinds text, queues text, priorities text, max_attempts text, args text, run_at text, is_unique text, all_kinds text,
  own_kinds text, own_by text, own_while text, own_within_ms text, own_quiet_ms text, own_at_most_ms text,
  channel text, wakes boolean
) returns table (ord int, id bigint, existed boolean, woken bigint)
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan as $body$
#variable_conflict use_column
begin
  return query
  with 
  rules as materialized (
    select name, key_by, key_while, key_within_ms, quiet_ms, at_most_ms
    from {schema}.kind
    where key_while is not null and name = any($8::text::text[])
    union all
    select name, key_by::text[], key_while::text[], key_within_ms, quiet_ms, at_most_ms
    from unnest(
      $9::text::text[], $10::text::text[], $11::text::text[], $12::text::bigint[], $13::text::bigint[],
      $14::text::bigint[]
    ) as own (name, key_by, key_while, key_within_ms, quiet_ms, at_most_ms)
    where not exists (select from {schema}.kind where kind.name = own.name and kind.key_while is not null)
  ), given as materialized (
    select
      given.*, key_while, key_within_ms, quiet_ms, at_most_ms,
      case when rules.name is not null or is_unique then (
      select sha256(convert_to(
        -- A fraction is rare, and looking for its zeros is dear.
        case when text like '%.%0%' then regexp_replace(text, '("(?:[^"\\\\]|\\\\.)*")|(\\d\\.\\d*[1-9])0+(?!\\d)|(\\d)\\.0+(?!\\d)', '\\1\\2\\3', 'g') else text end,
        'UTF8'
      ))
      from (
        select case
            when key_by is null then case args when '{}' then 'null' else args end
            else (
              select coalesce(jsonb_agg(args #> string_to_array(path, '.') order by place), '[]')
              from unnest(key_by) with ordinality as named (path, place)
            )
          end::text as text
        offset 0
      ) as keyed
    ) end as key,
      greatest(
        case
          when quiet_ms is null then coalesce(run_at::timestamptz, clock_timestamp())
          else clock_timestamp() + quiet_ms * interval '1 ms'
        end,
        clock_timestamp()
      ) as due
    from (
      select ord, kind, queue, priority, max_attempts, args::jsonb as args, run_at, is_unique
      from unnest(
        $1::text::text[], $2::text::text[], $3::text::smallint[], $4::text::int[], $5::text::text[], $6::text::text[],
        $7::text::boolean[]
      ) with ordinality as given (kind, queue, priority, max_attempts, args, run_at, is_unique, ord)
    ) as given
    left join rules on rules.name = given.kind
  ), offered as materialized (
    select given.ord, offer.id, offer.added, offer.woken_queue
    from (select * from given order by kind, key, ord) as given
    cross join lateral {schema}.offer_keyed(
      null, kind, key, key_while, key_within_ms, quiet_ms, at_most_ms,
      queue, priority, given.max_attempts, given.args, given.run_at::timestamptz, true
    ) as offer
  ), woken as (
    select pg_notify($15, '[["r",' || to_json(queue)::text || ']]')
    from (
      select distinct woken_queue as queue
      from offered
      where woken_queue is not null and ($16 or not added)
    ) as ready
    where case
        when exists (
          select from {schema}.awake
          where awake.queue = ready.queue
            and awake.until between clock_timestamp() and clock_timestamp() + interval '1 minute'
        ) then 'awake'
        when not exists (select from {schema}.listening where listening.queue = ready.queue) then 'nobody'
        when exists (
          select from {schema}.queue as known where known.name = ready.queue and known.paused_at is not null
        ) then 'paused'
      end is null
  )
  select offered.ord::int, offered.id, not added, (select count(*) from woken)
  from offered;
end
$body$`;

/** Nobody runs a function with its owner's rights who has not been given it; who may take keys is given it. */
const GRANTS = `
do $body$
declare
  offer_keyed constant regprocedure := $name\${schema}.offer_keyed(${OFFER_KEYED_ARGS})$name$;
  apply_rules constant regprocedure := $name\${schema}.apply_rules()$name$;
  made regprocedure;
  given record;
begin
  foreach made in array array[offer_keyed, apply_rules] loop
    for given in
      select ${ROLE} as role
      from pg_catalog.pg_proc as proc
      cross join aclexplode(coalesce(proc.proacl, acldefault('f', proc.proowner))) as acl
      where proc.oid = made and acl.grantee <> proc.proowner
    loop
      execute format('revoke all on function %s from %s', made, given.role);
    end loop;
  end loop;
  for given in
    select ${ROLE} as role
    from pg_catalog.pg_class as relation
    cross join aclexplode(relation.relacl) as acl
    where relation.oid = $name\${schema}.job_key$name$::regclass
      and acl.privilege_type = 'INSERT'
      and acl.grantee <> relation.relowner
  loop
    execute format('grant execute on function %s to %s', offer_keyed, given.role);
  end loop;
  -- Rights on single columns don't hold for a new one.
  for given in
    select ${ROLE} as role
    from pg_catalog.pg_attribute as attribute
    cross join aclexplode(attribute.attacl) as acl
    where attribute.attrelid = $name\${schema}.job$name$::regclass
      and attribute.attname = 'kind'
      and acl.privilege_type = 'INSERT'
  loop
    execute format(
      'grant insert (rules_applied) on %s to %s', $name\${schema}.job$name$::regclass, given.role
    );
  end loop;
end
$body$`;

/**
 * What kinds declare of their twins, and who applies it. A job of a kind that declares nothing pays for a look at an index
 * that holds only kinds that do.
 */
export const CREATE_KEY_RULES: string = `
alter table {schema}.kind
  -- Paths in the args that make the key; null is all of them.
  add column key_by text[],
  -- In which states a job keeps its twins out; null is that the kind declares nothing.
  add column key_while text[],
  add column key_within_ms bigint,
  add column quiet_ms bigint,
  add column at_most_ms bigint;
create index kind_ruled on {schema}.kind (name) where key_while is not null;

-- Whether whoever has enqueued it has asked for its kind's rules.
alter table {schema}.job add column rules_applied boolean not null default false;
${CREATE_OFFER_KEYED};
${CREATE_OFFER_MANY};
${CREATE_APPLY_RULES};
${GRANTS};
${ENQUEUE_BY_RULES}`;

/** Undoes it. */
export const DROP_KEY_RULES: string = `
${ENQUEUE_IN_RANGE};
drop trigger apply_rules on {schema}.job;
drop function {schema}.apply_rules();
drop function {schema}.offer_many(${OFFER_MANY_ARGS});
drop function {schema}.offer_keyed(${OFFER_KEYED_ARGS});
alter table {schema}.job drop column rules_applied;
drop index {schema}.kind_ruled;
alter table {schema}.kind
  drop column key_by, drop column key_while, drop column key_within_ms, drop column quiet_ms, drop column at_most_ms`;
