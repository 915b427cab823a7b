/** The bounds of the pause between two looks from the start, in ms, and how many times as long as a look takes it is. */
const LOOK_MS_MIN = 1000;
const LOOK_MS_MAX = 10 * 60_000;
const LOOK_PAUSE = 20;

/** Where a scan begins. */
export interface ScanStart {
  /** From these places on, one for each line; null from the start. */
  readonly from: readonly (string | null)[];
  /** Says up to where each line was worked off, as texts that compare as their places do; null where nothing was. */
  end(reached: readonly (string | null)[]): void;
}

/**
 * Remembers how far lines of rows have been worked off that are deleted in their order. Deleted rows stay in an index until
 * vacuum may remove them, and while any transaction on the server is old, it may not: a scan from the start would walk
 * over all of them each time.
 *
 * What lies behind is what was committed late, or was locked when its turn came. A look from the start finds it, now and
 * then: the longer it takes, the more seldom.
 */
export class ScanPosition {
  readonly #now: () => number;
  #reached: (string | null)[];
  #lookAt = 0;

  /** Begins at the start of so many lines. */
  constructor(lines: number, now: () => number = () => performance.now()) {
    this.#now = now;
    this.#reached = new Array(lines).fill(null);
  }

  /** Begins a scan. One whose end is never told has failed: the next one goes on from where the last one ended. */
  begin(): ScanStart {
    const begunAt = this.#now();
    const isLook = begunAt >= this.#lookAt;
    // A look that fails must not be all that is tried.
    if (isLook) this.#lookAt = begunAt + LOOK_MS_MAX;
    return {
      from: isLook ? this.#reached.map(() => null) : [...this.#reached],
      end: (reached) => {
        const endedAt = this.#now();
        if (isLook) {
          const pauseMs = (endedAt - begunAt) * LOOK_PAUSE;
          this.#lookAt = endedAt + Math.min(Math.max(pauseMs, LOOK_MS_MIN), LOOK_MS_MAX);
        }
        this.#reached = this.#reached.map((place, line) => {
          const next = reached[line] ?? null;
          return next !== null && (place === null || next > place) ? next : place;
        });
      },
    };
  }
}
