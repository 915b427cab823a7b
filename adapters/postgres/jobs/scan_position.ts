/** The bounds of the pause between two looks from the start, in ms, and how many times as long as a look takes it is. */
const LOOK_MS_MIN = 1000;
const LOOK_MS_MAX = 10 * 60_000;
const LOOK_PAUSE = 20;

/** Where a scan begins. */
export interface ScanStart {
  /** Whether it is a look: it begins at the start of each line. */
  readonly isLook: boolean;
  /** Behind these places, one for each line; null from the start. */
  readonly from: readonly (string | null)[];
  /**
   * Says up to where each line was worked off, as texts that compare as their places do; null where nothing was. `isAll`:
   * nothing lies behind.
   */
  end(reached: readonly (string | null)[], isAll: boolean): void;
}

/**
 * Remembers how far lines of rows have been worked off that are deleted in their order. Deleted rows stay in an index until
 * vacuum may remove them, and while any transaction on the server is old, it may not: a scan from the start would walk
 * over all of them each time.
 *
 * What lies behind is what was committed late, or was locked when its turn came. A look from the start finds it, now and
 * then: the longer it takes, the more seldom. The scans after a look go on from it until all is worked off, and no other look
 * begins before that: rows at the start that can't be deleted, however many, keep none behind them from being found.
 */
export class ScanPosition {
  readonly #now: () => number;
  #reached: (string | null)[];
  /** Where the scans were before the last look: when all is worked off, it takes no place back. */
  #before: readonly (string | null)[];
  #isAll = true;
  #lookAt = 0;

  /** Begins at the start of so many lines. */
  constructor(lines: number, now: () => number = () => performance.now()) {
    this.#now = now;
    this.#reached = new Array(lines).fill(null);
    this.#before = this.#reached;
  }

  /** Begins a scan. One whose end is never told has failed: the next one goes on from where the last one ended. */
  begin(): ScanStart {
    const begunAt = this.#now();
    const isLook = this.#isAll && begunAt >= this.#lookAt;
    // A look that fails must not be all that is tried.
    if (isLook) this.#lookAt = begunAt + LOOK_MS_MAX;
    const from = isLook ? this.#reached.map(() => null) : [...this.#reached];
    return {
      isLook,
      from,
      end: (reached, isAll) => {
        const endedAt = this.#now();
        if (isLook) {
          const pauseMs = (endedAt - begunAt) * LOOK_PAUSE;
          this.#lookAt = endedAt + Math.min(Math.max(pauseMs, LOOK_MS_MIN), LOOK_MS_MAX);
          this.#before = this.#reached;
        }
        this.#isAll = isAll;
        this.#reached = from.map((place, line) => {
          const next = reached[line] ?? place;
          return isAll ? later(next, this.#before[line] ?? null) : next;
        });
      },
    };
  }
}

function later(one: string | null, other: string | null): string | null {
  return one === null || (other !== null && other > one) ? other : one;
}
