import type { Log } from "../../../ports/log.ts";

/**
 * How full the server's queue of notifications is, from 0 to 1. To ask takes out what all who listen have read, which
 * nothing else does once it is full.
 */
export const USAGE = "pg_catalog.pg_notification_queue_usage()";

/** From here on PostgreSQL warns in its own log. */
const HIGH = 0.5;
/** From here on nothing is notified that a poll finds as well. */
const FULL = 0.9;
/** For how long a refusal counts, in ms: until the next look of the listener. */
const FULL_MS = 15_000;

/**
 * The queue of notifications that all databases of a server share. While a session listens and stands in a transaction
 * nothing is taken out of it, and once it is full each transaction that notifies fails at its commit. A notification
 * here is a hint, so work does without them meanwhile.
 */
export class NotifyQueue {
  #fullUntilMs = -Infinity;
  #isHigh = false;

  /** Whether a transaction that notifies would probably fail. */
  get isFull(): boolean {
    return performance.now() < this.#fullUntilMs;
  }

  /** A transaction has failed for it. */
  noteFull(): void {
    this.#fullUntilMs = performance.now() + FULL_MS;
  }

  /** Notes how full it is, and tells once when it is half full. */
  note(usage: number, log: Log): void {
    if (usage >= FULL) this.noteFull();
    else this.#fullUntilMs = -Infinity;
    const isHigh = usage >= HIGH;
    if (isHigh && !this.#isHigh) {
      log.warn("the server's queue of notifications fills up", {
        usage,
        effect: "once it is full, transactions that notify fail; from 90 % on work is found by polling",
        remedy:
          "end the session that listens and stands in a transaction: PostgreSQL's log has its pid, and " +
          "pg_stat_activity shows old transactions",
      });
    }
    this.#isHigh = isHigh;
  }
}
