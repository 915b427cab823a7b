/** How often it tells at most, in ms: where only some connections fail it would tell at every statement. */
const TELL_MS_MIN = 1000;

/**
 * Whether the database answers. All connections of a store report here how their statements end. Anything that pauses
 * because of failures is told when a statement succeeds again, so that it need not guess when an outage is over.
 */
export class Contact {
  readonly #now: () => number;
  readonly #observers: Set<() => void> = new Set();
  #isLost = false;
  #toldAt = -Infinity;

  /** All is well at first. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** A connection could not be made, or broke. */
  failed(): void {
    this.#isLost = true;
  }

  /** A statement was answered. */
  answered(): void {
    if (!this.#isLost) return;
    const now = this.#now();
    if (now - this.#toldAt < TELL_MS_MIN) return;
    this.#toldAt = now;
    this.#isLost = false;
    for (const observer of [...this.#observers]) {
      try {
        observer();
      } catch {
        // The statement has succeeded, whatever its news makes others do.
      }
    }
  }

  /** Has a function called when the database answers again. Returns what ends that. */
  onAnswer(observer: () => void): () => void {
    // Of its own, for the same function may be given twice.
    const own = () => observer();
    this.#observers.add(own);
    return () => this.#observers.delete(own);
  }
}
