import { errorText } from "../ports/error_text.ts";
import type { Log } from "../ports/log.ts";
import type { Store } from "../ports/store.ts";
import type { Upkeep, UpkeepTask } from "../ports/upkeep.ts";
import { DeclaredKinds } from "./_declared_kinds.ts";
import { Leader } from "./_leader.ts";
import type { TickTaker } from "./_tick_taker.ts";
import { Ticker } from "./_ticker.ts";
import { UnworkedQueues } from "./_unworked_queues.ts";
import type { Settings } from "./settings.ts";

/** The most rows that one step of retention deletes. */
const PURGE_STEP = 1000;

/** After so long a purge that still finds jobs has gone well, in ms: it must not look overdue. */
const PURGE_RUN_MS = 30_000;

/** What {@linkcode LeaderDuties} need. */
export interface LeaderDutiesOptions {
  /** Keeps the jobs. */
  readonly store: Store;
  /** The present id of this process. */
  readonly owner: () => string;
  /** Enqueues by the clock. */
  readonly tickTaker: TickTaker;
  /** There is something to claim in a queue. */
  readonly onReady: (queue: string) => void;
  /** Where it is recorded how the duties go. */
  readonly upkeep: Upkeep;
  /** Times and sizes. */
  readonly settings: Settings;
  /** For people. */
  readonly log: Log;
}

/**
 * What one process does for all while it leads: takes ticks, purges, and renews what is stored of kinds.
 *
 *     new --start()--> follows <--lease--> leads --stop()--> resigned
 */
export class LeaderDuties {
  readonly #options: LeaderDutiesOptions;
  readonly #leader: Leader;
  readonly #ticks: Ticker;
  readonly #purges: Ticker;
  readonly #kinds: Ticker;
  readonly #ticking: UpkeepTask;
  readonly #purging: UpkeepTask;
  readonly #renewing: UpkeepTask;
  readonly #declaredKinds: DeclaredKinds;
  readonly #unworked: UnworkedQueues;
  #stopping = false;

  /** Does nothing yet. */
  constructor(options: LeaderDutiesOptions) {
    this.#options = options;
    const { store, owner, upkeep, settings, log } = options;
    this.#leader = new Leader({
      store,
      owner,
      leaseMs: settings.leaseMs,
      onLeading: () => {
        this.#lookAtPeriodics();
        this.#purges.wake();
      },
      upkeep,
      log,
    });
    this.#ticking = upkeep.task("take ticks", {
      everyMs: settings.pollMs,
      failing: "periodics not looked at, trying again",
    });
    this.#purging = upkeep.task("purge jobs", {
      everyMs: settings.purgeMs,
      failing: "ended jobs not purged, trying again",
    });
    this.#renewing = upkeep.task("renew kinds", {
      everyMs: settings.heartbeatMs,
      failing: "what processes declare of kinds not compared, trying again",
    });
    this.#declaredKinds = new DeclaredKinds(store, log);
    this.#unworked = new UnworkedQueues(store, log);
    this.#ticks = new Ticker({ everyMs: settings.pollMs, run: () => this.#tick() });
    this.#purges = new Ticker({ everyMs: settings.purgeMs, run: () => this.#purge() });
    this.#kinds = new Ticker({ everyMs: settings.heartbeatMs, run: () => this.renewKinds() });
  }

  /** Begins, and tries to lead. */
  start(): void {
    this.#leader.start();
    for (const ticker of this.#tickers) ticker.start();
  }

  /** The store answers again, after it did not. */
  retry(): void {
    this.#leader.retry();
    for (const ticker of this.#tickers) ticker.retry();
  }

  /** Other processes are on the record. */
  fleetChanged(): void {
    this.#lookAtPeriodics();
    this.#kinds.wake();
  }

  /** Ends after what is under way, and resigns. Idempotent. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all([...this.#tickers.map((ticker) => ticker.stop()), this.#resign()]);
  }

  /** Compares what processes declare of kinds with what is stored: the leader each time, the others once. */
  async renewKinds(): Promise<void> {
    if (!this.#leader.leading && this.#declaredKinds.hasCompared) return;
    await this.#renewing.run(() => this.#declaredKinds.renew());
  }

  get #tickers(): readonly Ticker[] {
    return [this.#ticks, this.#purges, this.#kinds];
  }

  async #resign(): Promise<void> {
    await this.#leader.stop().catch((error) => {
      this.#options.log.warn("not resigned, the lease will run out", { error: errorText(error) });
    });
  }

  /** Other processes are on the record, or this one leads now. */
  #lookAtPeriodics(): void {
    this.#options.tickTaker.lookAnew();
    this.#ticks.wake();
  }

  async #tick(): Promise<number | void> {
    if (!this.#leader.leading) return;
    try {
      const { queues, nextMs, fault } = await this.#options.tickTaker.takeDue();
      for (const queue of queues) this.#options.onReady(queue);
      if (fault === null) this.#ticking.succeeded();
      else this.#ticking.failed(fault, { told: true });
      return nextMs ?? undefined;
    } catch (error) {
      this.#ticking.failed(error);
      throw error;
    }
  }

  async #purge(): Promise<void> {
    if (this.#leader.leading) await this.#unworked.look();
    const { store, settings } = this.#options;
    const { retentionCompletedMs, retentionOthersMs } = settings;
    const step = { completedMs: retentionCompletedMs, othersMs: retentionOthersMs, limit: PURGE_STEP };
    let isMore = true;
    const isGoing = () => isMore && this.#leader.leading && !this.#stopping;
    while (isGoing()) {
      // Many steps make one success or failure: what can't be deleted is told of after the last one.
      await this.#purging.run(async () => {
        const until = performance.now() + PURGE_RUN_MS;
        do isMore = await store.purge(step) > 0; while (isGoing() && performance.now() < until);
      });
    }
  }
}
