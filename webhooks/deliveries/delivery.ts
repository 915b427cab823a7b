import type { Database } from "../../ports/database.ts";
import type { JobId } from "../../ports/job.ts";
import type { TxRow } from "../../ports/tx.ts";
import { isBadValue } from "../../shared/outage.ts";
import { pause } from "../../shared/pause.ts";
import { asciiText } from "../../shared/text.ts";
import type { AttemptFacts } from "./classify.ts";
import { gathered } from "./gathered.ts";
import { TEST_REPLAY } from "./test_message.ts";

/** Names one delivery. */
export interface DeliveryKey {
  /** Where to. */
  readonly endpointId: string;
  /** What: the event's id, or a test's. */
  readonly messageId: string;
  /** Which replay; empty for the fan-out's. */
  readonly replay: string;
}

/**
 * Why a delivery waits for its time. One that the receiver put off is not tried earlier; one that failed while its endpoint
 * answered others well has itself to blame, and says nothing of the endpoint. Null for any other.
 */
export type WaitCause = "asked" | "own" | null;

/** All that one attempt needs to know. */
export interface LoadedDelivery extends DeliveryKey {
  /** Its number. */
  readonly seq: string;
  /** Whether it waits still. */
  readonly state: "waiting" | "delivered" | "discarded";
  /** Why it was discarded. */
  readonly reason: string | null;
  /** How many attempts were spent. */
  readonly attempts: number;
  /** In how many ms the next attempt is due, as of `loadedAt`; 0 or less when it is. */
  readonly dueMs: number;
  /** Why it waits. */
  readonly waitCause: WaitCause;
  /** How long it has held up the line of its ordered endpoint while the receiver refused it, in ms. */
  readonly heldMs: number;
  /** The last try, with its status and how long ago it ended in ms; null before the first. */
  readonly lastTry: { readonly status: number | null; readonly agoMs: number } | null;
  /** How long ago it was put in line, in ms. */
  readonly ageMs: number;
  /** The exact text to be sent. */
  readonly body: string;
  /** The endpoint as it is now. */
  readonly endpoint: {
    readonly url: string;
    readonly isEnabled: boolean;
    readonly disabledReason: string | null;
    readonly isOrdered: boolean;
    /** Whether all of its deliveries wait for a probe. */
    readonly isPaused: boolean;
    /** In how many ms the next probe of a failing endpoint may be made; null when it does not fail. */
    readonly pauseMs: number | null;
    readonly isFailing: boolean;
    /** The sealed secrets that sign now. */
    readonly secrets: readonly string[];
  };
  /** The database's clock, ms since the epoch. */
  readonly nowMs: number;
  /** The same moment by `performance.now()`. */
  readonly loadedAt: number;
  /** When it was asked for: what happened since may not be told here. */
  readonly askedAt: number;
}

/** The columns of a delivery with its message and endpoint. */
const COLUMNS = `
    delivery.endpoint_id::text, delivery.message_id::text, delivery.replay, delivery.state, delivery.reason,
    delivery.seq::text, delivery.attempts, delivery.wait_cause, delivery.held_ms, message.body, endpoint.url, endpoint.enabled, endpoint.disabled_reason, endpoint.ordered,
    endpoint.paused,
    extract(epoch from delivery.due_at - clock_timestamp())::float8 * 1000 as due_ms,
    (delivery.log->-1->>'status')::int as last_status,
    extract(epoch from clock_timestamp() - (delivery.log->-1->>'at')::timestamptz)::float8 * 1000 as last_ago_ms,
    extract(epoch from clock_timestamp() - delivery.queued_at)::float8 * 1000 as age_ms,
    extract(epoch from endpoint.next_probe_at - clock_timestamp())::float8 * 1000 as pause_ms,
    endpoint.failing_since is not null as failing,
    (
      select json_agg(secret->>'sealed')::text
      from jsonb_array_elements(endpoint.secrets) as secret
      where secret->>'expires_at' is null or (secret->>'expires_at')::timestamptz > clock_timestamp()
    ) as secrets,
    extract(epoch from clock_timestamp())::float8 * 1000 as now_ms`;

const LOAD = `
  select given.ord,${COLUMNS}
  from json_to_recordset($1::text::json) as given (ord int, endpoint_id uuid, message_id uuid, replay text)
  join {schema}.webhook_delivery as delivery
    on delivery.endpoint_id = given.endpoint_id
    and delivery.message_id = given.message_id
    and delivery.replay = given.replay
  join {schema}.webhook_message as message on message.id = delivery.message_id
  join {schema}.webhook_endpoint as endpoint on endpoint.id = delivery.endpoint_id`;

/** The first of an endpoint that waits, in the order of the line. A test is for itself. */
const LOAD_FIRST = `
  select${COLUMNS}
  from {schema}.webhook_delivery as delivery
  join {schema}.webhook_message as message on message.id = delivery.message_id
  join {schema}.webhook_endpoint as endpoint on endpoint.id = delivery.endpoint_id
  where delivery.endpoint_id = $1::text::uuid and delivery.state = 'waiting' and delivery.replay <> $2::text
  order by delivery.seq
  limit 1`;

