import { asciiText, type Database, type TxRow } from "../../ports/mod.ts";
import { isBadValue } from "../_outage.ts";
import type { AttemptFacts } from "./_classify.ts";
import { gathered } from "./_gathered.ts";
import { TEST_REPLAY } from "./_test_message.ts";

/** Names one delivery. */
export interface DeliveryKey {
  /** Where to. */
  readonly endpointId: string;
  /** What: the event's id, or a test's. */
  readonly messageId: string;
  /** Which replay; empty for the fan-out's. */
  readonly replay: string;
}

/** All that one attempt needs to know. */
export interface LoadedDelivery extends DeliveryKey {
  /** Whether it waits still. */
  readonly state: "waiting" | "delivered" | "discarded";
  /** Why it was discarded. */
  readonly reason: string | null;
  /** How many attempts of an ordered endpoint's delivery were spent. */
  readonly attempts: number;
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
    /** In how many ms the next probe of a failing endpoint may be made; null when it does not pause. */
    readonly pauseMs: number | null;
    readonly isFailing: boolean;
    /** The sealed secrets that sign now. */
    readonly secrets: readonly string[];
  };
  /** The database's clock, ms since the epoch. */
  readonly nowMs: number;
  /** The same moment by `performance.now()`. */
  readonly loadedAt: number;
}

/** The columns of a delivery with its message and endpoint. */
const COLUMNS = `
    delivery.endpoint_id::text, delivery.message_id::text, delivery.replay, delivery.state, delivery.reason,
    delivery.attempts, message.body, endpoint.url, endpoint.enabled, endpoint.disabled_reason, endpoint.ordered,
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
 * The log keeps the first attempt and the newest 19. A row that somebody holds is left out and returned: nobody else waits
 * for it.
 */
const WRITE = `
  with given as materialized (
    select *
    from json_to_recordset($1::text::json) as given (
      ord int, endpoint_id uuid, message_id uuid, replay text, state text, reason text, attempts int, entry jsonb
    )
  ), free as materialized (
    select delivery.seq, given.ord, given.state, given.reason, given.attempts, given.entry
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
      const rows = await database.query(LOAD, [
        JSON.stringify(keys.map((key, ord) => ({ ord, ...keyColumns(key) }))),
      ]);
      const loaded = new Map(rows.map((row) => [Number(row.ord), loadedDelivery(row)]));
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
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    };
  }

  /** The one of an ordered endpoint whose turn it is; null when none waits. */
  async first(endpointId: string): Promise<LoadedDelivery | null> {
    const [row] = await this.#database.query(LOAD_FIRST, [endpointId, TEST_REPLAY]);
    return row === undefined ? null : loadedDelivery(row);
  }
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

function loadedDelivery(row: TxRow): LoadedDelivery {
  const pauseMs = row.pause_ms === null ? null : Number(row.pause_ms);
  return {
    endpointId: String(row.endpoint_id),
    messageId: String(row.message_id),
    replay: String(row.replay),
    state: row.state as LoadedDelivery["state"],
    reason: row.reason as string | null,
    attempts: Number(row.attempts),
    ageMs: Number(row.age_ms),
    body: String(row.body),
    endpoint: {
      url: String(row.url),
      isEnabled: row.enabled === true,
      disabledReason: row.disabled_reason as string | null,
      isOrdered: row.ordered === true,
      pauseMs,
      isFailing: row.failing === true,
      secrets: JSON.parse(String(row.secrets ?? "[]")),
    },
    nowMs: Number(row.now_ms),
    loadedAt: performance.now(),
  };
}
