import type { Composition } from "../ports/composition.ts";
import type { ChannelSubscription, Database } from "../ports/database.ts";
import { errorText } from "../ports/error_text.ts";
import type { Jobs } from "../ports/jobs.ts";
import type { Log } from "../ports/log.ts";
import type { Upkeep, UpkeepTask } from "../ports/upkeep.ts";
import { silentLog } from "../shared/log.ts";
import { Pause } from "../shared/pause.ts";
import { AwakeMark } from "./_awake.ts";
import { ClaimPosition } from "./_claim_position.ts";
import { backoffMs } from "./_failures.ts";
import { Turn } from "./_in_order.ts";
import { pass, type PassResult } from "./_pass.ts";
import { OUTBOX_CHANNEL } from "./_schema.ts";
import { Subscribers } from "./_subscribers.ts";
import { SubscriptionSet } from "./_subscription_set.ts";
import type { EventSettings } from "./settings.ts";

/** A relay counts as gone when it has not renewed itself for a sweep; it does so four times as often. */
const RENEW_PART = 1 / 4;

/** How many passes are under way at once while there is a backlog. */
const PASSES_MAX = 2;

/** What a {@linkcode Relay} needs. */
export interface RelayOptions {
  /** Where the outbox is. */
  readonly database: Database;
  /** The queue. */
  readonly jobs: Jobs;
  /** The subscriptions. */
  readonly composition: Composition;
  /** Times. */
  readonly settings: EventSettings;
  /** Called after every batch that was fanned out. */
  readonly onFanout: () => void;
  /** Where it is recorded how its passes go. */
  readonly upkeep: Upkeep;
  /** For people. Default silent. */
  readonly log?: Log;
}

/**
 * Fans out what is recorded: a loop in every process, woken by notifications, by a sweep, and by what it found itself.
 * Every pass is one transaction that claims, enqueues and marks, so any number of relays fan an event out once.
 *
 *     asleep -- notified, sweep --> pass -- full batch --> pass ...
 *        ^                           |  \-- failed --> backs off --> pass
 *        +------- found nothing -----+
 */
export class Relay {
  readonly #options: RelayOptions;
  readonly #log: Log;
  readonly #set: SubscriptionSet;
  readonly #awake: AwakeMark;
  readonly #passing: UpkeepTask;
  readonly #position: ClaimPosition = new ClaimPosition();
  readonly #subscribers: Subscribers;
  readonly #turn: Turn;
  #subscription: ChannelSubscription | undefined;
  #loop: Promise<void> | undefined;
  #starting: Promise<void> | undefined;
  #ending: Promise<void> | undefined;
  #stopping = false;
  #woken = false;
  readonly #pause = new Pause();
  /** Whether the pause is a rest after a failure. */
  #resting = false;
  #renewAt = -Infinity;
  #isFull = false;

  constructor(options: RelayOptions) {
    const { database, composition, settings } = options;
    this.#options = options;
    this.#log = options.log ?? silentLog;
    const owner = crypto.randomUUID();
    const subscriptions = [...composition.subscriptions.values()];
    this.#set = new SubscriptionSet({
      database,
      subscriptions,
      owner,
      goneMs: settings.sweepMs,
      log: this.#log,
    });
    this.#awake = new AwakeMark(database, owner);
    this.#passing = options.upkeep.task("relay events", {
      everyMs: settings.sweepMs,
      scope: "process",
      failing: "events not fanned out, trying again",
    });
    this.#subscribers = new Subscribers(subscriptions);
    this.#turn = new Turn(this.#subscribers);
  }

  /**
   * Publishes the set of subscriptions, begins to listen, and begins. A second call is the same start; after a stop it
   * does nothing.
   */
  start(): Promise<void> {
    return this.#starting ??= this.#start();
  }

  /** Ends after the present pass, or after a start under way. Idempotent. */
  stop(): Promise<void> {
    return this.#ending ??= this.#stop();
  }

  async #start(): Promise<void> {
    if (this.#stopping) return;
    await this.#renew();
    this.#subscription = await this.#options.database.listen(OUTBOX_CHANNEL, {
      message: (payload) => {
        this.#awake.count(1);
        // Someone else's relay has left: perhaps it is this one's turn.
        if (payload === "left") this.#renewAt = -Infinity;
        this.#wakeUp();
      },
      ready: () => this.#wakeUp(true),
    });
    if (!this.#stopping) this.#loop = this.#repeat();
  }

  async #stop(): Promise<void> {
    this.#stopping = true;
    this.#wakeUp();
    // Its caller is told when it fails.
    await this.#starting?.catch(() => {});
    await this.#loop;
    if (this.#subscription === undefined) return;
    await this.#subscription.close();
    await this.#set.leave().catch((error) => {
      this.#log.debug("relay not taken off the record, that happens by itself", { error: errorText(error) });
    });
  }

  /** `again`: the database answers again, or there was a gap. */
  #wakeUp(again = false): void {
    this.#woken = true;
    if (again || this.#stopping || !this.#resting) this.#pause.end();
  }

  async #repeat(): Promise<void> {
    let failures = 0;
    while (!this.#stopping) {
      this.#woken = false;
      this.#resting = false;
      try {
        const pauseMs = await this.#passing.run(() => this.#step());
        failures = 0;
        if (!this.#woken && pauseMs > 0) await this.#pause.for(pauseMs);
      } catch {
        failures++;
        // Whatever arrives meanwhile would meet the same trouble.
        this.#resting = true;
        if (!this.#stopping) await this.#pause.for(backoffMs(failures, this.#options.settings));
      }
    }
  }

  /** One pass. Resolves to the longest pause until the next, in ms. */
  async #step(): Promise<number> {
    const { settings } = this.#options;
    if (performance.now() >= this.#renewAt) await this.#renew();
    const version = this.#set.version;
    const restMs = this.#subscription?.listening === false
      ? Math.min(settings.pollMs, settings.sweepMs)
      : settings.sweepMs;
    const idleMs = Math.min(restMs, Math.max(1, this.#renewAt - performance.now()));
    if (version === null) return idleMs;
    // While one waits for the database the other one works here; but not for its turn.
    const count = this.#isFull && !this.#turn.isLikely ? PASSES_MAX : 1;
    const passes = Array.from({ length: count }, () => this.#pass(version));
    const results = (await Promise.allSettled(passes)).map((each) => {
      if (each.status === "rejected") throw each.reason;
      return each.value;
    });
    const claimed = results.reduce((sum, each) => sum + each.claimed, 0);
    const isLook = results.some((each) => each.isLook);
    const againMs = results.reduce((least, each) => Math.min(least, each.againMs ?? Infinity), Infinity);
    this.#isFull = results.some((each) => each.isFull);
    if (claimed > 0) this.#options.onFanout();
    this.#awake.count(claimed);
    const awakeMs = await this.#awake.note();
    if (this.#isFull) return 0;
    const pauses = [idleMs, awakeMs ?? idleMs, againMs];
    // Only a look from the start can say that nothing is left.
    if (claimed > 0 || !isLook) pauses.push(this.#position.lookDueMs);
    return Math.min(...pauses);
  }

  #pass(version: string): Promise<PassResult> {
    return pass({
      ...this.#options,
      version,
      subscribers: this.#subscribers,
      position: this.#position,
      turn: this.#turn,
      isStopping: () => this.#stopping,
      log: this.#log,
    });
  }

  async #renew(): Promise<void> {
    this.#renewAt = performance.now() + this.#options.settings.sweepMs * RENEW_PART;
    await this.#set.renew();
  }
}
