import { errorText } from "../ports/error_text.ts";
import type { AttemptOutcome, Executor } from "../ports/executor.ts";
import type { JobId } from "../ports/job.ts";
import type { Kind, Queue } from "../ports/kind.ts";
import type { Log } from "../ports/log.ts";
import type { Claimed, Settlement, Store } from "../ports/store.ts";
import type { Upkeep, UpkeepTask } from "../ports/upkeep.ts";
import { AsideKinds } from "./_aside_kinds.ts";
import { Beside } from "./_beside.ts";
import { GivenBack } from "./_given_back.ts";
import { HeldJobs } from "./_held_jobs.ts";
import { failedAfterwards, settlementOf } from "./_outcome.ts";
import { Pace } from "./_pace.ts";
import type { Progress } from "./_progress.ts";
import { reportAttempt } from "./_report.ts";
import { Running } from "./_running.ts";
import type { Settled, Settler } from "./_settler.ts";
import type { Suspect, SuspectLine, Suspects, SuspectsOwner } from "./_suspects.ts";
import { Ticker } from "./_ticker.ts";
import type { Timer } from "./_timer.ts";
import type { Settings } from "./settings.ts";

/** How many handlers of a queue begin whatever else runs: the executor has threads for so many. */
const ALWAYS_BEGIN = 2;
/** What was claimed ahead goes back in line when nothing has started for so long, in ms: others may have room for it. */
const HOLD_MS = 500;
/** The second claim of a lane that begins, or goes on, in ms; each next one comes after twice the pause. */
const LOOK_AGAIN_MS = 25;
/** The first and the longest pause after a claim that failed, in ms. */
const REST_MS = { first: 100, longest: 1000 };
/** With so many ends not written, no more is claimed. */
const BACKLOG_MAX = 5000;

/** What a {@linkcode Lane} needs. */
export interface LaneOptions {
  /** Which queue it works. */
  readonly queue: Queue;
  /** The kinds that this process declares. */
  readonly kinds: ReadonlyMap<string, Kind>;
  /** Where jobs come from. */
  readonly store: Store;
  /** What runs them. */
  readonly executor: Executor;
  /** What writes their ends. */
  readonly settler: Settler;
  /** What writes their progress. */
  readonly progress: Progress;
  /** The present id of this process. */
  readonly owner: () => string;
  /** Whether this process may start jobs: not when others may think it dead. */
  readonly fit: () => boolean;
  /** Shared by all lanes of this process. */
  readonly suspects: Suspects;
  /** Told of each end that is durable. */
  readonly onSettled: (id: JobId, settled: Settled) => void;
  /** Told when jobs of this queue went back in line, due at once. */
  readonly onReady: (queue: string) => void;
  /** Told when a job of this queue was put aside, for a process that declares its kind. */
  readonly onAside: (queue: string, kind: string) => void;
  /** Times and sizes. */
  readonly settings: Settings;
  /** Where it is recorded how the claims go. */
  readonly upkeep: Upkeep;
  /** For what goes wrong. */
  readonly log: Log;
}

/**
 * Works one queue: claims, starts, and hands over the ends.
 *
 * A claimed job is in one of these places, and moves through them in order:
 *
 *     claim --> #held, ahead of free slots --> #running --> settler
 *       |\______ the first `free` of a claim ____/  /
 *       \__ alone --> #suspects --> #beginning ---/
 *
 * What waits is given back for free, also when the handlers turn out to take so long that nothing of it starts.
 *
 * Suspects (see there) stand beside: they hold a slot only when their turn has come, and a claim takes no fewer others
 * because of them.
 */
export class Lane implements SuspectsOwner {
  readonly #options: LaneOptions;
  readonly #claims: Ticker;
  readonly #claimingRefused: UpkeepTask;
  /** Why some jobs can't be claimed. */
  #fault: Error | null = null;
  readonly #pace: Pace;
  readonly #running = new Set<Running>();
  /** Those of them that hold no slot any more. */
  readonly #beside = new Beside(() => this.#pump());
  readonly #held: HeldJobs;
  readonly #suspects: SuspectLine;
  /** Suspects whose start is being recorded: each holds a slot. True: it is cancelled. */
  #beginning = new Map<Suspect, boolean>();
  readonly #givenBack: GivenBack;
  /** Slots that the claim under way was promised. */
  #promised = 0;
  /** Whether the last claim was filled, so that there is likely more. */
  #more = true;
  #holdTimer: Timer | undefined;
  #nextDueAt = 0;
  #dueTimer: Timer | undefined;
  readonly #undeclared = new Set<string>();
  readonly #aside = new AsideKinds();
  #paused = false;
  #workingSince = -Infinity;
  #stopping = false;
  #idle: (() => void)[] = [];

