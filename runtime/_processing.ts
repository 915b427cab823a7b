import type { Composition } from "../ports/composition.ts";
import { errorText } from "../ports/error_text.ts";
import type { Executor } from "../ports/executor.ts";
import { isFinal, type JobId } from "../ports/job.ts";
import type { Log } from "../ports/log.ts";
import type { DeclaredPeriodic, Requests, Signal, Store } from "../ports/store.ts";
import type { Upkeep } from "../ports/upkeep.ts";
import { declaredOf } from "./_declared_of.ts";
import { Heart } from "./_heart.ts";
import { Hints } from "./_hints.ts";
import { Lane } from "./_lane.ts";
import { LeaderDuties } from "./_leader_duties.ts";
import { Progress } from "./_progress.ts";
import { type Settled, Settler } from "./_settler.ts";
import type { Signaller } from "./_signaller.ts";
import type { StopDeadline } from "./_stop_deadline.ts";
import { Suspects } from "./_suspects.ts";
import type { TickTaker } from "./_tick_taker.ts";
import { within } from "./_within.ts";
import type { Settings } from "./settings.ts";

/** What {@linkcode Processing} needs. */
export interface ProcessingOptions {
  /** Keeps the jobs. */
  readonly store: Store;
  /** Runs the handlers. */
  readonly executor: Executor;
  /** Kinds and queues. */
  readonly composition: Composition;
  /** Enqueues by the clock. */
  readonly tickTaker: TickTaker;
  /** What this process declares to be enqueued by the clock. */
  readonly periodics: readonly DeclaredPeriodic[];
  /** The queues that this process works. */
  readonly queues: readonly string[];
  /** For people, on the record of processes. */
  readonly name: string;
  /** Tells the other processes. */
  readonly signaller: Signaller;
  /** This program is too old for the schema: it works no more. */
  readonly onOutdated: () => void;
  /** A job has ended here, or should be looked at. */
  readonly onEnded: (id: JobId) => void;
  /** Where it is recorded how the work beside the jobs goes. */
  readonly upkeep: Upkeep;
  /** Times and sizes. */
  readonly settings: Settings;
  /** For people. */
  readonly log: Log;
}

/**
 * What a process does with jobs once it has started: a lane for each queue claims, runs and ends them, the heart shows that
 * it lives and rescues from those who don't, and whoever leads takes ticks and purges.
 */
export class Processing {
  readonly #options: ProcessingOptions;
  readonly #settler: Settler;
  readonly #heart: Heart;
  readonly #hints: Hints;
  readonly #duties: LeaderDuties;
  readonly #lanes: ReadonlyMap<string, Lane>;

