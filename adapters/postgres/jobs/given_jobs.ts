import { keySql } from "./key_sql.ts";

/**
 * The jobs with their keys. A rule that was declared holds for every program; where none was, this program's own does, and
 * then what the call asks for.
 */
export const GIVEN_JOBS: string = `
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
      case when rules.name is not null or is_unique then ${keySql("args", "key_by")} end as key,
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
  )`;
