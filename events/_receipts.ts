import type { Database } from "../ports/database.ts";
import { InvalidOptionError } from "../ports/errors.ts";
import type { EventId } from "../ports/event.ts";
import type { Receipt } from "../ports/events.ts";
import type { JobId } from "../ports/job.ts";
import type { WaitOptions } from "../ports/runtime.ts";
import type { TxRow } from "../ports/tx.ts";
import { Pause } from "../shared/pause.ts";
import { waitMs, waitSignal } from "../shared/waiting.ts";
import { isEventId } from "./_reads.ts";

/** The pauses between two looks, in ms: each is longer than the one before. */
const LOOK_MS_FIRST = 10;
const LOOK_MS_MAX = 250;

/**
 * Events that don't wait for their fan-out, missing ones too. Transactions are read in the same snapshot; that ends behind the
 * last one that has ended, and `age()` counts from there to the number that is given out next.
 */
const LOOK = `
  select
    asked.id::text, event.id is null as is_missing, event.poisoned_at is not null as is_poisoned, event.fanout::text,
    pg_snapshot_xmin(pg_current_snapshot())::text as oldest,
    pg_snapshot_xmax(pg_current_snapshot())::text::bigint + age(pg_snapshot_xmax(pg_current_snapshot())::xid) as next
  from unnest($1::text::uuid[]) as asked (id)
  left join {schema}.outbox as event on event.id = asked.id
  where event.id is null or event.fanned_out_at is not null or event.poisoned_at is not null`;

interface Waiter {
  readonly id: EventId;
  readonly resolve: (receipt: Receipt) => void;
  /** The first number of a transaction that may no longer bring the event, by the first look that missed it. */
  goneFrom: number | null;
}

/** Waits for fan-outs. One look serves all who wait; this process's own relay cuts the pause short. */
export class Receipts {
  readonly #database: Database;
  readonly #waiters: Set<Waiter> = new Set();
  #looking = false;
  readonly #betweenLooks = new Pause();
  #pauseMs = LOOK_MS_FIRST;
  #stopped = false;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Resolves when the event has been fanned out or can't be, or at the deadline. */
  async wait(id: EventId, maxMs: number, options: WaitOptions): Promise<Receipt> {
    const boundMs = waitMs(maxMs);
    if (!isEventId(id)) throw new InvalidOptionError("an event's id", id, "what record() resolved to");
    const signal = waitSignal(options);
    const { promise, resolve, reject } = Promise.withResolvers<Receipt>();
    const waiter: Waiter = { id: id.toLowerCase(), resolve, goneFrom: null };
    const timer = setTimeout(() => resolve({ fannedOut: false, reason: "timeout" }), boundMs);
    const aborted = () => reject(signal!.reason);
    signal?.addEventListener("abort", aborted, { once: true });
    this.#waiters.add(waiter);
    this.lookNow();
    const looking = this.#looking ? Promise.resolve() : this.#look();
    looking.catch(() => {});
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", aborted);
      this.#waiters.delete(waiter);
      if (this.#waiters.size === 0) this.#betweenLooks.end();
    }
  }

  /** Something was fanned out here. */
  lookNow(): void {
    this.#pauseMs = LOOK_MS_FIRST;
    this.#betweenLooks.end();
  }

  /** Answers all who wait. Whoever waits from now on is answered as long as the database can be asked. */
  stop(): void {
    this.#stopped = true;
    this.#answerAll();
  }

  async #look(): Promise<void> {
    this.#looking = true;
    try {
      while (this.#waiters.size > 0) {
        await this.#once().catch(() => {
          // An outage is told by others, and ends before the deadline or not. After a stop there is nothing to wait for.
          if (this.#stopped) this.#answerAll();
        });
        if (this.#waiters.size > 0) await this.#pause();
      }
    } finally {
      this.#looking = false;
    }
  }

  #answerAll(): void {
    for (const { resolve } of this.#waiters) resolve({ fannedOut: false, reason: "stopped" });
  }

  async #once(): Promise<void> {
    const ids = [...new Set([...this.#waiters].map((waiter) => waiter.id))];
    const rows = await this.#database.query(LOOK, [`{${ids.join(",")}}`]);
    const found = new Map(rows.map((row) => [String(row.id), row]));
    for (const waiter of [...this.#waiters]) {
      const row = found.get(waiter.id);
      const receipt = row === undefined ? null : receiptOf(waiter, row);
      if (receipt === null) continue;
      this.#waiters.delete(waiter);
      waiter.resolve(receipt);
    }
  }

  async #pause(): Promise<void> {
    const ms = this.#pauseMs;
    this.#pauseMs = Math.min(ms * 2, LOOK_MS_MAX);
    await this.#betweenLooks.for(ms);
  }
}

/** Null while a transaction is open that may bring the event. */
function receiptOf(waiter: Waiter, row: TxRow): Receipt | null {
  if (row.is_missing === true) {
    waiter.goneFrom ??= Number(row.next);
    return Number(row.oldest) >= waiter.goneFrom ? { fannedOut: false, reason: "gone" } : null;
  }
  if (row.is_poisoned === true) return { fannedOut: false, reason: "poisoned" };
  return { fannedOut: true, jobs: JSON.parse(String(row.fanout)) as Record<string, JobId> };
}
