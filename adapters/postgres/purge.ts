import type { Purge } from "../../ports/store.ts";
import type { PostgresDatabase } from "./database.ts";

const PURGE = `
  with old as materialized (
    select id from (
      select id
      from {schema}.job_history
      where state = 'completed' and finished_at < statement_timestamp() - $1::float8 * interval '1 ms'
      order by finished_at
      limit $3::int
      for update skip locked
    ) as completed
    union all
    select id from (
      select id
      from {schema}.job_history
      where state <> 'completed' and finished_at < statement_timestamp() - $2::float8 * interval '1 ms'
      order by finished_at
      limit $3::int
      for update skip locked
    ) as others
    limit $3::int
  ), purged as (
    delete from {schema}.job_history
    using old
    where job_history.id = old.id
    returning job_history.id, kind, unique_key
  ), released as (
    delete from {schema}.job_key
    using purged
    where purged.unique_key is not null
      and job_key.kind = purged.kind
      and job_key.key = purged.unique_key
      and job_key.job_id = purged.id
  )
  select count(*)::int as purged from purged`;

/** Deletes one bounded step of ended jobs that are older than their retention, with their unique keys. */
export async function purge(database: PostgresDatabase, request: Purge): Promise<number> {
  const { completedMs, othersMs, limit } = request;
  return Number((await database.query(PURGE, [completedMs, othersMs, limit]))[0]?.purged);
}
