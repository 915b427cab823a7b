/** The place before all events. */
export const START = "-1";

const LOOK_MS_MIN = 100;
const LOOK_MS_MAX = 10_000;
/** A look from the start pauses this many times as long as it took. */
const LOOK_PAUSE = 20;

/**
 * Where the next claim begins: a hint, never a cursor. Rows that were fanned out stay in the index until vacuum may
 * remove them, and a claim from the start walks over all of them. What lies behind the hint (a transaction that committed
 * late, an event that is tried again) is found by a look from the start, at bounded intervals.
 */
export class ClaimPosition {
  #after = START;
  #lookAt = -Infinity;

  /** After which place to claim now. */
  next(): { readonly after: string; readonly isLook: boolean } {
    if (performance.now() < this.#lookAt) return { after: this.#after, isLook: false };
    // Who asks while this look is under way need not look too.
    this.#lookAt = performance.now() + LOOK_MS_MIN;
    return { after: START, isLook: true };
  }

  /** In how many ms a look from the start is due. */
  get lookDueMs(): number {
    return Math.max(0, this.#lookAt - performance.now());
  }

  /** Notes how a claim went. */
  note(isLook: boolean, tookMs: number, lastSeq: string | undefined): void {
    if (isLook) {
      const pauseMs = Math.min(Math.max(tookMs * LOOK_PAUSE, LOOK_MS_MIN), LOOK_MS_MAX);
      this.#lookAt = performance.now() + pauseMs;
    }
    if (lastSeq !== undefined && BigInt(lastSeq) > BigInt(this.#after)) this.#after = lastSeq;
  }
}
