import type { Claimed } from "../ports/store.ts";
import { ClaimedBytes } from "./_claimed_bytes.ts";
import { MeanDuration } from "./_mean_duration.ts";
import { Rate } from "./_rate.ts";

/** Where slots could make more starts a second than this, starts are recorded ahead: round trips would be the limit. */
const AHEAD_RATE_MIN = 2000;
/** How far ahead, in ms of that rate. So many starts a dying process may be charged for that it did not make. */
const AHEAD_MS = 2;
/** Or as a share of the queue's width, for so few more do not matter where so many run; so long as that takes few ms. */
const AHEAD_SHARE = 0.02;
const AHEAD_SHARE_MS = 50;

/** What a {@linkcode Pace} needs. */
export interface PaceOptions {
  /** How many jobs of the queue run at once. */
  readonly concurrency: number;
  /** For how long ahead jobs are claimed, in ms. */
  readonly prefetchMs: number;
  /** The most jobs that are claimed ahead. */
  readonly prefetchMax: number;
  /** The clock, in ms. Default `performance.now`. */
  readonly now?: () => number;
}

/** How fast a queue's jobs start, how long they run and how large they are; hence how far ahead its lane works. */
export class Pace {
  readonly #options: PaceOptions;
  readonly #now: () => number;
  readonly #rate: Rate;
  readonly #duration = new MeanDuration();
  readonly #bytes = new ClaimedBytes();
  #startedAt = -Infinity;

  /** Knows nothing yet. */
  constructor(options: PaceOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#rate = new Rate(this.#now);
  }

  /** A handler has begun. */
  started(at: number): void {
    this.#startedAt = at;
    this.#rate.add(1);
  }

  /** A handler has ended after so many ms. */
  ended(ms: number): void {
    this.#duration.note(ms);
  }

  /** Jobs were claimed. */
  claimed(jobs: readonly Claimed[]): void {
    this.#bytes.note(jobs);
  }

  /** Since when nothing has started, in ms. */
  get stillMs(): number {
    return this.#now() - this.#startedAt;
  }

  /** How many starts to have on record beyond the free slots. */
  get recordAhead(): number {
    const { concurrency } = this.#options;
    const rate = concurrency * 1000 / this.#duration.ms;
    const soon = Math.ceil(this.#rate.perSecond() * AHEAD_SHARE_MS / 1000);
    const share = Math.min(Math.floor(concurrency * AHEAD_SHARE), soon);
    return rate > AHEAD_RATE_MIN ? Math.max(share, Math.ceil(rate * AHEAD_MS / 1000)) : share;
  }

  /** How many jobs to claim where so many slots are free and so many jobs are held: 0 when there is enough at hand. */
  claimNow(free: number, held: number): number {
    const { prefetchMs, prefetchMax } = this.#options;
    // Claims are worth their price when they bring many, so a full hand is not topped up one by one.
    if (free <= held && held >= prefetchMax / 2) return 0;
    // Where nothing has started for so long the rate of before says nothing.
    const ahead = this.stillMs <= prefetchMs ? Math.floor(this.#rate.perSecond() * prefetchMs / 1000) : 0;
    const { most } = this.#bytes;
    const target = Math.min(prefetchMax, ahead, most);
    // What begins at once is as much as the queue is wide; but it comes in portions, or each would be there twice.
    return free > held || held < target / 2 ? Math.min(free + target - held, most) : 0;
  }
}
