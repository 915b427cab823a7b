/** A place in the order of one queue and priority: everything up to it has been claimed by someone. */
export interface Position {
  /** The `scheduled_at` of a job, as text that PostgreSQL reads. */
  readonly at: string;
  /** Its id. */
  readonly id: string;
}

/** A job and where it stands. */
export type Placed = Position & {
  /** 1 is first. */
  readonly priority: number;
};

/** One claim under way. */
export interface Scan {
  /** Where it begins, for priorities 1 to 4. */
  readonly from: readonly Position[];
  /** Says what it claimed, in order, and whether it got all that it asked for. */
  end(claimed: readonly Placed[], isFull: boolean): void;
}

/** One look under way for what is claimable behind the positions. */
export interface Look {
  /** Where it ends, for priorities 1 to 4. */
  readonly upTo: readonly Position[];
  /** Says which job it found first, of each priority. */
  end(found: readonly Placed[]): void;
}

/** The place before all others. */
export const START: Position = { at: "-infinity", id: "0" };
/** How many priorities there are. */
export const PRIORITIES = 4;

/** The bounds of the pause between two looks, in ms. */
const LOOK_INTERVAL_MS_MIN = 100;
const LOOK_INTERVAL_MS_MAX = 10_000;

/** A look may take this share of the time at most: it pauses for so many times what it took. */
const LOOK_PAUSE_FACTOR = 8;

/**
 * Remembers up to where one queue has been claimed, so that a claim does not walk again over rows that were claimed
 * before and that vacuum may not remove yet.
 *
 * Rows can appear behind the position: a transaction that committed late, a claim that was rolled back, a clock that
 * was set back. A look, which reads from the start and claims nothing, finds the first of them, and the next claim begins
 * there. It costs more the longer a snapshot is held elsewhere, so it is made at intervals, and beside the claims.
 *
 * A claim from such a place that came back full has not seen all of them, and the next one goes on from where it
 * ended: there may be many. What lies behind in the later priorities it has not reached; its turn comes after those.
 */
export class ClaimPositions {
  readonly #now: () => number;
  readonly #reached: Position[] = new Array(PRIORITIES).fill(START);
  /** Where something was left behind, if so. */
  readonly #behind: (Position | undefined)[] = new Array(PRIORITIES).fill(undefined);
  #begunAt: number | null = null;
  #nextLookAt = 0;
  #looking = false;
  #owed = false;

  /** Begins at the start. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Begins a claim, from where something was left behind, otherwise from where the last one ended. */
  begin(): Scan {
    this.#begunAt = this.#now();
    const behind = [...this.#behind];
    return {
      from: behind.map((place, line) => place ?? this.#reached[line]!),
      end: (claimed, isFull) => {
        this.#owed = true;
        const last = claimed.at(-1);
        behind.forEach((place, line) => {
          // What a look has found in the meantime is for the next claim.
          if (place === undefined || this.#behind[line] !== place) return;
          if (!isFull || last === undefined || line < last.priority - 1) this.#behind[line] = undefined;
          else if (line === last.priority - 1) {
            this.#behind[line] = isBefore(last, this.#reached[line]!)
              ? { at: last.at, id: last.id }
              : undefined;
          }
        });
        for (const { priority, at, id } of claimed) {
          if (isBefore(this.#reached[priority - 1]!, { at, id })) this.#reached[priority - 1] = { at, id };
        }
      },
    };
  }

  /** Begins a look, unless one is under way or the pause after the last one is not over. */
  beginLook(): Look | null {
    const begunAt = this.#now();
    if (this.#looking || begunAt < this.#nextLookAt) return null;
    this.#looking = true;
    this.#owed = false;
    return {
      upTo: [...this.#reached],
      end: (found) => {
        const endedAt = this.#now();
        const pause = LOOK_PAUSE_FACTOR * (endedAt - begunAt);
        this.#nextLookAt = endedAt + Math.min(Math.max(pause, LOOK_INTERVAL_MS_MIN), LOOK_INTERVAL_MS_MAX);
        this.#looking = false;
        for (const { priority, at, id } of found) {
          this.#behind[priority - 1] = { at, id: String(BigInt(id) - 1n) };
        }
      },
    };
  }

  /** How many ms ago the last claim began; 0 when there was none. */
  sinceBegunMs(): number {
    return this.#begunAt === null ? 0 : this.#now() - this.#begunAt;
  }

  /** In how many ms the queue should be claimed from because of what may lie behind; null when nothing may. */
  lookDueMs(): number | null {
    if (this.#behind.some((place) => place !== undefined)) return 0;
    // What it finds is for a claim after it, and until then a claim would find nothing new.
    if (this.#looking) return LOOK_INTERVAL_MS_MIN;
    return this.#owed ? Math.max(0, this.#nextLookAt - this.#now()) : null;
  }
}

/** Whether one place comes before another. The texts are of one form and one length, so they compare like the times that they are. */
export function isBefore(one: Position, other: Position): boolean {
  if (one === START) return true;
  if (one.at !== other.at) return one.at < other.at;
  return one.id.length !== other.id.length ? one.id.length < other.id.length : one.id < other.id;
}
