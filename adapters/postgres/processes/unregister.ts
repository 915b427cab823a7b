import type { Transaction } from "../../../ports/database.ts";
import type { Statements } from "../sql/statements.ts";

const LOCK_OWN = "select from {schema}.worker where id = $1::text::uuid for update";

const COUNT_LEFT = `
  select count(*)::int as left_over
  from {schema}.job
  where owner = $1::text::uuid and state = 'running'`;

const FORGET = `
  with marks as (
    delete from {schema}.start_mark where owner = $1::text::uuid
  ), awake as (
    delete from {schema}.awake where owner = $1::text::uuid
  )
  delete from {schema}.worker where id = $1::text::uuid`;

/** Takes a process off the record, unless a job of it still runs: then its heartbeat stops and it is rescued. */
export async function unregister(database: Statements, owner: string): Promise<void> {
  await database.transaction(async (tx) => {
    // A claim that is under way holds the row, so the count sees what it took.
    await tx.unsafe(LOCK_OWN, [owner]);
    if (await countLeft(tx, owner) === 0) await forget(tx, owner);
  });
}

/** How many jobs still run for a process. */
export async function countLeft(tx: Transaction, owner: string): Promise<number> {
  const [count] = await tx.unsafe(COUNT_LEFT, [owner]);
  return Number(count?.left_over);
}

/** Deletes what is on record of a process. */
export async function forget(tx: Transaction, owner: string): Promise<void> {
  await tx.unsafe(FORGET, [owner]);
}
