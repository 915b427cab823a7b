/** How far back the rate looks, in ms. */
const WINDOW_MS = 1000;
const BUCKETS = 10;
/** Below this much history a rate would be a guess, in ms. */
const HISTORY_MS_MIN = 20;

/** How many starts a second a queue has made lately. */
export class Rate {
  readonly #counts = new Float64Array(BUCKETS);
  readonly #now: () => number;
  #bucket = 0;
  #busySince: number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#busySince = now();
    this.#bucket = this.#bucketAt(this.#busySince);
  }

  /** Counts starts. */
  add(count: number): void {
    this.#roll();
    this.#counts[this.#bucket % BUCKETS]! += count;
  }

  /** Starts per second. A queue that was idle for the whole window begins anew. */
  perSecond(): number {
    this.#roll();
    const total = this.#counts.reduce((sum, count) => sum + count, 0);
    const spanMs = Math.min(WINDOW_MS, Math.max(HISTORY_MS_MIN, this.#now() - this.#busySince));
    return total * 1000 / spanMs;
  }

  #roll(): void {
    const now = this.#now();
    const bucket = this.#bucketAt(now);
    const passed = bucket - this.#bucket;
    if (passed >= BUCKETS) {
      this.#counts.fill(0);
      this.#busySince = now;
    } else {
      for (let step = 1; step <= passed; step++) this.#counts[(this.#bucket + step) % BUCKETS] = 0;
      if (passed > 0 && this.#counts.every((count) => count === 0)) this.#busySince = now;
    }
    this.#bucket = bucket;
  }

  #bucketAt(now: number): number {
    return Math.floor(now * BUCKETS / WINDOW_MS);
  }
}
