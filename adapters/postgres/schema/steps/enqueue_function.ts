const UNLESS_AWAKE = `not exists (
    select from {schema}.awake where awake.queue = to_queue and awake.until > clock_timestamp()
  )`;

const UNLESS_SILENT = `(case
        when exists (
          select from {schema}.awake
          where awake.queue = to_queue
            and awake.until between clock_timestamp() and clock_timestamp() + interval '1 minute'
        ) then 'awake'
        when not exists (select from {schema}.listening where listening.queue = to_queue) then 'nobody'
        when exists (
          select from {schema}.queue as known where known.name = to_queue and known.paused_at is not null
        ) then 'paused'
      end) is null`;

const PINNED = "\nset search_path = pg_catalog, pg_temp";

/** How a version of the function is made. */
interface EnqueueVersion {
  /** `create`, or `create or replace`. */
  readonly create: string;
  /** Options of the function, each after a line break. */
  readonly options: string;
  /** Whether the queue `to_queue` must be woken. */
  readonly mustWake: string;
  /** How it comes to its job. */
  readonly making: Making;
  /** Whether `run_at` is an instant that is not taken. Default as it was at first, without most of the last day. */
  readonly isOutOfRange?: string;
}

const OUT_OF_RANGE_AT_FIRST =
  "enqueue.run_at < '0001-01-01 00:00:00+00' or enqueue.run_at > '9999-12-31 00:00:00+00'";

/** How a version comes to its job, and what it needs for that. */
interface Making {
  /** What it reads of the kind, beside its queue and attempts. */
  readonly kindColumns: string;
  /** Variables, each on a line. */
  readonly variables: string;
  /** Statements that leave the job's id in `new_id` and its due time in `due`, or return the holder of its key. */
  readonly statements: string;
}

/** Every unique job is unique by its args, for as long as the first one is kept. */
const BY_ARGS_ALONE: Making = {
  kindColumns: "",
  variables: `
  args_key bytea;
  new_id bigint;
  held_id bigint;
  tries int := 0;`,
  statements: `
  if enqueue.unique_by_args then
    args_key := sha256(convert_to(given_text, 'UTF8'));
    loop
      insert into {schema}.job_key (kind, key, job_id)
      values (enqueue.kind, args_key, nextval($name\${schema}.job_id_seq$name$::regclass))
      on conflict (kind, key) do nothing
      returning job_id into new_id;
      exit when found;
      select held.job_id into held_id
      from {schema}.job_key as held
      where held.kind = enqueue.kind and held.key = args_key;
      if found then
        return held_id;
      end if;
      tries := tries + 1;
      if tries >= 50 then
        raise exception 'The unique key of a job of kind % changed hands 50 times', to_json(enqueue.kind)
          using errcode = 'serialization_failure';
      end if;
    end loop;
  else
    new_id := nextval($name\${schema}.job_id_seq$name$::regclass);
  end if;

  insert into {schema}.job (id, kind, queue, priority, max_attempts, args, unique_key, scheduled_at)
  values (
    new_id, enqueue.kind, to_queue, enqueue.priority, declared.max_attempts, given, args_key,
    greatest(coalesce(enqueue.run_at, clock_timestamp()), clock_timestamp())
  )
  returning scheduled_at into due;`,
};