/**
 * What shows best whether an endpoint works again: one that was never tried, then one that may have failed for the endpoint's
 * sake; of equals any, for they may be alike. The newest ones are the least tried.
 */
const LOAD_PROBE = `
  select${COLUMNS}
  from (
    select *
    from (
      select *
      from {schema}.webhook_delivery
      where endpoint_id = $1::text::uuid
        and state = 'waiting'
        and replay <> $2::text
        and (wait_cause is distinct from 'asked' or due_at <= clock_timestamp())
        and seq not in (select value::bigint from json_array_elements_text($3::text::json))
      order by seq desc
      limit 1000
    ) as newest
    order by log <> '[]', wait_cause is not distinct from 'own', random()
    limit 1
  ) as delivery
  join {schema}.webhook_message as message on message.id = delivery.message_id
  join {schema}.webhook_endpoint as endpoint on endpoint.id = delivery.endpoint_id`;

/** Who waits, with its job. */
const WAITING = `
  select seq::text, job_id
  from {schema}.webhook_delivery
  where endpoint_id = $1::text::uuid
    and state = 'waiting'
    and seq > $2::text::bigint
    and (not $4::text::boolean or due_at > clock_timestamp())
  order by seq
  limit $3::int`;

/**
 * The log keeps the first attempt and the newest 19. A row that somebody holds is left out and returned: nobody else waits
 * for it.
 */
const WRITE = `
  with given as materialized (
    select *
    from json_to_recordset($1::text::json) as given (
      ord int, endpoint_id uuid, message_id uuid, replay text, state text, reason text, attempts int, due_ms float8,
      wait_cause text, held_ms float8, given_up boolean, entry jsonb
    )
  ), free as materialized (
    select delivery.seq, given.*
    from given
    join {schema}.webhook_delivery as delivery using (endpoint_id, message_id, replay)
    where delivery.state = 'waiting'
    order by delivery.seq
    for no key update of delivery skip locked
  ), written as (
    update {schema}.webhook_delivery as delivery
    set
      state = free.state,
      reason = free.reason,
      attempts = free.attempts,
      due_at = clock_timestamp() + free.due_ms * interval '1 ms',
      wait_cause = free.wait_cause,
      held_ms = free.held_ms,
      given_up = free.given_up,
      log = case when jsonb_array_length(delivery.log) >= 20 then delivery.log - 1 else delivery.log end
        || case
          when free.entry is null then '[]'::jsonb
          else jsonb_build_array(free.entry || jsonb_build_object('at', clock_timestamp()))
        end,
      ended_at = case when free.state = 'waiting' then null else clock_timestamp() end
    from free
    where delivery.seq = free.seq
    returning free.ord
  )
  select given.ord
  from given
  join {schema}.webhook_delivery as delivery using (endpoint_id, message_id, replay)
  where delivery.state = 'waiting' and given.ord not in (select ord from written)`;

/** The pauses between two looks at a row that somebody holds, in ms, and for how long it is waited for at most. */
const HELD_MS_FIRST = 20;
const HELD_MS_MAX = 2000;

/** What is written of a delivery. */
export interface DeliveryEntry extends DeliveryKey {
  /** Where it is now. */
  readonly state: "waiting" | "delivered" | "discarded";
  /** Why it was discarded. */
  readonly reason: string | null;
  /** How many attempts were spent. */
  readonly attempts: number;
  /** In how many ms the next one is due; null when it has ended, or is due. */
  readonly dueMs: number | null;
  /** Why it waits. */
  readonly waitCause: WaitCause;
  /** As of {@linkcode LoadedDelivery}. */
  readonly heldMs: number;
  /** Whether it was discarded without a person's doing. */
  readonly isGivenUp: boolean;
  /** The attempt; null when none was made. */
  readonly entry: (AttemptFacts & { readonly attempt: number; readonly error: string | null }) | null;
}

/** Reads and writes deliveries, many at a time. */
export class Deliveries {
  readonly #database: Database;
  /** All that an attempt needs; null when the delivery or its endpoint is gone. */
  readonly load: (key: DeliveryKey) => Promise<LoadedDelivery | null>;
  /** Writes what became of an attempt. One that has ended meanwhile stays as it is. */
  readonly write: (entry: DeliveryEntry) => Promise<void>;

  /** On this database. */
  constructor(database: Database) {
    this.#database = database;
    this.load = gathered(async (keys) => {
      const askedAt = performance.now();
      const rows = await database.query(LOAD, [
        JSON.stringify(keys.map((key, ord) => ({ ord, ...keyColumns(key) }))),
      ]);
      const loaded = new Map(rows.map((row) => [Number(row.ord), loadedDelivery(row, askedAt)]));
      return keys.map((_, ord) => loaded.get(ord) ?? null);
    });
    const write = gathered((entries: readonly DeliveryEntry[]) => writeAll(database, entries));
    this.write = async (entry) => {
      // No connection waits meanwhile.
      for (let pauseMs = HELD_MS_FIRST; await write(entry) === "held"; pauseMs *= 2) {
        if (pauseMs > HELD_MS_MAX) {
          throw new Error(
            "its record is held by another session, and what became of the attempt is not noted",
          );
        }
        await pause(pauseMs);
      }
    };
  }