  /** Does nothing yet. */
  constructor(options: ProcessingOptions) {
    this.#options = options;
    const { store, upkeep, settings, log } = options;
    const owner = () => this.#heart.owner;
    this.#heart = this.#makeHeart();
    this.#hints = this.#makeHints();
    this.#settler = new Settler({
      store,
      onRecovered: () => this.wakeAll(),
      upkeep,
      log,
    });
    this.#lanes = this.#makeLanes(owner);
    this.#duties = new LeaderDuties({
      store,
      owner,
      tickTaker: options.tickTaker,
      onReady: (queue) => this.ready(queue),
      upkeep,
      settings,
      log,
    });
  }

  /** The id of this process on the record. */
  get owner(): string {
    return this.#heart.owner;
  }

  /** The queues that are worked. */
  get queues(): readonly string[] {
    return this.#options.queues;
  }

  /** Puts this process on the record, and begins to beat. */
  async register(): Promise<void> {
    await this.#heart.start();
    // What it has declared may have been taken for that of a process that is gone. What fails here is tried again.
    await this.#duties.renewKinds().catch(() => {});
  }

  /** Begins to work. */
  start(): void {
    this.#duties.start();
    this.#eachLane((lane) => lane.start());
  }

  /** There may be something to claim in a queue. */
  wake(queue: string): void {
    this.#lanes.get(queue)?.wake();
  }

  /** Jobs of a kind may lie aside in a queue. */
  wakeAside(queue: string, kind: string): void {
    this.#lanes.get(queue)?.wakeAside(kind);
  }

  /** There may be something to claim anywhere. */
  wakeAll(): void {
    this.#eachLane((lane) => lane.wake());
  }

  /** The store answers again, after it did not, or signals may have been lost: all look for themselves. */
  lookAll(): void {
    this.#heart.retry();
    this.#settler.retry();
    this.#duties.retry();
    this.#eachLane((lane) => lane.retry());
  }

  /** There is something to claim in a queue: the other processes are told, here the lane is woken without a detour. */
  ready(queue: string): void {
    this.#options.signaller.send({ type: "ready", queue });
    this.wake(queue);
  }

  /** A job of a queue falls due in so many ms. */
  dueIn(queue: string, inMs: number): void {
    this.#lanes.get(queue)?.dueIn(inMs);
  }

  /** A signal came, whoever sent it. */
  hint(signal: Signal): void {
    this.#hints.take(signal);
  }

  /** Begins nothing more of a queue, or goes on. */
  setPaused(queue: string, isPaused: boolean): void {
    this.#hints.changed();
    this.#lanes.get(queue)?.setPaused(isPaused);
  }

  /** Cancels a job, if it runs here. */
  cancel(id: JobId): void {
    this.#eachLane((lane) => lane.cancel(id));
  }

  /** Claims no more, waits for what runs, ends what does not end, writes what became of it, and goes off the record. */
  async stop(deadline: StopDeadline): Promise<void> {
    const { executor, log } = this.#options;
    const lanes = [...this.#lanes.values()];
    log.info("stopping", { running: lanes.reduce((sum, lane) => sum + lane.running, 0) });
    const quiet = Promise.all([
      this.#duties.stop(),
      ...lanes.map((lane) => lane.close()),
      ...lanes.map((lane) => lane.idle()),
    ]);
    if (!await within(quiet, deadline.graceMs)) {
      for (const lane of lanes) lane.abort("stop");
      await within(quiet, deadline.workMs);
      // Ends what ignored the abort, and reports it as released.
      await executor.stop();
    }
    this.#hints.stop();
    const drained = await this.#settler.drain(deadline.drainMs);
    if (!drained) {
      log.error("stopped with ends of runs not written, another process will rescue the jobs", {
        runs: this.#settler.backlog,
        refused: this.#settler.refused,
      });
    }
    // Off the record nobody would rescue what is left, so that is only for when nothing is.
    const off = this.#heart.stop(drained).catch((error) => {
      log.warn("not taken off the record, that happens by itself", { error: errorText(error) });
    });
    await within(off, deadline.closeMs);
  }

  #makeHeart(): Heart {
    const { store, composition, periodics, queues, name, upkeep, settings, log } = this.#options;
    return new Heart({
      store,
      name,
      queues,
      parts: Object.fromEntries(
        [...composition.migrations.values()].map(({ part, steps }) => [part, steps.length]),
      ),
      kinds: [...composition.kinds.keys()],
      periodics,
      declared: declaredOf(composition).kinds,
      heartbeatMs: settings.heartbeatMs,
      lostAfterMs: settings.lostAfterMs,
      onRescued: () => this.#eachLane((lane) => lane.abandon()),
      onFit: () => this.wakeAll(),
      onFleet: () => this.#duties.fleetChanged(),
      onAside: (found) => found.forEach(({ queue, kind }) => this.wakeAside(queue, kind)),
      onRescue: (rescued) => rescued.queues.forEach((queue) => this.ready(queue)),
      onOutdated: () => this.#retire(),
      onRequests: (requests) => this.#heed(requests),
      upkeep,
      log,
    });
  }

  #makeHints(): Hints {
    const { store, composition, log } = this.#options;
    return new Hints({
      ask: () => store.requests(this.#heart.owner),
      act: (requests) => this.#heed(requests),
      held: () => new Set([...this.#lanes.values()].flatMap((lane) => [...lane.held()])),
      works: (queue) => this.#lanes.has(queue),
      declares: (kind) => composition.kinds.has(kind),
      wake: (queue) => this.wake(queue),
      wakeAside: (queue, kind) => this.wakeAside(queue, kind),
      log,
    });
  }

  #heed({ cancelRequested, pausedQueues }: Requests): void {
    for (const [queue, lane] of this.#lanes) lane.setPaused(pausedQueues.includes(queue));
    for (const id of cancelRequested) this.cancel(id);
  }

  #makeLanes(owner: () => string): ReadonlyMap<string, Lane> {
    const { store, executor, composition, queues, signaller, upkeep, settings, log } = this.#options;
    const progress = new Progress(store, log);
    const suspects = new Suspects();
    return new Map(queues.map((name) => [
      name,
      new Lane({
        queue: composition.queues.get(name)!,
        kinds: composition.kinds,
        store,
        executor,
        settler: this.#settler,
        progress,
        owner,
        fit: () => this.#heart.fit,
        suspects,
        onSettled: (id, settled) => this.#settled(id, settled),
        onReady: (queue) => signaller.send({ type: "ready", queue }),
        onAside: (queue, kind) => signaller.send({ type: "aside", queue, kind }),
        settings,
        upkeep,
        log,
      }),
    ]));
  }

  /** Ends what it does for the fleet. What runs goes on, and its end is written. */
  #retire(): void {
    this.#duties.stop();
    this.#eachLane((lane) => lane.close());
    this.#options.onOutdated();
  }

  #settled(id: JobId, settled: Settled): void {
    // A fenced run may have been completed through its handler's own transaction: whoever waits should look.
    if (settled === "fenced" || isFinal(settled)) this.#options.onEnded(id);
  }

  #eachLane(act: (lane: Lane) => void): void {
    for (const lane of this.#lanes.values()) act(lane);
  }
}
