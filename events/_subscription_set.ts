import type { Database, Transaction } from "../ports/database.ts";
import type { Subscription } from "../ports/event.ts";
import type { Log } from "../ports/log.ts";
import { toJsonText } from "../shared/json_text.ts";
import { STILL_MS_MAX } from "./_in_order.ts";
import { OUTBOX_CHANNEL } from "./_schema.ts";

/** Keeps publishers apart. Readers are not held up. */
const LOCK = "lock table {schema}.subscription_set in share row exclusive mode";

/** A process that is frozen while it publishes must not keep the others out. */
const BOUND = "select set_config('idle_in_transaction_session_timeout', $1::text, true)";

const NEWEST = `
  select version::text, fingerprint
  from {schema}.subscription_set
  order by version desc
  limit 1`;

const KNOWN = "select from {schema}.subscription_set where fingerprint = $1::text limit 1";

/** Whether a process lives that relays the set of this fingerprint. A time to come says nothing: the clock was ahead. */
const LIVES = `
  select from {schema}.relay
  where fingerprint = $1::text
    and renewed_at > clock_timestamp() - $2::float8 * interval '1 ms'
    and renewed_at <= clock_timestamp() + $2::float8 * interval '1 ms'
  limit 1`;

const PUBLISH = `
  insert into {schema}.subscription_set (fingerprint, subscriptions)
  values ($1::text, $2::text::jsonb)
  returning version::text`;

/** The fan-out must not wait for somebody who holds a row of this table: what can't be written now is written next time. */
const RENEW = `
  with free as (
    select owner from {schema}.relay where owner = $1::text::uuid for no key update skip locked
  ), renewed as (
    update {schema}.relay set renewed_at = clock_timestamp() where owner in (select owner from free)
  )
  insert into {schema}.relay (owner, fingerprint)
  select $1::text::uuid, $2::text
  where not exists (select from {schema}.relay where owner = $1::text::uuid)
  on conflict (owner) do nothing`;

/** A process that was killed is taken off the record after 20 times the time after which it counts as gone. */
const FORGET = `
  delete from {schema}.relay
  where owner in (
    select owner
    from {schema}.relay
    where renewed_at not between clock_timestamp() - $1::float8 * interval '20 ms'
      and clock_timestamp() + $1::float8 * interval '20 ms'
    for update skip locked
  )`;

const LEAVE = `
  delete from {schema}.relay
  where owner in (select owner from {schema}.relay where owner = $1::text::uuid for update skip locked)`;

/** What a {@linkcode SubscriptionSet} is made of. */
export interface SubscriptionSetOptions {
  /** Where the sets are. */
  readonly database: Database;
  /** The subscriptions of this process. */
  readonly subscriptions: Iterable<Subscription>;
  /** The id of this process's relay, a UUID. */
  readonly owner: string;
  /** After how long without renewal a relay counts as gone, in ms. */
  readonly goneMs: number;
  /** For life-cycle. */
  readonly log: Log;
}

/**
 * The set of subscriptions of this process, and whether it is the one that fans out.
 *
 *     never seen before ---- published at the start -----> newest: fans out
 *     seen, and the newest is another's, who lives ------> stands by
 *     seen, and nobody relays the newest any more -------> published again: fans out
 *
 * So in a rolling deploy the new program takes over at its start, and an old one that starts again meanwhile does not
 * take it back. After a roll-back the old program takes over when the last process of the newer one has stopped, or
 * was not heard of for `goneMs`.
 */
export class SubscriptionSet {
  readonly #options: SubscriptionSetOptions;
  readonly #text: string;
  #fingerprint = "";
  #version: string | null = null;
  #told: "newest" | "by" | null = null;

  constructor(options: SubscriptionSetOptions) {
    this.#options = options;
    const rows = [...options.subscriptions]
      .map(({ name, types, coalesce, data, inOrder, priority }) => ({
        name,
        types: types.toSorted(),
        coalesce: coalesce === true,
        ...(data === false ? { data } : {}),
        ...(inOrder === undefined ? {} : { inOrder: true }),
        priority: priority ?? null,
      }))
      .sort((one, other) => one.name < other.name ? -1 : 1);
    this.#text = toJsonText(rows, { name: "subscriptions", maxBytes: Number.MAX_SAFE_INTEGER });
  }

  /** The version under which this process may fan out; null while it stands by. */
  get version(): string | null {
    return this.#version;
  }

  /** Shows that this process lives, and finds out whether its set is the newest, or has to be. */
  async renew(): Promise<void> {
    const { database, owner, goneMs } = this.#options;
    if (this.#fingerprint === "") this.#fingerprint = await fingerprintOf(this.#text);
    await database.query(RENEW, [owner, this.#fingerprint]);
    await database.query(FORGET, [goneMs]);
    const newest = newestOf(await database.query(NEWEST));
    if (newest?.fingerprint === this.#fingerprint) this.#version = newest.version;
    else this.#version = await database.transaction((tx) => this.#publish(tx));
    this.#tell(newest?.version ?? null);
  }

  /** Takes this process off the record, and wakes whoever stands by. */
  async leave(): Promise<void> {
    const { database, owner } = this.#options;
    this.#version = null;
    await database.query(LEAVE, [owner]);
    await database.notify(OUTBOX_CHANNEL, "left");
  }

  async #publish(tx: Transaction): Promise<string | null> {
    await tx.unsafe(BOUND, [String(STILL_MS_MAX)]);
    await tx.unsafe(LOCK, []);
    const newest = newestOf(await tx.unsafe(NEWEST, []));
    if (newest?.fingerprint === this.#fingerprint) return newest.version;
    if (newest !== undefined && (await tx.unsafe(KNOWN, [this.#fingerprint])).length > 0) {
      const lives = await tx.unsafe(LIVES, [newest.fingerprint, this.#options.goneMs]);
      if (lives.length > 0) return null;
    }
    const [row] = await tx.unsafe(PUBLISH, [this.#fingerprint, this.#text]);
    return String(row!.version);
  }

  #tell(newest: string | null): void {
    const state = this.#version === null ? "by" : "newest";
    if (state === this.#told) return;
    this.#told = state;
    if (state === "newest") {
      this.#options.log.info("fanning out events", { subscriptionSet: this.#version });
    } else {
      this.#options.log.info("not fanning out events: a newer set of subscriptions is deployed", {
        subscriptionSet: newest,
      });
    }
  }
}

function newestOf(
  rows: readonly Record<string, unknown>[],
): { version: string; fingerprint: string } | undefined {
  const row = rows[0];
  return row === undefined
    ? undefined
    : { version: String(row.version), fingerprint: String(row.fingerprint) };
}

async function fingerprintOf(text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return bytes.toHex();
}
