import type { Database } from "../ports/database.ts";
import { errorText } from "../ports/error_text.ts";
import type { EventId, EventKeeper } from "../ports/event.ts";
import type { Log } from "../ports/log.ts";
import { stepInHalves } from "../shared/in_halves.ts";
import type { SweepPosition } from "../shared/sweep_position.ts";

/** The most rows of one step. */
const STEP_MAX = 1000;
/** After so many refusals a sweep ends. The next one goes on from there. */
const FAULTS_MAX = 100;

/** The ids carry their time, so a range of the primary key is a range of time. None that is younger can be old enough. */
const OLD = `
  select id::text, (fanned_out_at < clock_timestamp() - $2::float8 * interval '1 ms') is true as is_due
  from {schema}.outbox
  where id > $1::text::uuid
    and id < (
      lpad(
        to_hex((extract(epoch from clock_timestamp() - $2::float8 * interval '1 ms') * 1000)::bigint * 65536), 16, '0'
      ) || '0000000000000000'
    )::uuid
  order by id
  limit $3::int`;

const DELETE = `
  delete from {schema}.outbox
  where id in (
    select id
    from {schema}.outbox
    where id = any($1::text::uuid[]) and fanned_out_at is not null
    order by id
    for update skip locked
  )
  returning id`;

/** How old events are deleted. */
export interface RetentionOptions {
  /** Where the outbox is. */
  readonly database: Database;
  /** How long events are kept after their fan-out, in ms. */
  readonly retentionMs: number;
  /** Whoever may still need some. */
  readonly keepers: readonly EventKeeper[];
  /** How far the sweeps before have come. */
  readonly position: SweepPosition;
  /** Ends it between two steps. */
  readonly signal: AbortSignal;
  /** Tells of events that can't be deleted. */
  readonly log: Log;
}

const START = "00000000-0000-0000-0000-000000000000";

/**
 * Deletes events that were fanned out longer ago than retention says, in bounded steps. What waits, what is poisoned and
 * what a keeper still needs stays. Resolves to how many were deleted.
 *
 * @throws at the end, when some can't be deleted.
 */
export async function deleteOld(options: RetentionOptions): Promise<number> {
  const { database, retentionMs, keepers, position, signal, log } = options;
  const sweep = position.begin();
  let deleted = 0;
  let fault: string | undefined;
  let faults = 0;
  try {
    for (let after = sweep.after ?? START; !signal.aborted;) {
      const rows = await database.query(OLD, [after, retentionMs, STEP_MAX]);
      const due = rows.filter((row) => row.is_due === true).map((row) => String(row.id));
      const { done, refused } = await stepInHalves(due, (ids) => deleteStep(database, keepers, ids));
      deleted += done;
      faults += refused.length;
      for (const { item, error } of refused) {
        fault ??= `event ${item}: ${errorText(error)}`;
        log.error("an old event can't be deleted: the others are, it is tried again later", {
          eventId: item,
          error: errorText(error),
        });
      }
      if (rows.length === 0) break;
      after = String(rows.at(-1)!.id);
      sweep.reached(after);
      if (rows.length < STEP_MAX || faults >= FAULTS_MAX) break;
    }
  } finally {
    sweep.end();
  }
  if (fault !== undefined) throw new Error(`Some old events can't be deleted: ${fault}`);
  return deleted;
}

async function deleteStep(
  database: Database,
  keepers: readonly EventKeeper[],
  due: readonly EventId[],
): Promise<number> {
  return await database.transaction(async (tx) => {
    let free = due;
    for (const keeper of keepers) {
      const kept = new Set(await keeper(tx, free));
      free = free.filter((id) => !kept.has(id));
    }
    return free.length === 0 ? 0 : (await tx.unsafe(DELETE, [`{${free.join(",")}}`])).length;
  });
}
