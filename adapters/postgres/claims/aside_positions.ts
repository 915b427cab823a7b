import { isBefore, type Placed, type Position, PRIORITIES, START } from "./claim_positions.ts";

/** How far a claim looks back that follows one which found all, in ms: what is put aside is visible at its commit only. */
const BACK_MS = 10_000;

/** One claim of jobs that lie aside. */
export interface AsideScan {
  /** Where it begins, for priorities 1 to 4. */
  readonly from: readonly Position[];
  /** By how many ms before that. */
  readonly backMs: number;
  /** Says what it claimed of them, in order, and whether the claim got all that it asked for. */
  end(claimed: readonly Placed[], isFull: boolean): void;
}

/**
 * Remembers up to where the jobs of one kind that lie aside have been claimed, so that a backlog of them is walked over
 * once. What lies further back than a claim looks is found with the next heartbeat, which begins at the start.
 */
export class AsidePositions {
  readonly #reached: Position[] = new Array(PRIORITIES).fill(START);
  /** Whether the last claim left some. */
  #isDraining = false;
  #resets = 0;

  /** Begins a claim. */
  begin(): AsideScan {
    const backMs = this.#isDraining ? 0 : BACK_MS;
    const resets = this.#resets;
    return {
      from: this.#reached.map(({ at, id }) => ({ at, id: this.#isDraining ? id : "0" })),
      backMs,
      end: (claimed, isFull) => {
        this.#isDraining = isFull;
        if (resets !== this.#resets) return;
        for (const { priority, at, id } of claimed) {
          if (isBefore(this.#reached[priority - 1]!, { at, id })) this.#reached[priority - 1] = { at, id };
        }
      },
    };
  }

  /** The next claim begins at the start. */
  reset(): void {
    this.#reached.fill(START);
    this.#resets++;
  }
}
