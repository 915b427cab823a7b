import { errorText } from "../ports/error_text.ts";
import { sqlStateOf } from "../ports/errors.ts";
import type { Log } from "../ports/log.ts";

const FIRST_MS = 1000;
const LONGEST_MS = 60_000;
/** Of those that go on being refused is told every so often, and of new ones after so long, in ms. */
const SAY_AGAIN_MS = 600_000;
const SAY_NEW_MS = 10_000;

interface Refusal {
  readonly error: unknown;
  readonly pauseMs: number;
  readonly dueAt: number;
}

/** Periodics whose ticks are refused, each tried again by itself after a pause that doubles from 1 s to 1 min. */
export class Refusals {
  readonly #log: Log;
  readonly #refused = new Map<string, Refusal>();
  #saidAt = -Infinity;

  /** Holds none yet. */
  constructor(log: Log) {
    this.#log = log;
  }

  /** What all of them together are, as one fault; null when there are none. */
  get fault(): Error | null {
    if (this.#refused.size === 0) return null;
    const first = [...this.#refused].slice(0, 10).map(([name, { error }]) => `${name}: ${errorText(error)}`);
    const more = this.#refused.size - first.length;
    return new Error(first.join("; ") + (more > 0 ? `; and ${more} more` : ""));
  }

  /** Whether it is too early to try one again. */
  waits(name: string): boolean {
    return (this.#refused.get(name)?.dueAt ?? -Infinity) > performance.now();
  }

  /** One was refused. */
  add(name: string, error: unknown): void {
    const before = this.#refused.get(name);
    const pauseMs = before === undefined ? FIRST_MS : Math.min(before.pauseMs * 2, LONGEST_MS);
    this.#refused.set(name, { error, pauseMs, dueAt: performance.now() + pauseMs });
    const now = performance.now();
    if (now - this.#saidAt < (before === undefined ? SAY_NEW_MS : SAY_AGAIN_MS)) return;
    this.#saidAt = now;
    this.#log.error("the tick of a periodic is refused, it is tried again and the others go on", {
      periodic: name,
      sqlState: sqlStateOf(error) ?? "none",
      inMs: pauseMs,
      refused: this.#refused.size,
      error: errorText(error),
    });
  }

  /** One is refused no more. */
  delete(name: string): void {
    this.#refused.delete(name);
  }

  /** Forgets all of them: others look after them now. */
  clear(): void {
    this.#refused.clear();
  }
}
