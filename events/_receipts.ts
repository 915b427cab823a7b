import {
  type Database,
  type EventId,
  InvalidOptionError,
  type JobId,
  type Receipt,
  TIMER_MS_MAX,
} from "../ports/mod.ts";
import { isEventId } from "./_reads.ts";

/** The pauses between two looks, in ms: each is longer than the one before. */
const LOOK_MS_FIRST = 10;
const LOOK_MS_MAX = 250;

const FANNED_OUT = `
  select id::text, fanout::text
  from {schema}.outbox
  where id = any($1::text::uuid[]) and fanned_out_at is not null`;

interface Waiter {
  readonly id: EventId;
  readonly resolve: (receipt: Receipt) => void;
}

/** Waits for fan-outs. One look serves all who wait; this process's own relay cuts the pause short. */
export class Receipts {
  readonly #database: Database;
  readonly #waiters: Set<Waiter> = new Set();
  #looking = false;
  #wake: (() => void) | undefined;
  #pauseMs = LOOK_MS_FIRST;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Resolves when the event has been fanned out, or at the deadline. */
  async wait(id: EventId, maxMs: number): Promise<Receipt> {
    if (typeof maxMs !== "number" || !(maxMs >= 0)) {
      throw new InvalidOptionError("maxMs", maxMs, "ms, 0 or more");
    }
    if (!isEventId(id)) throw new InvalidOptionError("an event's id", id, "what record() resolved to");
    const { promise, resolve } = Promise.withResolvers<Receipt>();
    const waiter: Waiter = { id: id.toLowerCase(), resolve };
    const timer = setTimeout(() => resolve({ fannedOut: false }), Math.min(maxMs, TIMER_MS_MAX));
    this.#waiters.add(waiter);
    this.lookNow();
    const looking = this.#looking ? Promise.resolve() : this.#look();
    looking.catch(() => {});
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#waiters.delete(waiter);
      if (this.#waiters.size === 0) this.#wake?.();
    }
  }

  /** Something was fanned out here. */
  lookNow(): void {
    this.#pauseMs = LOOK_MS_FIRST;
    this.#wake?.();
  }

  async #look(): Promise<void> {
    this.#looking = true;
    try {
      while (this.#waiters.size > 0) {
        await this.#once().catch(() => {
          // An outage is told by others, and ends before the deadline or not.
        });
        if (this.#waiters.size > 0) await this.#pause();
      }
    } finally {
      this.#looking = false;
    }
  }

  async #once(): Promise<void> {
    const ids = [...new Set([...this.#waiters].map((waiter) => waiter.id))];
    const rows = await this.#database.query(FANNED_OUT, [`{${ids.join(",")}}`]);
    const found = new Map(rows.map((row) => [String(row.id), String(row.fanout)]));
    for (const waiter of [...this.#waiters]) {
      const fanout = found.get(waiter.id);
      if (fanout === undefined) continue;
      this.#waiters.delete(waiter);
      waiter.resolve({ fannedOut: true, jobs: JSON.parse(fanout) as Record<string, JobId> });
    }
  }

  async #pause(): Promise<void> {
    const ms = this.#pauseMs;
    this.#pauseMs = Math.min(ms * 2, LOOK_MS_MAX);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
  }
}
