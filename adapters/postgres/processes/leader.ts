import type { Log } from "../../../ports/log.ts";
import type { Statements } from "../sql/statements.ts";

/** A lease that runs for longer than this is not believed: so many times that which is asked for, at least 10 minutes. */
const BELIEVED_LEASES = 10;
const BELIEVED_MS_MIN = 10 * 60_000;

/**
 * The database's clock alone decides: two processes whose clocks differ can't both hold it. When that clock was ahead
 * once, a lease would keep everybody out until it has caught up. A row that somebody holds is waited for by nobody: the
 * heartbeat comes over the same connection.
 */
const LEAD = `
  with free as materialized (
    select singleton, until > clock_timestamp() + $3::float8 * interval '1 ms' as is_ahead
    from {schema}.leader
    where owner = $1::text::uuid
      or until <= clock_timestamp()
      or until > clock_timestamp() + $3::float8 * interval '1 ms'
    for update skip locked
  ), taken as (
    update {schema}.leader as lease
    set owner = $1::text::uuid, until = clock_timestamp() + $2::float8 * interval '1 ms'
    from free
    where lease.singleton = free.singleton
    returning free.is_ahead
  ), made as (
    insert into {schema}.leader (owner, until)
    select $1::text::uuid, clock_timestamp() + $2::float8 * interval '1 ms'
    where not exists (select from {schema}.leader)
    on conflict (singleton) do nothing
    returning false as is_ahead
  )
  select is_ahead from taken
  union all
  select is_ahead from made`;

const RESIGN = `
  delete from {schema}.leader
  where singleton = (
    select singleton from {schema}.leader where owner = $1::text::uuid for update skip locked
  )`;

/** Takes or renews the lease. */
export async function lead(database: Statements, owner: string, leaseMs: number, log: Log): Promise<boolean> {
  const believedMs = Math.max(BELIEVED_LEASES * leaseMs, BELIEVED_MS_MIN);
  const [row] = await database.query(LEAD, [owner, leaseMs, believedMs]);
  if (row?.is_ahead === true) {
    log.warn(
      "the leader's lease ran further ahead than one can: taken over. Was the database's clock ahead?",
      {
        owner,
      },
    );
  }
  return row !== undefined;
}

/** Gives the lease up, if this process holds it. */
export async function resign(database: Statements, owner: string): Promise<void> {
  await database.query(RESIGN, [owner]);
}