  /** The one of an ordered endpoint whose turn it is; null when none waits. */
  async first(endpointId: string): Promise<LoadedDelivery | null> {
    const askedAt = performance.now();
    const [row] = await this.#database.query(LOAD_FIRST, [endpointId, TEST_REPLAY]);
    return row === undefined ? null : loadedDelivery(row, askedAt);
  }

  /** One to try a failing endpoint with, but none of those that are under way; null when none is left. */
  async probe(endpointId: string, underWay: Iterable<string>): Promise<LoadedDelivery | null> {
    const askedAt = performance.now();
    const [row] = await this.#database.query(LOAD_PROBE, [
      endpointId,
      TEST_REPLAY,
      JSON.stringify([...underWay]),
    ]);
    return row === undefined ? null : loadedDelivery(row, askedAt);
  }

  /** The first of those that wait behind one of an endpoint, in the order of the line; all, or those that have failed. */
  async waiting(
    endpointId: string,
    { after, limit, failedOnly }: {
      readonly after: string;
      readonly limit: number;
      readonly failedOnly: boolean;
    },
  ): Promise<readonly WaitingDelivery[]> {
    const rows = await this.#database.query(WAITING, [endpointId, after, limit, String(failedOnly)]);
    return rows.map((row) => ({ seq: String(row.seq), jobId: String(row.job_id) }));
  }
}

/** One that waits. */
export interface WaitingDelivery {
  /** Its number. */
  readonly seq: string;
  /** Its job. */
  readonly jobId: JobId;
}

/** In how many ms the next attempt of a delivery is due by now; 0 when it is. */
export function dueInMs({ dueMs, loadedAt }: LoadedDelivery): number {
  return Math.max(0, dueMs - (performance.now() - loadedAt));
}

/** Says of each whether it was written, or is held by somebody. One that has ended meanwhile counts as written. */
async function writeAll(
  database: Database,
  entries: readonly DeliveryEntry[],
): Promise<readonly ("written" | "held")[]> {
  const rows = (change: (text: string) => string) =>
    JSON.stringify(entries.map((entry, ord) => ({
      ord,
      ...keyColumns(entry),
      state: entry.state,
      reason: entry.reason === null ? null : change(entry.reason),
      attempts: entry.attempts,
      due_ms: entry.dueMs,
      wait_cause: entry.waitCause,
      held_ms: entry.heldMs,
      given_up: entry.isGivenUp,
      entry: entry.entry === null ? null : {
        ...entry.entry,
        answer: entry.entry.answer === null ? null : change(entry.entry.answer),
        error: entry.entry.error === null ? null : change(entry.entry.error),
      },
    })));
  const held = await database.query(WRITE, [rows((text) => text)]).catch((error) => {
    if (entries.length > 1 || !isBadValue(error)) throw error;
    // The database's encoding lacks a character of the answer: the rest of it is worth more than none.
    return database.query(WRITE, [rows(asciiText)]);
  });
  const ords = new Set(held.map((row) => Number(row.ord)));
  return entries.map((_, ord) => ords.has(ord) ? "held" : "written");
}

function keyColumns({ endpointId, messageId, replay }: DeliveryKey): Record<string, string> {
  return { endpoint_id: endpointId, message_id: messageId, replay };
}

function loadedDelivery(row: TxRow, askedAt: number): LoadedDelivery {
  const pauseMs = row.pause_ms === null ? null : Number(row.pause_ms);
  return {
    seq: String(row.seq),
    endpointId: String(row.endpoint_id),
    messageId: String(row.message_id),
    replay: String(row.replay),
    state: row.state as LoadedDelivery["state"],
    reason: row.reason as string | null,
    attempts: Number(row.attempts),
    dueMs: Number(row.due_ms ?? 0),
    waitCause: row.wait_cause as WaitCause,
    heldMs: Number(row.held_ms),
    lastTry: row.last_ago_ms === null
      ? null
      : { status: row.last_status as number | null, agoMs: Number(row.last_ago_ms) },
    ageMs: Number(row.age_ms),
    body: String(row.body),
    endpoint: {
      url: String(row.url),
      isEnabled: row.enabled === true,
      disabledReason: row.disabled_reason as string | null,
      isOrdered: row.ordered === true,
      isPaused: row.paused === true,
      pauseMs,
      isFailing: row.failing === true,
      secrets: JSON.parse(String(row.secrets ?? "[]")),
    },
    nowMs: Number(row.now_ms),
    loadedAt: performance.now(),
    askedAt,
  };
}
