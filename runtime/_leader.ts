import type { Log } from "../ports/log.ts";
import type { Store } from "../ports/store.ts";
import type { Upkeep } from "../ports/upkeep.ts";
import { Ticker } from "./_ticker.ts";

/** How often one who does not lead tries to, as a part of the lease. */
const TRY_PART = 1 / 15;
/** How often the leader renews, as a part of the lease. */
const RENEW_PART = 1 / 3;

/** What a {@linkcode Leader} needs. */
export interface LeaderOptions {
  /** Where the lease is kept. */
  readonly store: Store;
  /** The present id of this process. */
  readonly owner: () => string;
  /** How long the lease lasts, in ms. */
  readonly leaseMs: number;
  /** This process has begun to lead. */
  readonly onLeading: () => void;
  /** Where it is recorded whether the lease can be asked for. */
  readonly upkeep: Upkeep;
  /** For what goes wrong. */
  readonly log: Log;
}

/**
 * Keeps the lease of the leader: one process of the fleet, who enqueues the periodics and purges what is old.
 *
 *     follower -- lease free or run out --> leader -- stop --> resigned, the next one leads at once
 *        ^                                    |
 *        +--- lease lost, or not renewed -----+
 *
 * Authoritative is the lease row, on the store's clock. Leading is only a reason to try: every step that a leader makes
 * is conditional by itself, so two processes that both believe they lead do no harm.
 */
export class Leader {
  readonly #options: LeaderOptions;
  readonly #tries: Ticker;
  #until = -Infinity;

  constructor(options: LeaderOptions) {
    this.#options = options;
    const asking = options.upkeep.task("ask for the lease", {
      everyMs: options.leaseMs,
      scope: "process",
      failing: "lease of the leader not asked for, trying again",
    });
    this.#tries = new Ticker({
      everyMs: Math.max(1, options.leaseMs * TRY_PART),
      run: () => asking.run(() => this.#try()),
    });
  }

  /** Whether this process may believe that it leads. It stops believing before the lease is over. */
  get leading(): boolean {
    return performance.now() < this.#until;
  }

  /** Begins to try. */
  start(): void {
    this.#tries.start();
  }

  /** The store answers again, after it did not. */
  retry(): void {
    this.#tries.retry();
  }

  /** Resigns, so that the next one need not wait for the lease to run out. */
  async stop(): Promise<void> {
    await this.#tries.stop();
    if (this.leading) await this.#options.store.resign(this.#options.owner());
    this.#until = -Infinity;
  }

  async #try(): Promise<void> {
    const { store, owner, leaseMs, onLeading, log } = this.#options;
    const renewAt = this.#until - leaseMs * (1 - RENEW_PART);
    if (this.leading && performance.now() < renewAt) return;
    const asked = performance.now();
    const was = this.leading;
    const leads = await store.lead(owner(), leaseMs);
    this.#until = leads ? asked + leaseMs : -Infinity;
    if (leads && !was) {
      log.info("leading", { owner: owner() });
      onLeading();
    } else if (!leads && was) {
      log.warn("no longer leading", { owner: owner() });
    }
  }
}
