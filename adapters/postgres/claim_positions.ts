/** A place in the order of one queue and priority: everything up to it has been claimed by someone. */
export interface Position {
  /** The `scheduled_at` of the last job that was claimed, as text that PostgreSQL reads. */
  readonly at: string;
  /** Its id. */
  readonly id: string;
}

/** One claim under way. */
export interface Scan {
  /** Where it begins, for priorities 1 to 4. */
  readonly from: readonly Position[];
  /** Says what it claimed, in order, and whether it got all that it asked for. */
  end(claimed: readonly ({ readonly priority: number } & Position)[], isFull: boolean): void;
}

const START: Position = { at: "-infinity", id: "0" };
const PRIORITIES = 4;

/** The bounds of the pause between two looks from the start, in ms. */
const LOOK_INTERVAL_MS_MIN = 100;
const LOOK_INTERVAL_MS_MAX = 10_000;

/** A look may take this share of the time at most: it pauses for so many times what it took. */
const LOOK_PAUSE_FACTOR = 20;

/**
 * Remembers up to where one queue has been claimed, so that a claim does not walk again over rows that were claimed
 * before and that vacuum may not remove yet.
 *
 * Rows can appear behind the position: a transaction that committed late, a claim that was rolled back, a clock that
 * was set back. A look from the start finds them. It costs more the longer a snapshot is held elsewhere, so it is
 * made at intervals.
 *
 * A look that came back full has not seen all of them, and the next claims go on from where it ended: there may be
 * many. What lies behind the positions of the later priorities it has not reached; its turn comes after those.
 */
export class ClaimPositions {
  readonly #now: () => number;
  #positions: Position[] = new Array(PRIORITIES).fill(START);
  #begunAt: number | null = null;
  #nextLookAt = 0;
  #owed = true;

  /** Begins at the start. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Begins a claim: from the start when a look is due, otherwise from where the last one ended. */
  begin(): Scan {
    const begunAt = this.#begunAt = this.#now();
    const isLook = begunAt >= this.#nextLookAt;
    const from = isLook ? new Array<Position>(PRIORITIES).fill(START) : this.#positions;
    return {
      from,
      end: (claimed, isFull) => {
        const positions = [...this.#positions];
        for (const { priority, at, id } of claimed) {
          if (isBefore(positions[priority - 1]!, { at, id })) positions[priority - 1] = { at, id };
        }
        const last = claimed.at(-1);
        if (isLook && isFull && last !== undefined) {
          positions[last.priority - 1] = { at: last.at, id: last.id };
        }
        this.#positions = positions;
        const endedAt = this.#now();
        if (isLook) {
          const pause = LOOK_PAUSE_FACTOR * (endedAt - begunAt);
          this.#nextLookAt = endedAt + Math.min(Math.max(pause, LOOK_INTERVAL_MS_MIN), LOOK_INTERVAL_MS_MAX);
        }
        this.#owed = !isLook || isFull;
      },
    };
  }

  /** How many ms ago the last claim began; 0 when there was none. */
  sinceBegunMs(): number {
    return this.#begunAt === null ? 0 : this.#now() - this.#begunAt;
  }

  /** In how many ms a look from the start is due, when one is owed since the last; null when none is. */
  lookDueMs(): number | null {
    return this.#owed ? Math.max(0, this.#nextLookAt - this.#now()) : null;
  }
}

/** The texts are of one form and one length, so they compare like the times that they are. */
function isBefore(one: Position, other: Position): boolean {
  if (one === START) return true;
  if (one.at !== other.at) return one.at < other.at;
  return one.id.length !== other.id.length ? one.id.length < other.id.length : one.id < other.id;
}
