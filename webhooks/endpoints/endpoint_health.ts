import type { Database } from "../../ports/database.ts";
import type { Log } from "../../ports/log.ts";
import type { TxRow } from "../../ports/tx.ts";
import { pause } from "../../shared/pause.ts";
import type { LoadedDelivery } from "../deliveries/delivery.ts";
import type { WebhookSettings } from "../settings.ts";
import { Answers, type Sign } from "./answers.ts";

/**
 * No statement waits for an endpoint's row that another session holds: each one that waits would keep a connection from
 * the deliveries to other endpoints. It is sent again a moment later, for whoever asks for the lease holds the row for a
 * moment; what can't be noted even then is noted by the next attempt.
 */
const FREE = `
  (select id from {schema}.webhook_endpoint where id = $1::text::uuid for no key update skip locked)`;

/** Taken only when nobody has it, the endpoint is enabled and its pause is over. */
const TAKE = `
  update {schema}.webhook_endpoint
  set busy_until = clock_timestamp() + $3::float8 * interval '1 ms', busy_by = $2::text::uuid
  where id in ${FREE}
    and enabled
    and (busy_until is null or busy_until <= clock_timestamp() or busy_by = $2::text::uuid)
    and (next_probe_at is null or next_probe_at <= clock_timestamp())
  returning id`;

/** What is left of a pause and of a lease, and whether the lease is one's own, or could be. */
const LEFT = `
  select
    busy_by is not distinct from $2::text::uuid as is_mine,
    enabled
      and (busy_until is null or busy_until <= clock_timestamp() or busy_by = $2::text::uuid)
      and (next_probe_at is null or next_probe_at <= clock_timestamp()) as can_be_taken,
    extract(epoch from next_probe_at - clock_timestamp())::float8 * 1000 as pause_ms,
    extract(epoch from busy_until - clock_timestamp())::float8 * 1000 as busy_ms
  from {schema}.webhook_endpoint
  where id = $1::text::uuid`;

/** Takes back what can't be: a pause or a lease from a time when the clock was ahead. */
const CORRECT = `
  update {schema}.webhook_endpoint
  set
    next_probe_at = case
      when next_probe_at <= clock_timestamp() + $2::float8 * interval '1 ms' then next_probe_at
    end,
    busy_until = case when busy_until <= clock_timestamp() + $3::float8 * interval '1 ms' then busy_until end,
    failing_since = least(failing_since, clock_timestamp())
  where id = $1::text::uuid
    and (
      next_probe_at > clock_timestamp() + $2::float8 * interval '1 ms'
      or busy_until > clock_timestamp() + $3::float8 * interval '1 ms'
    )
  returning id`;

const GIVE_BACK = `
  update {schema}.webhook_endpoint
  set busy_until = null, busy_by = null
  where id in ${FREE} and busy_by = $2::text::uuid
  returning id`;

const SUCCEEDED = `
  with before as (
    select id, paused
    from {schema}.webhook_endpoint
    where id = $1::text::uuid and url = $2::text and failing_since is not null
    for no key update skip locked
  )
  update {schema}.webhook_endpoint as endpoint
  set failing_since = null, failures = 0, next_probe_at = null, paused = false
  from before
  where endpoint.id = before.id
  returning before.paused as was_paused`;

/**
 * Whether another event has failed too since the endpoint fails. One event alone may be at fault itself, however long it is
 * tried.
 */
const OTHERS_FAILED = `
  exists (
    select
    from {schema}.webhook_delivery as other
    where other.endpoint_id = endpoint.id
      and other.message_id <> $8::text::uuid
      and other.state <> 'delivered'
      and (other.log->-1->>'at')::timestamptz >= endpoint.failing_since
  )`;

/**
 * Failures that come before the next probe already were under way, or were due anyway: they count as one. The pause doubles
 * with each probe that fails, and begins anew with the failure by which all deliveries begin to wait.
 */
