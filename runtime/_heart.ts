import { errorText } from "../ports/error_text.ts";
import { ProtocolTooOldError, SchemaVersionError } from "../ports/errors.ts";
import type { Log, LogFields } from "../ports/log.ts";
import { PROTOCOL } from "../ports/protocol.ts";
import type { Aside, DeclaredKind, DeclaredPeriodic, Requests, Rescued, Store } from "../ports/store.ts";
import type { Upkeep, UpkeepTask } from "../ports/upkeep.ts";
import { isOutage } from "../shared/outage.ts";
import { Ticker } from "./_ticker.ts";

/** What is said about one lost process is said again after so long, in ms, and of so many it is remembered. */
const SAY_AGAIN_MS = 600_000;
const SAID_MAX = 100;

/** A process and the value of its last heartbeat. */
interface Lost {
  readonly id: string;
  readonly beat: string;
}

/** What a {@linkcode Heart} needs. */
export interface HeartOptions {
  /** Where heartbeats are kept. */
  readonly store: Store;
  /** For people: host and process id. */
  readonly name: string;
  /** The queues that this process works. */
  readonly queues: readonly string[];
  /** The parts whose tables its registrars bring, and the version that it knows of each. */
  readonly parts: Readonly<Record<string, number>>;
  /** The kinds that it declares: their jobs may have been put aside by a process that does not. */
  readonly kinds: readonly string[];
  /** The periodics that it declares. */
  readonly periodics: readonly DeclaredPeriodic[];
  /** What it declares of its kinds. */
  readonly declared: readonly DeclaredKind[];
  /** How often it beats, in ms. */
  readonly heartbeatMs: number;
  /** After how long without a beat a process is lost, in ms. */
  readonly lostAfterMs: number;
  /** This process was taken for dead: what it holds is no longer its own. */
  readonly onRescued: () => void;
  /** It may start jobs again. */
  readonly onFit: () => void;
  /** Other processes are on the record than at the beat before. */
  readonly onFleet: () => void;
  /** Jobs of these kinds lie aside in these queues. */
  readonly onAside: (aside: readonly Aside[]) => void;
  /** It has put another's jobs back in line. */
  readonly onRescue: (rescued: Rescued) => void;
  /** This program is too old for the schema: the process gets no more jobs, and no longer leads, relays or rescues. */
  readonly onOutdated: () => void;
  /** What is requested of this process. */
  readonly onRequests: (requests: Requests) => void;
  /** Where it is recorded how the heartbeats and the rescues go. */
  readonly upkeep: Upkeep;
  /** For what goes wrong. */
  readonly log: Log;
}

/** How often it beats while that fails, in ms, each process at a pace of its own: an outage may end at any time. */
const RETRY_MS = 500;

/**
 * Renews this process's heartbeat and watches the others'.
 *
 * Who is lost is told by watching, not by comparing clocks: a process counts as lost when this one has itself seen its
 * heartbeat unchanged for `lostAfterMs` of the store's clock, beat after beat, without a gap of its own. Any failed or
 * late beat starts the watch anew, so an outage of the database, or a freeze of this process, rescues nobody.
 *
 * A process that could not renew for `lostAfterMs` is not fit: it starts no more jobs until it has renewed, which it
 * tries twice a second, and at once when the store answers anyone in it.
 */
export class Heart {
  readonly #options: HeartOptions;
  readonly #beats: Ticker;
  readonly #mending: Ticker;
  readonly #renewing: UpkeepTask;
  readonly #rescuing: UpkeepTask;
  readonly #watched = new Map<string, { beat: string; sinceMs: number }>();
  #owner: string = crypto.randomUUID();
  #renewedAt = -Infinity;
  #lastNowMs: number | undefined;
  #fleet = "";
  #registered = false;
  #lost: Lost[] = [];
  /** When something was last said about the rescue of a process. */
  readonly #said = new Map<string, number>();
  #wasFit = true;
  #outdated = false;
  /** What went wrong in the present look at the lost processes. */
  #fault: unknown;
  #stopping = false;