  constructor(options: LaneOptions) {
    this.#options = options;
    const { prefetchMs, prefetchMax } = options.settings;
    this.#pace = new Pace({ concurrency: options.queue.concurrency, prefetchMs, prefetchMax });
    this.#givenBack = new GivenBack(options.log);
    this.#held = new HeldJobs({
      record: (jobs) => options.store.started(options.owner(), jobs),
      goesOn: () => !this.#stopping && !this.#paused,
      giveBack: (jobs) => this.#release(jobs),
      onRecorded: () => this.#pump(),
      log: options.log,
    });
    this.#suspects = options.suspects.line(this, options.queue.concurrency);
    const claiming = options.upkeep.task(`claim from ${options.queue.name}`, {
      everyMs: options.settings.pollMs,
      scope: "process",
      failing: "claim failed, trying again",
      fields: { queue: options.queue.name },
    });
    this.#claimingRefused = options.upkeep.task(`claim refused jobs from ${options.queue.name}`, {
      everyMs: Infinity,
      scope: "process",
      failing: "the claim of a job is refused",
      fields: { queue: options.queue.name },
    });
    this.#claims = new Ticker({
      everyMs: options.settings.pollMs,
      restMs: REST_MS,
      run: () => claiming.run(() => this.#claimAll()),
      onError: () => {
        this.#promised = 0;
      },
    });
  }

  /** Begins to claim. */
  start(): void {
    this.#workingSince = performance.now();
    this.#claims.start();
  }

  /** There may be something to do. */
  wake(): void {
    this.#pump();
    this.#claims.wake();
  }

  /** The store may answer again: a claim that failed is made again at once. */
  retry(): void {
    this.wake();
    this.#claims.retry();
  }

  /** Jobs of a kind may lie aside. */
  wakeAside(kind: string): void {
    if (!this.#options.kinds.has(kind)) return;
    this.#aside.add(kind);
    this.wake();
  }

  /** A job of this queue falls due in so many ms. */
  dueIn(delayMs: number): void {
    if (this.#stopping) return;
    const at = performance.now() + delayMs;
    if (this.#dueTimer !== undefined && this.#nextDueAt <= at) return;
    // What lies beyond the next poll is found by a poll before it.
    if (delayMs > this.#options.settings.pollMs) return;
    clearTimeout(this.#dueTimer);
    this.#nextDueAt = at;
    this.#dueTimer = setTimeout(() => {
      this.#dueTimer = undefined;
      this.#claims.wake();
    }, delayMs);
  }

  /** The queue was paused, or resumed. What was claimed ahead goes back; what runs goes on. */
  setPaused(paused: boolean): void {
    if (paused === this.#paused) return;
    this.#paused = paused;
    if (!paused) {
      this.#workingSince = performance.now();
      return this.wake();
    }
    this.#releaseHeld();
  }

  /** The jobs that are here, running or not. */
  *held(): Iterable<JobId> {
    for (const { job } of this.#running) yield job.id;
    for (const { job } of this.#beginning.keys()) yield job.id;
    yield* this.#held.ids();
    yield* this.#suspects.ids();
  }

  /** A cancel is requested. What has not started goes back, and the store ends it if the row says so too. */
  cancel(id: JobId): void {
    for (const running of this.#running) {
      if (running.job.id !== id) continue;
      if (running.aborted) return;
      running.aborted = true;
      this.#options.executor.abort(running.key, "cancel");
      return;
    }
    const suspects = this.#suspects.take(id);
    if (suspects.length > 0) return this.#release(suspects);
    this.#held.cancel(id);
    for (const suspect of this.#beginning.keys()) {
      if (suspect.job.id === id) this.#beginning.set(suspect, true);
    }
  }

  /** This process was taken for dead: what it holds is no longer its own. */
  abandon(): void {
    this.#held.abandon();
    this.#suspects.take();
    const beginning = this.#beginning;
    this.#beginning = new Map();
    for (const suspect of beginning.keys()) this.#suspects.ended(suspect, null);
    this.abort("rescued");
  }

  /** Claims no more and gives back what has not started. Resolves when that is on its way. */
  async close(): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#dueTimer);
    clearTimeout(this.#holdTimer);
    this.#releaseHeld();
    await this.#claims.stop();
  }

  /** Aborts what runs. */
  abort(reason: "stop" | "rescued"): void {
    for (const running of this.#running) {
      running.aborted = true;
      this.#options.executor.abort(running.key, reason);
    }
  }

  /** Resolves when nothing runs. */
  async idle(): Promise<void> {
    if (this.#running.size === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** How many handlers run. */
  get running(): number {
    return this.#running.size;
  }

  async #claimAll(): Promise<number | void> {
    const { queue, owner, store } = this.#options;
    this.#pump();
    while (!this.#stopping) {
      const limit = this.#wanted();
      if (limit <= 0) {
        // There may be more, so whoever makes room claims at once: enqueuers may count on this lane and wake nobody.
        this.#more = true;
        return;
      }
      const free = Math.min(limit, Math.max(0, this.#free() - this.#held.size));
      this.#promised = free;
      const by = owner();
      const jobs = await this.#aside.claim(store, { owner: by, queue: queue.name, limit, free });
      this.#promised = 0;
      this.#noteRefused(store.claimFault?.(queue.name) ?? null);
      // Between claim and answer this process may have been taken for dead: then these are no longer its own.
      if (by !== owner()) continue;
      this.#more = jobs.length >= limit;
      this.#pace.claimed(jobs);
      this.#take(jobs, free);
      if (this.#more || this.#aside.size > 0) continue;
      return Math.min(await store.nextDue(queue.name) ?? Infinity, this.#lookAgainMs());
    }
  }

  #noteRefused(fault: Error | null): void {
    if (fault === this.#fault) return;
    this.#fault = fault;
    if (fault === null) this.#claimingRefused.succeeded();
    else this.#claimingRefused.failed(fault, { told: true });
  }

  /**
   * While nobody worked the queue, and while it was paused, who enqueued woke nobody. One whose transaction stays open for as
   * long again as this lane has been at work is found by then; beyond a poll the polls find it.
   */
  #lookAgainMs(): number {
    return Math.max(performance.now() - this.#workingSince, LOOK_AGAIN_MS);
  }

  /** How many to claim now: 0 when there is enough at hand. */
  #wanted(): number {
    if (this.#paused) return 0;
    if (!this.#mayBegin() || this.#options.settler.backlog > BACKLOG_MAX) return 0;
    return this.#pace.claimNow(this.#free(), this.#held.size);
  }

  /**
   * How many handlers more may begin. What the executor has no room for would wait there, though it counts as started; but
   * the first few of a queue always find a thread, or another queue's computing handlers could shut it out.
   */
  #free(): number {
    const { executor } = this.#options;
    const slots = this.#slots() - (this.#suspects.isDue ? 1 : 0);
    const holding = this.#running.size - this.#beside.size;
    return Math.min(slots, Math.max(executor.room(), ALWAYS_BEGIN - holding));
  }

  /** How many slots of the queue nobody holds. */
  #slots(): number {
    return this.#options.queue.concurrency + this.#beside.size - this.#running.size - this.#beginning.size;
  }

  /**
   * A full disk lets claims pass and no ends: whatever ran would run again, and be charged, should this process die before
   * there is room. So nothing begins until an end is written.
   */
  #mayBegin(): boolean {
    return this.#options.fit() && !this.#options.settler.failing;
  }

  #take(jobs: readonly Claimed[], free: number): void {
    // The answer may have been so long under way that others take this process for dead by now.
    if (this.#stopping || this.#paused || !this.#options.fit()) return this.#release(jobs);
    jobs.forEach((job, index) => {
      const kind = this.#options.kinds.get(job.kind);
      if (kind === undefined) this.#putAside(job);
      else if (job.alone) this.#takeSuspect(job, kind);
      else if (index < free) this.#start(job);
      else this.#held.add(job);
    });
    this.#pump();
  }

  /** Fills free slots with what is at hand. */
  #pump(): void {
    if (this.#stopping || this.#paused || !this.#mayBegin()) return;
    this.#options.suspects.look();
    while (this.#held.ready > 0 && this.#free() > this.#promised) this.#start(this.#held.next());
    const ahead = this.#pace.recordAhead;
    const { ready } = this.#held;
    if (ready <= ahead / 2) this.#held.record(this.#free() - this.#promised + ahead - ready);
    if (this.#held.idle + this.#suspects.waiting > 0) this.#watchHeld();
    if (this.#more && this.#wanted() > 0) this.#claims.wake();
  }

  #watchHeld(): void {
    this.#holdTimer ??= setTimeout(() => {
      this.#holdTimer = undefined;
      if (this.#suspects.isStuck) this.#releaseLater(this.#suspects.take());
      if (this.#pace.stillMs < HOLD_MS) return this.#pump();
      this.#held.giveBackAll();
      this.#options.suspects.look();
      if (this.#suspects.waiting > 0) this.#watchHeld();
    }, HOLD_MS);
  }

  #takeSuspect(job: Claimed, kind: Kind): void {
    const isFunction = typeof kind.handler === "function";
    if (!this.#suspects.add({ job, isFunction })) this.#releaseLater([job]);
  }

  /** For suspects: they are not to come back before there is room. */
  #releaseLater(jobs: readonly Claimed[]): void {
    const delayMs = this.#suspects.pauseMs;
    for (const job of jobs) {
      const { id, run } = job;
      this.#settle(job, { id, run, to: "release", delayMs, error: null, alone: true });
    }
  }

  /** For the suspects: whether there is a slot for one. */
  mayBeginSuspect(): boolean {
    return !this.#stopping && !this.#paused && this.#mayBegin() && this.#slots() > this.#promised;
  }

  /** For the suspects: the turn of one has come. Its start is recorded before its handler begins, like any other. */
  async beginSuspect(suspect: Suspect): Promise<void> {
    const { job } = suspect;
    this.#beginning.set(suspect, false);
    let recorded = false;
    try {
      await this.#options.store.started(this.#options.owner(), [job]);
      recorded = true;
    } catch (error) {
      this.#options.log.warn("start not recorded, the job goes back in line", { error: errorText(error) });
    }
    // Abandoned meanwhile: the fence has it.
    const cancelled = this.#beginning.get(suspect);
    if (!this.#beginning.delete(suspect)) return;
    if (recorded && !cancelled && !this.#stopping && !this.#paused && this.#options.fit()) {
      return this.#start(job, suspect);
    }
    this.#release([job]);
    this.#suspects.ended(suspect, null);
  }

  #start(job: Claimed, suspect?: Suspect): void {
    const { executor, kinds, queue, progress } = this.#options;
    const { id, run, attempt, maxAttempts, args, alone } = job;
    const kind = kinds.get(job.kind)!;
    const running = new Running(job, kind, progress, this.#onEnded, suspect);
    this.#running.add(running);
    if (suspect === undefined) {
      this.#pace.started(running.startedAt);
      this.#beside.began(running);
    }
    running.key = executor.run(
      { id, run, queue: queue.name, attempt, maxAttempts, args, alone, kind },
      running,
    );
  }

  #onEnded = (running: Running, outcome: AttemptOutcome): void => {
    const { job, kind, aborted, suspect } = running;
    this.#running.delete(running);
    this.#beside.ended(running);
    const ms = performance.now() - running.startedAt;
    if (suspect === undefined) this.#pace.ended(ms);
    const settlement = settlementOf(job, kind, outcome, { aborted, random: Math.random() });
    // The database's encoding may lack a character of it.
    const withoutOutput = settlement.to === "completed" && settlement.output !== null
      ? (message: string) => failedAfterwards(job, kind, message)
      : undefined;
    // A suspect has ended when that is written: the next one may kill this process. Or when it can't be.
    const done = suspect === undefined ? undefined : once(() => this.#suspects.ended(suspect, ms));
    this.#settle(job, settlement, { done, refused: done, withoutOutput });
    reportAttempt(this.#options.log, { job, kind, outcome, settlement, tookMs: ms });
    this.#givenBack.note(job, settlement, outcome.type === "released" ? outcome.reason : "aborted");
    if (this.#running.size === 0) { for (const resolve of this.#idle.splice(0)) resolve(); }
    this.#pump();
  };

  #settle(
    job: Claimed,
    settlement: Settlement,
    { done, refused, withoutOutput }: SettleHooks = {},
  ): void {
    const { settler, onSettled, onReady, onAside, queue } = this.#options;
    settler.add(settlement, (settled) => {
      onSettled(job.id, settled);
      if ((settled === "pending" || settled === "retryable") && "delayMs" in settlement) {
        if (settlement.to === "put aside") onAside(queue.name, job.kind);
        else this.dueIn(settlement.delayMs);
        if (settlement.delayMs === 0 && settlement.to !== "put aside") onReady(queue.name);
      }
      if (settler.backlog === BACKLOG_MAX) this.#pump();
      done?.();
    }, { refused, withoutOutput });
  }

  #releaseHeld(): void {
    this.#held.giveBackAll();
    this.#release(this.#suspects.take());
  }

  #release(jobs: readonly Claimed[]): void {
    for (const job of jobs) {
      const { id, run, alone } = job;
      this.#settle(job, { id, run, to: "release", delayMs: 0, error: null, alone });
    }
  }

  #putAside(job: Claimed): void {
    const { log } = this.#options;
    // A newer program may have left thousands of them: one line a kind is enough to know, the overview counts.
    const level = this.#undeclared.has(job.kind) ? "debug" : "warn";
    this.#undeclared.add(job.kind);
    log[level]("kind not declared here, its jobs are put aside for a process that knows it", {
      jobId: job.id,
      kind: job.kind,
    });
    const { id, run, alone } = job;
    this.#settle(job, { id, run, to: "put aside", delayMs: 0, error: null, alone });
  }
}

/** What a lane is told about the end of a run, and asked. */
interface SettleHooks {
  readonly done?: (() => void) | undefined;
  readonly refused?: (() => void) | undefined;
  readonly withoutOutput?: ((message: string) => Settlement) | undefined;
}

function once(act: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) act();
    isDone = true;
  };
}
