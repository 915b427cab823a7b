/** A sweep from the start pauses so many times as long as it took, and at most a day. */
const LOOK_PAUSE = 20;
const LOOK_MS_MAX = 24 * 60 * 60_000;

/** One sweep under way. */
export interface Sweep {
  /** The place after which it begins; null for the start. */
  readonly after: string | null;
  /** It has come up to a place, which included. */
  reached(place: string): void;
  /** The sweep has ended, whether it came to the end or not. */
  end(): void;
}

/**
 * Where a sweep begins that deletes old rows in their order again and again. Deleted rows stay in an index until vacuum may
 * remove them, and while any transaction on the server is old, it may not: from the start each sweep would walk over all that
 * the ones before have deleted. So one goes on where the last one ended.
 *
 * What it left behind, because it was held or not due, is found by one that begins at the start, now and then: the longer
 * that takes, the more seldom. One that fails half-way is gone on with from there, or it would be all that is tried.
 */
export class SweepPosition {
  readonly #now: () => number;
  #after: string | null = null;
  #lookAt = -Infinity;

  /** Begins at the start. `now` is its clock, in ms: `performance.now` by default. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Begins a sweep. */
  begin(): Sweep {
    const begunAt = this.#now();
    const isLook = begunAt >= this.#lookAt;
    // Sweeps that begin meanwhile need not start over as well.
    if (isLook) this.#lookAt = begunAt + LOOK_MS_MAX;
    return {
      after: isLook ? null : this.#after,
      reached: (place) => {
        this.#after = place;
      },
      end: () => {
        const endedAt = this.#now();
        if (isLook) this.#lookAt = endedAt + Math.min((endedAt - begunAt) * LOOK_PAUSE, LOOK_MS_MAX);
      },
    };
  }
}