  constructor(options: HeartOptions) {
    this.#options = options;
    const { upkeep, heartbeatMs } = options;
    this.#renewing = upkeep.task("renew the heartbeat", {
      everyMs: heartbeatMs,
      scope: "process",
      failing: "heartbeat not renewed, trying again",
    });
    this.#rescuing = upkeep.task("rescue jobs", {
      everyMs: heartbeatMs,
      scope: "process",
      failing: "watch over the other processes interrupted, trying again",
    });
    this.#beats = new Ticker({
      everyMs: options.heartbeatMs,
      retryMs: RETRY_MS * (0.75 + Math.random() / 2),
      run: () => this.#beat(),
      onError: (error) => this.#missed(error),
    });
    this.#mending = new Ticker({
      everyMs: options.heartbeatMs,
      run: () => this.#mend(),
      onError: (error) => this.#rescuing.failed(error),
    });
  }

  /** The id of this process: new at every start, and after it was taken for dead. */
  get owner(): string {
    return this.#owner;
  }

  /** Whether this process may start jobs. */
  get fit(): boolean {
    return performance.now() - this.#renewedAt <= this.#options.lostAfterMs;
  }

  /** Registers, and begins to beat. */
  async start(): Promise<void> {
    await this.#register();
    this.#beats.start();
    this.#mending.start();
  }

  /** The store answers again, after it did not. */
  retry(): void {
    this.#beats.retry();
  }

  /** Ends. Takes the process off the record only when nothing of it is left to rescue. */
  async stop(unregister: boolean): Promise<void> {
    this.#stopping = true;
    await Promise.all([this.#beats.stop(), this.#mending.stop()]);
    if (unregister && this.#registered) await this.#options.store.unregister(this.#owner);
  }

  async #register(): Promise<void> {
    const { store, name, queues, parts, periodics, declared } = this.#options;
    const asked = performance.now();
    await store.register({ id: this.#owner, name, queues, parts, periodics, kinds: declared });
    this.#registered = true;
    this.#renewedAt = asked;
  }

  /** Goes on under a new id. False: this program is too old for the schema by now, and stays off the record. */
  async #goOnAnew(): Promise<boolean> {
    if (!this.#registered) return false;
    this.#options.log.warn(
      "this process was taken for dead, its jobs run elsewhere; going on under a new id",
      { owner: this.#owner },
    );
    this.#owner = crypto.randomUUID();
    this.#options.onRescued();
    try {
      await this.#register();
      return true;
    } catch (error) {
      if (!(error instanceof ProtocolTooOldError || error instanceof SchemaVersionError)) throw error;
      this.#registered = false;
      this.#retire(error.message);
      return false;
    }
  }

  async #beat(): Promise<void> {
    const { store, log, onFit, onRequests } = this.#options;
    // Counted from before the call: the answer may have been long under way.
    const asked = performance.now();
    const beat = await store.beat(this.#owner);
    const rested = !this.fit || !beat.alive;
    if (beat.alive) this.#renewedAt = asked;
    else if (!(await this.#goOnAnew())) return;
    this.#renewing.succeeded();
    if (!this.#wasFit) log.info("heartbeat renewed, starting jobs again");
    this.#wasFit = true;
    onRequests(beat);
    if (rested) onFit();
    if (beat.outdatedBy !== null) return this.#retire(`it requires ${beat.outdatedBy}`);
    this.#lost = this.#watch(beat.nowMs, beat.owners);
    this.#compareFleet(beat.owners);
    this.#mending.wake();
  }

  /** Beside the beats, for it may take its time: a heartbeat must not wait for a rescue. */
  async #mend(): Promise<void> {
    if (this.#outdated) return;
    this.#fault = undefined;
    while (this.#lost.length > 0 && !this.#stopping) {
      const lost = this.#lost.shift()!;
      // Each process for itself: what is wrong with the rows of one is no reason to leave the jobs of the others.
      if (await this.#attempt(lost.id, () => this.#rescue(lost))) this.#lost.push(lost);
    }
    // Not only at the start: the signal that a job was put aside may have been lost.
    const { store, kinds, onAside } = this.#options;
    onAside(await store.findAside(kinds));
    if (this.#fault === undefined) this.#rescuing.succeeded();
    else this.#rescuing.failed(this.#fault, { told: true });
  }

  /** It keeps its heartbeat, or what it runs would be rescued. Others watch the rest of the fleet. */
  #retire(reason: string): void {
    if (this.#outdated) return;
    this.#outdated = true;
    this.#lost = [];
    const { log, onOutdated } = this.#options;
    log.error(
      "this program is too old for the schema, which a newer one has migrated: it claims no more jobs and ends those " +
        "that it runs; replace it by a newer one",
      { protocol: PROTOCOL, reason },
    );
    onOutdated();
  }

  /** Resolves to what the work does; false when it fails, which is said once in a while. */
  async #attempt(owner: string, work: () => Promise<boolean>): Promise<boolean> {
    try {
      return await work();
    } catch (error) {
      if (isOutage(error)) throw error;
      this.#fault = error;
      this.#sayOf(owner, "jobs of a lost process not rescued, trying again with the next heartbeat", {
        error: errorText(error),
      });
      return false;
    }
  }

  #missed(error: unknown): void {
    const { log, lostAfterMs } = this.#options;
    this.#forgetWatch();
    this.#renewing.failed(error);
    if (this.#wasFit && !this.fit) {
      this.#wasFit = false;
      log.error("no heartbeat for too long, starting no more jobs until there is one", { lostAfterMs });
    }
  }

  /** Which processes are lost. */
  #watch(nowMs: number, owners: readonly Lost[]): Lost[] {
    const gapMs = nowMs - (this.#lastNowMs ?? nowMs);
    if (gapMs < 0 || gapMs > 2.5 * this.#options.heartbeatMs) this.#forgetWatch();
    this.#lastNowMs = nowMs;
    const present = new Set(owners.map((owner) => owner.id));
    for (const id of this.#watched.keys()) if (!present.has(id)) this.#watched.delete(id);
    const lost: Lost[] = [];
    for (const { id, beat } of owners) {
      if (id === this.#owner) continue;
      const seen = this.#watched.get(id);
      if (seen?.beat !== beat) this.#watched.set(id, { beat, sinceMs: nowMs });
      else if (nowMs - seen.sinceMs >= this.#options.lostAfterMs) lost.push({ id, beat });
    }
    return lost;
  }

  #compareFleet(owners: readonly Lost[]): void {
    const fleet = owners.map(({ id }) => id).sort().join();
    const isOther = fleet !== this.#fleet;
    this.#fleet = fleet;
    if (isOther) this.#options.onFleet();
  }

  #forgetWatch(): void {
    this.#watched.clear();
    this.#lost = [];
    this.#lastNowMs = undefined;
  }

  /** Rescues some of a lost process's jobs. True: there are more. */
  async #rescue({ id, beat }: Lost): Promise<boolean> {
    const { store, log, onRescue, lostAfterMs } = this.#options;
    const message = `The process that ran it sent no heartbeat for ${lostAfterMs} ms: it died or was cut off`;
    const rescued = await store.rescue(id, beat, { message });
    const { retried, discarded, released, cancelled, refused = [], complete } = rescued;
    const moved = retried.length + discarded.length + released.length + cancelled.length;
    if (moved > 0) {
      log.warn("jobs of a lost process rescued", {
        owner: id,
        retried: retried.length,
        discarded: discarded.length,
        released: released.length,
        cancelled: cancelled.length,
      });
    }
    if (refused.length > 0) {
      this.#fault = new Error(`job ${refused[0]!.id}: ${refused[0]!.error}`);
      this.#sayOf(id, "the database refuses the rescue of a job, it is tried again with every heartbeat", {
        jobId: refused[0]!.id,
        sqlState: refused[0]!.sqlState,
        refused: refused.length,
        error: refused[0]!.error,
      });
    }
    onRescue(rescued);
    if (complete) this.#watched.delete(id);
    return !complete && moved > 0;
  }

  /** Says something about a lost process, every 10 min at most. */
  #sayOf(owner: string, event: string, fields: LogFields): void {
    const now = performance.now();
    if (now - (this.#said.get(owner) ?? -Infinity) < SAY_AGAIN_MS) {
      return this.#options.log.debug(event, { owner, ...fields });
    }
    if (this.#said.size >= SAID_MAX) this.#said.delete(this.#said.keys().next().value!);
    this.#said.set(owner, now);
    this.#options.log.error(event, { owner, ...fields });
  }
}