/** What the kind declares of its twins holds; where it declares nothing, `unique_by_args`. */
const BY_RULES: Making = {
  kindColumns: ", known.key_by, known.key_while, known.key_within_ms, known.quiet_ms, known.at_most_ms",
  variables: `
  missing text;
  offered record;
  new_id bigint;`,
  statements: `
  if declared.key_while is not null or enqueue.unique_by_args then
    if declared.quiet_ms is not null and enqueue.run_at is not null then
      raise exception 'Cannot use run_at %: expected none, kind % is debounced', enqueue.run_at, to_json(enqueue.kind)
        using errcode = 'invalid_parameter_value';
    end if;
    select path into missing
    from unnest(declared.key_by) as named (path)
    where given #> string_to_array(path, '.') is null
    limit 1;
    if found then
      raise exception 'Cannot enqueue a job of kind %: its args have no %, which its unique key is made of',
        to_json(enqueue.kind), to_json(missing)
        using errcode = 'invalid_parameter_value';
    end if;
    select * into offered
    from {schema}.offer_keyed(
      null, enqueue.kind, (
      select sha256(convert_to(
        -- A fraction is rare, and looking for its zeros is dear.
        case when text like '%.%0%' then regexp_replace(text, '("(?:[^"\\\\]|\\\\.)*")|(\\d\\.\\d*[1-9])0+(?!\\d)|(\\d)\\.0+(?!\\d)', '\\1\\2\\3', 'g') else text end,
        'UTF8'
      ))
      from (
        select case
            when declared.key_by is null then case given when '{}' then 'null' else given end
            else (
              select coalesce(jsonb_agg(given #> string_to_array(path, '.') order by place), '[]')
              from unnest(declared.key_by) with ordinality as named (path, place)
            )
          end::text as text
        offset 0
      ) as keyed
    ),
      declared.key_while, declared.key_within_ms, declared.quiet_ms, declared.at_most_ms,
      to_queue, enqueue.priority, declared.max_attempts, given, enqueue.run_at, true
    );
    new_id := offered.id;
    if offered.woken_queue is null then
      return new_id;
    end if;
    to_queue := offered.woken_queue;
    due := clock_timestamp();
  else
    insert into {schema}.job (kind, queue, priority, max_attempts, args, scheduled_at, rules_applied)
    values (
      enqueue.kind, to_queue, enqueue.priority, declared.max_attempts, given,
      greatest(coalesce(enqueue.run_at, clock_timestamp()), clock_timestamp()), true
    )
    returning id, scheduled_at into new_id, due;
  end if;`,
};

const OUT_OF_RANGE =
  `enqueue.run_at < timestamptz '0001-01-01 00:00:00+00' or enqueue.run_at > timestamptz '9999-12-31 23:59:59.999999+00'`;

function enqueueFunction(
  { create, options, mustWake, making, isOutOfRange = OUT_OF_RANGE_AT_FIRST }: EnqueueVersion,
): string {
  return `
${create} function {schema}.enqueue(
  kind text,
  args jsonb default 'null',
  run_at timestamptz default null,
  unique_by_args boolean default false,
  queue text default null,
  priority int default 2
) returns bigint language plpgsql${options} as $body$
#variable_conflict use_column
declare
  declared record;
  given jsonb := coalesce(enqueue.args, 'null');
  given_text text := given::text;
  to_queue text;
  due timestamptz;${making.variables}
  channel text;
begin
  select known.queue, known.max_attempts${making.kindColumns} into declared from {schema}.kind as known where known.name = enqueue.kind;
  if not found then
    raise exception 'Cannot enqueue a job of kind %: no process that declares it has started so far',
      coalesce(to_json(enqueue.kind)::text, 'null')
      using errcode = 'invalid_parameter_value',
        hint = 'Declared are ' || coalesce(
          (select string_agg(to_json(known.name)::text, ', ' order by known.name) from {schema}.kind as known),
          'none');
  end if;
  to_queue := coalesce(enqueue.queue, declared.queue);
  if not exists (select from {schema}.queue as known where known.name = to_queue) then
    raise exception 'Cannot use the queue %: no process that declares it has started so far', to_json(to_queue)
      using errcode = 'invalid_parameter_value';
  end if;
  if enqueue.priority is null or enqueue.priority not between 1 and 4 then
    raise exception 'Cannot use priority %: expected 1 (first), 2, 3 or 4', coalesce(enqueue.priority::text, 'null')
      using errcode = 'invalid_parameter_value';
  end if;
  if ${isOutOfRange} then
    raise exception 'Cannot use run_at %: expected a time from the year 1 to the year 9999', enqueue.run_at
      using errcode = 'invalid_parameter_value';
  end if;
  if octet_length(given_text) > 1048576 then
    raise exception 'Cannot store args of % bytes: the most is 1048576 bytes', octet_length(given_text)
      using errcode = 'invalid_parameter_value';
  end if;
  -- Few args have so many brackets, and only those need a look at how they are nested.
  if length(given_text) - length(translate(given_text, '[{', '')) > 500 and {schema}.args_depth(given) > 500 then
    raise exception 'Cannot store args: they are nested deeper than 500 levels'
      using errcode = 'invalid_parameter_value';
  end if;
${making.statements}

  if due <= clock_timestamp() and ${mustWake} then
    -- The channel's name is made of the schema's, as every process makes it.
    select 'millrace_' || substr(
        encode(sha256(convert_to(namespace.nspname, 'UTF8') || '\\x00'::bytea || 'signals'::bytea), 'hex'), 1, 32)
      into channel
    from pg_catalog.pg_class as relation
    join pg_catalog.pg_namespace as namespace on namespace.oid = relation.relnamespace
    where relation.oid = $name\${schema}.job$name$::regclass;
    perform pg_notify(channel, '[["r",' || to_json(to_queue)::text || ']]');
  end if;
  return new_id;
end
$body$`;
}