const FAILED = `
  with before as (
    select
      id, paused, failures,
      least(coalesce(failing_since, clock_timestamp()), clock_timestamp()) as failing_since,
      enabled and case
        when failing_since <= clock_timestamp() - $6::float8 * interval '1 ms' then ${OTHERS_FAILED}
        else false
      end as is_given_up,
      next_probe_at > clock_timestamp() is true as waits,
      $2::text::boolean and not paused as begins_to_pause
    from {schema}.webhook_endpoint as endpoint
    where id = $1::text::uuid and url = $7::text
    for no key update skip locked
  )
  update {schema}.webhook_endpoint as endpoint
  set
    failing_since = before.failing_since,
    paused = before.paused or before.begins_to_pause,
    failures = case
      when before.begins_to_pause then 1
      when before.waits then before.failures
      else before.failures + 1
    end,
    next_probe_at = greatest(
      case
        when before.begins_to_pause then clock_timestamp() + $3::float8 * interval '1 ms'
        when before.waits then endpoint.next_probe_at
        else clock_timestamp()
          + least($4::float8, $3::float8 * 2 ^ least(before.failures, 30)) * interval '1 ms'
      end,
      clock_timestamp() + $5::float8 * interval '1 ms'
    ),
    enabled = endpoint.enabled and not before.is_given_up,
    disabled_reason = case
      when before.is_given_up
        then 'nothing but failures since ' || to_char(before.failing_since at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"')
      else endpoint.disabled_reason
    end
  from before
  where endpoint.id = before.id
  returning
    before.is_given_up as was_disabled,
    endpoint.disabled_reason, endpoint.paused,
    extract(epoch from endpoint.next_probe_at - clock_timestamp())::float8 * 1000 as pause_ms`;

const STATE = `
  select enabled, failing_since is not null as is_failing
  from {schema}.webhook_endpoint
  where id = $1::text::uuid and url = $2::text`;

const DISABLE = `
  update {schema}.webhook_endpoint
  set enabled = false, disabled_reason = $2::text
  where id in ${FREE} and url = $3::text and enabled
  returning id`;

/** A pause is not believed when it is longer than the longest that is made by this much, in ms. */
const BELIEVED_MARGIN_MS = 60_000;

/** Nor is a lease that is so many times as long as one is, and longer than 10 minutes: two would deliver at once. */
const BELIEVED_LEASES = 10;
const BELIEVED_LEASE_MS_MIN = 10 * 60_000;

/** The pauses between two looks at a row that somebody holds, in ms: the first, and the longest. */
const HELD_MS_FIRST = 10;
const HELD_MS_MAX = 500;
/** Who holds the row for longer than this, in ms, does so on purpose: a lease is left to the next job, a note to the next attempt. */
const HELD_TAKE_MS = 300;
const HELD_NOTE_MS = 1000;

/** How many endpoints' pauses are remembered. */
const REMEMBERED_MAX = 10_000;

/** The lease of one delivery to an endpoint that takes one at a time. */
export interface Lease {
  /** Renews it for one more attempt. False when it was lost, or the endpoint was disabled. */
  renew(): Promise<boolean>;
  /** Gives it back. */
  giveBack(): Promise<void>;
}

/** Why there is no lease now. */
export interface Occupied {
  /** For how long the endpoint pauses, in ms; 0 when it does not. */
  readonly pauseMs: number;
  /** For how long another has the lease at most, in ms. */
  readonly busyMs: number;
}

/** After how many ms it is worth another look: the lease is given back long before it runs out, unless its process died. */
export function occupiedMs({ scheduleMs }: WebhookSettings, { pauseMs, busyMs }: Occupied): number {
  return Math.max(pauseMs, Math.min(busyMs, scheduleMs[0]!), scheduleMs[0]! / 10);
}

/** What an endpoint that works again was before: all of its deliveries waited, or only those that had failed. */
export type Recovery = "paused" | "failing";

/** What a failed attempt says of its endpoint. */
export interface Failure {
  /** How it failed; null where that says nothing of the other deliveries. */
  readonly sign: Exclude<Sign, "well"> | null;
  /** Whether the delivery has itself to blame. */
  readonly isOwn: boolean;
  /** For how long the receiver asked the line to wait, in ms; 0 where it is no line, or did not ask. */
  readonly askedMs: number;
}

/** The first pause of an endpoint that answers, in ms: it may be that only what came first was bad. */
const REFUSED_PAUSE_MS = 100;
/** What a pause has sent away comes back so long after each other, in ms, and within so long in all, should nobody bring it forward. */
const BACK_MS_EACH = 30;
const BACK_MS_MAX = 5 * 60_000;

/** Knows how endpoints are: failing, pausing, busy, disabled. */
export class EndpointHealth {
  readonly #database: Database;
  readonly #settings: WebhookSettings;
  readonly #log: Log;
  readonly #answers = new Answers();
  /** The endpoints that this process has seen fail; `until` is when the next probe may be made. */
  readonly #failing = new Map<
    string,
    { readonly until: number; readonly seenAt: number; readonly isPaused: boolean }
  >();
  /** By endpoint: how many the present pause has sent away, and when the last of them comes back. */
  readonly #sentAway = new Map<string, { until: number; count: number; lastBackAt: number }>();

