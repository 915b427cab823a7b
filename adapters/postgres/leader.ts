import type { Statements } from "./statements.ts";

/** The database's clock alone decides: two processes whose clocks differ can't both hold it. */
const LEAD = `
  insert into {schema}.leader as lease (owner, until)
  values ($1::text::uuid, clock_timestamp() + $2::float8 * interval '1 ms')
  on conflict (singleton) do update
  set owner = excluded.owner, until = clock_timestamp() + $2::float8 * interval '1 ms'
  where lease.owner = excluded.owner or lease.until <= clock_timestamp()
  returning owner`;

const RESIGN = "delete from {schema}.leader where owner = $1::text::uuid";

/** Takes or renews the lease. */
export async function lead(database: Statements, owner: string, leaseMs: number): Promise<boolean> {
  return (await database.query(LEAD, [owner, leaseMs])).length > 0;
}

/** Gives the lease up, if this process holds it. */
export async function resign(database: Statements, owner: string): Promise<void> {
  await database.query(RESIGN, [owner]);
}
