import type { Database } from "../ports/database.ts";

/** Over which time activity is counted, in ms. */
const WINDOW_MS = 250;
/** From so many notifications or events in a window on, a mark is worth its write: 100 a second. */
const BUSY_COUNT = 25;
/** How often a mark is renewed, and how long it holds without that, in ms. A relay that dies leaves it for so long. */
const RENEW_MS = 400;
const VALID_MS = 900;
/** How often a marked relay looks, in ms. */
const LOOK_MS = 20;
/** The first look after the start, or after a mark was withdrawn, in ms; each next one waits twice as long. */
const AFTERMATH_MS = 25;

/** A row that somebody holds is left as it is: without its mark a relay is notified, and a mark runs out by itself. */
const MARK = `
  update {schema}.relay
  set awake_until = clock_timestamp() + $2::int * interval '1 ms'
  where owner in (
    select owner from {schema}.relay where owner = $1::text::uuid for no key update skip locked
  )`;

const WITHDRAW = `
  update {schema}.relay
  set awake_until = '-infinity'
  where owner in (
    select owner from {schema}.relay where owner = $1::text::uuid for no key update skip locked
  )`;

/**
 * The mark that tells recorders that this relay looks at the outbox without a pause, so that they need to wake nobody.
 *
 *     idle -- 100 events a second --> marked, looks every 20 ms -- fewer --> aftermath -- looks at growing pauses --> idle
 *
 * The aftermath is for transactions that saw the mark, or that no relay was there, and commit later: one that stays open for
 * as long again as the mark has been gone is found by then, at the latest by the sweep.
 */
export class AwakeMark {
  readonly #database: Database;
  readonly #owner: string;
  #windowAt = performance.now();
  #count = 0;
  #markedAt: number | null = null;
  /** Who recorded before this relay was on record woke nobody. */
  #aftermathMs: number | null = AFTERMATH_MS;

  constructor(database: Database, owner: string) {
    this.#database = database;
    this.#owner = owner;
  }

  /** Counts notifications or events. */
  count(activity: number): void {
    this.#count += activity;
  }

  /** Renews or withdraws the mark as is due. Resolves to the longest pause until the next look, in ms; null for any. */
  async note(): Promise<number | null> {
    const now = performance.now();
    const elapsed = now - this.#windowAt;
    const isBusy = this.#count >= BUSY_COUNT;
    if (elapsed >= WINDOW_MS || (isBusy && this.#markedAt === null)) {
      this.#windowAt = now;
      this.#count = 0;
      if (!isBusy && this.#markedAt !== null) return await this.#withdraw();
    }
    if (this.#markedAt === null && !isBusy) return this.#aftermath();
    if (this.#markedAt === null || now - this.#markedAt >= RENEW_MS) {
      this.#markedAt = now;
      this.#aftermathMs = null;
      await this.#database.query(MARK, [this.#owner, VALID_MS]);
    }
    return LOOK_MS;
  }

  async #withdraw(): Promise<number> {
    this.#markedAt = null;
    this.#aftermathMs = AFTERMATH_MS;
    await this.#database.query(WITHDRAW, [this.#owner]);
    return 0;
  }

  #aftermath(): number | null {
    const pauseMs = this.#aftermathMs;
    // Beyond the sweep nobody asks any more.
    if (pauseMs !== null) this.#aftermathMs = pauseMs * 2 < 2 ** 31 ? pauseMs * 2 : null;
    return pauseMs;
  }
}
