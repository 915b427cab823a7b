import { PROTOCOL } from "../../../ports/protocol.ts";
import type { Beat, Owner, Requests } from "../../../ports/store.ts";
import type { TxRow } from "../../../ports/tx.ts";
import { kindsText } from "../jobs/declared.ts";
import { declaredText } from "../periodics/periodic_row.ts";
import { epochMsSql } from "../sql/sql_text.ts";
import type { Statements } from "../sql/statements.ts";
import { BEAT_SQL, GIVEN_UP } from "./rescue.ts";

const REGISTER = `
  insert into {schema}.worker (id, name, queues, protocol, parts, periodics, kinds)
  values (
    $1::text::uuid, $2::text, $3::text::jsonb, $4::text::int, $5::text::jsonb, $6::text::jsonb, $7::text::jsonb
  )
  on conflict (id) do nothing`;

const CANCEL_REQUESTED = `
  select string_agg(id::text, ',' order by id)
  from {schema}.job
  where cancel_requested and owner = $1::text::uuid and state = 'running'`;

const PAUSED = "select jsonb_agg(name)::text from {schema}.queue where paused_at is not null";

const REQUESTS = `select (${CANCEL_REQUESTED}) as cancel_requested, (${PAUSED}) as paused`;

/** The others as they were when the statement began, and this process as it has just become. */
const BEAT = `
  with renewed as (
    update {schema}.worker
    set heartbeat_at = clock_timestamp()
    where id = $1::text::uuid and heartbeat_at > ${GIVEN_UP}
    returning id, heartbeat_at, outdated, protocol, parts
  ), everyone as (
    select id, heartbeat_at from renewed
    union all
    select id, heartbeat_at from {schema}.worker where id <> $1::text::uuid
  )
  select clock.now_ms, clock.cancel_requested, clock.paused, clock.outdated_by, everyone.id, ${BEAT_SQL} as beat
  from (
    select
      ${epochMsSql("clock_timestamp()")} as now_ms,
      (${CANCEL_REQUESTED}) as cancel_requested,
      (${PAUSED}) as paused,
      (select {schema}.lacking(protocol, parts) from renewed where outdated) as outdated_by
  ) as clock
  left join everyone on true`;

/**
 * Records a process.
 *
 * @throws {ProtocolTooOldError} a newer program requires a higher protocol.
 * @throws {SchemaVersionError} a newer program requires that more steps of a part are known.
 */
export async function register(database: Statements, owner: Owner): Promise<void> {
  const { id, name, queues, protocol = PROTOCOL, parts = {}, periodics = [], kinds = [] } = owner;
  await database.query(REGISTER, [
    id,
    name,
    JSON.stringify(queues),
    String(protocol),
    JSON.stringify(parts),
    declaredText(periodics),
    kindsText(kinds),
  ]);
}

/** Renews a process's heartbeat and reads everyone's. */
export async function beat(database: Statements, owner: string): Promise<Beat> {
  const rows = await database.query(BEAT, [owner]);
  const owners = rows.filter((row) => row.id !== null).map((row) => ({
    id: String(row.id),
    beat: String(row.beat),
  }));
  const outdatedBy = rows[0]?.outdated_by;
  return {
    alive: owners.some(({ id }) => id === owner),
    outdatedBy: typeof outdatedBy === "string" ? outdatedBy : null,
    nowMs: Number(rows[0]?.now_ms),
    owners,
    ...toRequests(rows[0]),
  };
}

/** Reads what is requested of a process. */
export async function requests(database: Statements, owner: string): Promise<Requests> {
  return toRequests((await database.query(REQUESTS, [owner]))[0]);
}

function toRequests(row: TxRow | undefined): Requests {
  const { cancel_requested: requested, paused } = row ?? {};
  return {
    cancelRequested: typeof requested === "string" ? requested.split(",") : [],
    pausedQueues: typeof paused === "string" ? JSON.parse(paused) : [],
  };
}
