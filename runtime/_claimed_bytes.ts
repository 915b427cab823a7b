import type { Claimed } from "../ports/store.ts";

/** How large the args may be in all that one claim brings, and that are claimed ahead, in bytes. */
const BYTES_MAX = 16 * 1024 * 1024;
/** Until a claim has told, a job's args are taken to be so large, in bytes. */
const BYTES_FIRST = 64 * 1024;
/** How much of a claim with smaller args is believed. */
const WEIGHT = 0.2;

/** Learns how large the args of a queue's jobs are, to bound what is claimed. */
export class ClaimedBytes {
  #mean = BYTES_FIRST;

  /** How many jobs may be claimed at once, and be held ahead; at least 1. */
  get most(): number {
    return Math.max(1, Math.floor(BYTES_MAX / this.#mean));
  }

  /** Notes what was claimed. Larger args count at once, smaller ones gradually. */
  note(jobs: readonly Claimed[]): void {
    if (jobs.length === 0) return;
    const mean = jobs.reduce((sum, { args }) => sum + args.length, 0) / jobs.length;
    this.#mean = Math.max(mean, this.#mean + WEIGHT * (mean - this.#mean), 1);
  }
}