  /** On this database. */
  constructor(database: Database, settings: WebhookSettings, log: Log) {
    this.#database = database;
    this.#settings = settings;
    this.#log = log;
  }

  /** The lease of an endpoint, or for how long it pauses or is busy. */
  async lease(endpointId: string): Promise<Lease | Occupied> {
    const token = crypto.randomUUID();
    const { leaseMs } = this.#settings;
    const look = async () => (await this.#database.query(LEFT, [endpointId, token]))[0];
    const take = () => this.#database.query(TAKE, [endpointId, token, leaseMs]);
    const giveBack = () => this.#database.query(GIVE_BACK, [endpointId, token]);
    const canBeTaken = async () => (await look())?.can_be_taken === true;
    const isMine = async () => (await look())?.is_mine === true;
    const lease: Lease = {
      renew: async () => await whileHeld(take, canBeTaken, leaseMs) !== undefined,
      // What is not given back in this time has run out by itself.
      giveBack: async () => void await whileHeld(giveBack, isMine, leaseMs),
    };
    if (await whileHeld(take, canBeTaken, HELD_TAKE_MS) !== undefined) return lease;
    const left = await look();
    const pauseMs = Math.max(0, Number(left?.pause_ms ?? 0));
    const busyMs = Math.max(0, Number(left?.busy_ms ?? 0));
    const isPossible = pauseMs <= this.#pauseMsMax && busyMs <= this.#leaseMsMax;
    if (!isPossible && await this.#correct(endpointId) && (await take()).length > 0) return lease;
    return { pauseMs, busyMs };
  }

  /**
   * Whether a pause was taken back because it is longer than any that is made: then the endpoint's row says something else
   * than what was read.
   */
  async tookBack(endpointId: string, pauseMs: number | null): Promise<boolean> {
    return pauseMs !== null && pauseMs > this.#pauseMsMax && await this.#correct(endpointId);
  }

  /**
   * When deliveries to an endpoint come back that have begun to wait for it since a moment by `performance.now()`, in ms, as
   * far as this process has seen it fail; null when they need not wait. Of what was before, the endpoint's row tells, and
   * whether a person has enabled it again since.
   */
  pausedSince(endpointId: string, since: number): number | null {
    const failing = this.#failing.get(endpointId);
    if (failing === undefined || !failing.isPaused || failing.seenAt < since) return null;
    return this.backInMs(endpointId, Math.max(0, failing.until - performance.now()));
  }

  /**
   * After how many ms a delivery comes back that a pause has sent away. A few come back at its end, to try; the others after
   * them, some 30 a second, or they would be busy with coming back in vain.
   */
  backInMs(endpointId: string, pauseMs: number): number {
    const now = performance.now();
    let sent = this.#sentAway.get(endpointId);
    if (sent === undefined || sent.until < now) {
      sent = { until: now + pauseMs, count: 0, lastBackAt: sent?.lastBackAt ?? 0 };
      if (this.#sentAway.size >= REMEMBERED_MAX) this.#sentAway.clear();
      this.#sentAway.set(endpointId, sent);
    }
    sent.count++;
    if (sent.count <= this.#settings.inFlight) return pauseMs;
    const backAt = Math.max(sent.lastBackAt, now + pauseMs) + BACK_MS_EACH;
    if (backAt > now + pauseMs + BACK_MS_MAX) return pauseMs + Math.random() * BACK_MS_MAX;
    sent.lastBackAt = backAt;
    return backAt - now;
  }

  get #pauseMsMax(): number {
    const { probeMs, retryAfterMs, scheduleMs } = this.#settings;
    return Math.max(probeMs, retryAfterMs, ...scheduleMs) + BELIEVED_MARGIN_MS;
  }

  get #leaseMsMax(): number {
    return Math.max(this.#settings.leaseMs * BELIEVED_LEASES, BELIEVED_LEASE_MS_MIN);
  }

  async #correct(endpointId: string): Promise<boolean> {
    const rows = await this.#database.query(CORRECT, [endpointId, this.#pauseMsMax, this.#leaseMsMax]);
    if (rows.length > 0) {
      this.#log.warn(
        "a webhook endpoint paused, or was busy, for longer than one can: was the clock ahead?",
        {
          endpointId,
        },
      );
    }
    return rows.length > 0;
  }

  /** Whether a delivery that was answered badly has itself to blame: others were answered well since it failed before. */
  hasItselfToBlame(delivery: LoadedDelivery): boolean {
    const { seq, waitCause, lastTry, loadedAt } = delivery;
    if (waitCause === "own") return true;
    return lastTry !== null && this.#answers.wasWellSince(placeOf(delivery), seq, loadedAt - lastTry.agoMs);
  }

  /** A delivery went well. Resolves to what the endpoint was before if it had failed, and works again; else to null. */
  async succeeded(delivery: LoadedDelivery): Promise<Recovery | null> {
    const { endpointId, seq, endpoint: { url, isFailing } } = delivery;
    this.#answers.note(placeOf(delivery), seq, "well");
    this.#sentAway.delete(endpointId);
    if (!this.#failing.delete(endpointId) && !isFailing) return null;
    this.#answers.forgive(placeOf(delivery));
    const row = await whileHeld(
      () => this.#database.query(SUCCEEDED, [endpointId, url]),
      async () => (await this.#state(endpointId, url))?.is_failing === true,
      HELD_NOTE_MS,
    );
    if (row === undefined) return null;
    this.#log.info("a webhook endpoint works again", { endpointId });
    return row.was_paused === true ? "paused" : "failing";
  }

  /**
   * A delivery failed. Where most do, or it is an ordered endpoint's, the others wait. Disables the endpoint when it has failed
   * for too long. Resolves to when the next probe may be made, in ms; null where it says nothing of the endpoint.
   */
  async failed(delivery: LoadedDelivery, { sign, isOwn, askedMs }: Failure): Promise<number | null> {
    const { endpointId, messageId, seq, endpoint: { url, isOrdered } } = delivery;
    const { scheduleMs, probeMs, disableAfterMs } = this.#settings;
    const place = placeOf(delivery);
    if (sign !== null && !isOwn) this.#answers.note(place, seq, sign);
    const isDown = sign !== null && (isOrdered || this.#answers.isDown(place));
    if (sign !== "silent" && !isDown && (isOwn || this.#answers.isWell(place, seq))) return null;
    const firstMs = sign === "refused" && isDown && !isOrdered ? REFUSED_PAUSE_MS : scheduleMs[0]!;
    const note = () =>
      this.#database.query(FAILED, [
        endpointId,
        String(isDown),
        Math.min(firstMs, probeMs),
        probeMs,
        askedMs,
        disableAfterMs,
        url,
        messageId,
      ]);
    const isThere = async () => await this.#state(endpointId, url) !== undefined;
    const row = await whileHeld(note, isThere, HELD_NOTE_MS);
    if (row?.was_disabled === true) this.#tell(endpointId, String(row.disabled_reason));
    if (typeof row?.pause_ms !== "number") return null;
    const now = performance.now();
    if (this.#failing.size >= REMEMBERED_MAX) this.#failing.clear();
    this.#failing.set(endpointId, { until: now + row.pause_ms, seenAt: now, isPaused: row.paused === true });
    return Math.max(0, row.pause_ms);
  }

  /** Nothing goes there any more, until a person says so. */
  async disable({ endpointId, endpoint: { url } }: LoadedDelivery, reason: string): Promise<void> {
    const row = await whileHeld(
      () => this.#database.query(DISABLE, [endpointId, reason, url]),
      async () => (await this.#state(endpointId, url))?.enabled === true,
      HELD_NOTE_MS,
    );
    if (row !== undefined) this.#tell(endpointId, reason);
  }

  async #state(endpointId: string, url: string): Promise<TxRow | undefined> {
    return (await this.#database.query(STATE, [endpointId, url]))[0];
  }

  #tell(endpointId: string, reason: string): void {
    this.#log.error(
      "a webhook endpoint was disabled: what waits for it is discarded, new events pass it by until it is enabled again",
      { endpointId, reason },
    );
  }
}

/** What the old URL of an endpoint answers says nothing of the new one. */
function placeOf({ endpointId, endpoint: { url } }: LoadedDelivery): string {
  return `${endpointId} ${url}`;
}

/**
 * Makes a change that does nothing while somebody holds the row, again and again, for as long as it could be made but for
 * that, and for `maxMs` at most. No connection waits meanwhile. Resolves to the row that it returned, if it was made.
 */
async function whileHeld(
  change: () => Promise<readonly TxRow[]>,
  couldBe: () => Promise<boolean>,
  maxMs: number,
): Promise<TxRow | undefined> {
  const until = performance.now() + maxMs;
  for (let pauseMs = HELD_MS_FIRST;; pauseMs = Math.min(2 * pauseMs, HELD_MS_MAX)) {
    const [row] = await change();
    if (row !== undefined) return row;
    if (performance.now() + pauseMs > until || !await couldBe()) return undefined;
    await pause(pauseMs);
  }
}
