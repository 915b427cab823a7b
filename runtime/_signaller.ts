import { errorText } from "../ports/error_text.ts";
import type { Log } from "../ports/log.ts";
import type { Signal, Store } from "../ports/store.ts";
import type { Timer } from "./_timer.ts";

const INTERVAL_MS = 5;
const RETRY_MS = 1000;
/** Signals are hints, so past this many the oldest give way. */
const PENDING_MAX = 10_000;
/** How many statements may follow each other at once after a pause: a wake-up need not wait because of a wait(). */
const BURST = 3;

/**
 * Sends signals, on average at most one statement per 5 ms: a NOTIFY takes a lock at its commit that all enqueuers
 * share. Equal signals are sent once. What could not be sent is sent again while the process lives.
 */
export class Signaller {
  readonly #store: Store;
  readonly #intervalMs: number;
  readonly #log: Log;
  readonly #pending = new Map<string, Signal>();
  /** When what was sent will have had an interval for each statement. */
  #paidAt = -Infinity;
  #timer: Timer | undefined;
  #flight: Promise<void> | undefined;

  constructor(store: Store, log: Log, intervalMs: number = INTERVAL_MS) {
    this.#store = store;
    this.#intervalMs = intervalMs;
    this.#log = log;
  }

  /** Sends a signal: at once when none was sent lately, otherwise with the next. */
  send(signal: Signal): void {
    if (this.#pending.size >= PENDING_MAX) this.#pending.delete(this.#pending.keys().next().value!);
    const key = keyOf(signal);
    // Of a pause and a resume of one queue the last one counts, and comes last.
    this.#pending.delete(key);
    this.#pending.set(key, signal);
    this.#schedule(this.#inMs());
  }

  /** Whether a signal may be sent now. If so it counts as sent: whoever asks sends it by another way. */
  take(): boolean {
    if (this.#pending.size > 0 || this.#flight !== undefined) return false;
    if (this.#inMs() > 0) return false;
    this.#count();
    return true;
  }

  /** Sends what is pending, once. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    while (this.#flight !== undefined) await this.#flight;
    clearTimeout(this.#timer);
    if (this.#pending.size > 0) await this.#send();
    clearTimeout(this.#timer);
  }

  /** In how many ms the next statement may be sent; 0 or less is now. */
  #inMs(): number {
    return this.#paidAt - (BURST - 1) * this.#intervalMs - performance.now();
  }

  #count(): void {
    this.#paidAt = Math.max(this.#paidAt, performance.now()) + this.#intervalMs;
  }

  #schedule(inMs: number): void {
    if (this.#timer !== undefined || this.#flight !== undefined) return;
    if (inMs <= 0) return this.#fly();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#fly();
    }, inMs);
  }

  #fly(): void {
    this.#flight = this.#send().then((pauseMs) => {
      this.#flight = undefined;
      if (this.#pending.size > 0) this.#schedule(pauseMs);
    });
  }

  /** Resolves to the pause before the next one, in ms. */
  async #send(): Promise<number> {
    const batch = [...this.#pending];
    this.#pending.clear();
    this.#count();
    try {
      await this.#store.signal(batch.map(([, signal]) => signal));
      return this.#inMs();
    } catch (error) {
      this.#log.debug("signals not sent, trying again", { error: errorText(error) });
      for (const [key, signal] of batch) if (!this.#pending.has(key)) this.#pending.set(key, signal);
      return RETRY_MS;
    }
  }
}

function keyOf(signal: Signal): string {
  switch (signal.type) {
    case "pause":
    case "resume":
      return `pause ${signal.queue}`;
    case "ready":
      return `ready ${signal.queue}`;
    case "aside":
      return `aside ${JSON.stringify([signal.queue, signal.kind])}`;
    default:
      return `${signal.type} ${signal.id}`;
  }
}