/**
 * The SQL function that enqueues, for triggers and for programs in other languages; and the tables that it reads: what
 * the running processes declare, which the database cannot know by itself. The row of a queue also says whether it is
 * paused. The checks are those of `Jobs.enqueue`, except for a kind's schema, which its handler checks.
 */
export const CREATE_ENQUEUE: string = `
create table {schema}.kind (
  name text primary key,
  queue text not null,
  max_attempts int not null
);

create table {schema}.queue (
  name text primary key,
  paused_at timestamptz
);

create function {schema}.args_depth(args jsonb) returns int language sql immutable strict as $body$
  with recursive level (depth, value) as (
    select 1, args
    union all
    select level.depth + 1, inner_value.value
    from level cross join lateral (
      select value from jsonb_each(case when jsonb_typeof(level.value) = 'object' then level.value end)
      union all
      select value from jsonb_array_elements(case when jsonb_typeof(level.value) = 'array' then level.value end)
    ) as inner_value
    where jsonb_typeof(inner_value.value) in ('object', 'array')
  )
  select max(depth) from level
$body$;
${
  enqueueFunction({
    create: "create",
    options: "",
    mustWake: UNLESS_AWAKE,
    making: BY_ARGS_ALONE,
  })
}`;

/** The function that wakes nobody for a queue that nobody works, or that is paused. */
export const ENQUEUE_SILENTLY: string = enqueueFunction({
  create: "create or replace",
  options: PINNED,
  mustWake: UNLESS_SILENT,
  making: BY_ARGS_ALONE,
});

/** The same, and takes the whole of the years 1 to 9999. */
export const ENQUEUE_IN_RANGE: string = enqueueFunction({
  create: "create or replace",
  options: PINNED,
  mustWake: UNLESS_SILENT,
  making: BY_ARGS_ALONE,
  isOutOfRange: OUT_OF_RANGE,
});

/** The function that keeps to what kinds declare of their twins. */
export const ENQUEUE_BY_RULES: string = enqueueFunction({
  create: "create or replace",
  options: PINNED,
  mustWake: UNLESS_SILENT,
  making: BY_RULES,
  isOutOfRange: OUT_OF_RANGE,
});

/** The function as it was before it was silent. */
export const ENQUEUE_ALOUD: string = enqueueFunction({
  create: "create or replace",
  options: PINNED,
  mustWake: UNLESS_AWAKE,
  making: BY_ARGS_ALONE,
});

/** Undoes it. */
export const DROP_ENQUEUE: string = `
drop function {schema}.enqueue(text, jsonb, timestamptz, boolean, text, int);
drop function {schema}.args_depth(jsonb);
drop table {schema}.queue, {schema}.kind`;
