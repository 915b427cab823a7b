import type { Composition } from "../ports/composition.ts";
import type { Database } from "../ports/database.ts";
import type { EventId, Recorder } from "../ports/event.ts";
import type {
  Alert,
  Backlog,
  EventDetail,
  EventFilter,
  Events,
  EventSummary,
  Receipt,
} from "../ports/events.ts";
import type { Inspector } from "../ports/inspector.ts";
import type { Jobs } from "../ports/jobs.ts";
import type { Json } from "../ports/json.ts";
import type { Log } from "../ports/log.ts";
import type { Registrar } from "../ports/registrar.ts";
import type { Service, WaitOptions } from "../ports/runtime.ts";
import type { Upkeep } from "../ports/upkeep.ts";
import { SweepPosition } from "../shared/sweep_position.ts";
import { alertsOf } from "./_alerts.ts";
import { warnOfOldCaptures } from "./_captures.ts";
import { dropEvent, getEvent, listEvents, readBacklog, requeueEvent } from "./_reads.ts";
import { Receipts } from "./_receipts.ts";
import { OutboxRecorder } from "./_recorder.ts";
import { Relay } from "./_relay.ts";
import { deleteOld } from "./_retention.ts";
import { type EventSettings, resolveEventSettings } from "./settings.ts";

/** The name of the periodic that deletes old events. */
export const RETENTION_PERIODIC = "outbox.retention";

/** What an {@linkcode Outbox} is made of. */
export interface OutboxOptions {
  /** Where it is. */
  readonly database: Database;
  /** The queue that subscribers' jobs go to, and that tells of their states, once it is built. */
  readonly jobs: () => Jobs & Inspector;
  /** The event types and subscriptions, once they are known. */
  readonly composition: () => Composition;
  /** Times and bounds. */
  readonly settings?: Partial<EventSettings>;
  /** Where it is recorded how the relay and the retention go. */
  readonly upkeep: Upkeep;
  /** For people. */
  readonly log: Log;
}

/** The outbox of one process: its recorder, its relay, the reads. */
export class Outbox implements Events, Service {
  /** Records events. */
  readonly recorder: Recorder;
  /** What it adds to the composition: the retention. */
  readonly registrar: Registrar;
  readonly #options: OutboxOptions;
  readonly #settings: EventSettings;
  readonly #receipts: Receipts;
  readonly #swept = new SweepPosition();
  #relay: Relay | undefined;

  /** Connects nothing and begins nothing. */
  constructor(options: OutboxOptions) {
    const { database, composition, upkeep } = options;
    this.#options = options;
    this.#settings = resolveEventSettings(options.settings);
    this.#receipts = new Receipts(database);
    this.recorder = new OutboxRecorder({ database, composition });
    const purging = () =>
      upkeep.task("purge events", {
        everyMs: this.#settings.purgeMs,
        failing: "old events not deleted, trying again",
      });
    this.registrar = {
      periodics: [{
        name: RETENTION_PERIODIC,
        every: this.#settings.purgeMs,
        handler: (_args, { signal }) => purging().run(() => this.#deleteOld(signal)),
      }],
    };
  }

  /** Counts, ages and sizes. */
  async backlog(): Promise<Backlog> {
    return await readBacklog(this.#options.database);
  }

  /** Events, newest first. */
  async list(filter: EventFilter = {}): Promise<EventSummary[]> {
    return await listEvents(this.#options.database, filter);
  }

  /** One event whole. */
  async get(id: EventId): Promise<EventDetail | null> {
    return await getEvent(this.#options.database, this.#options.jobs(), id);
  }

  /** Puts a poisoned event back in line. */
  async requeue(id: EventId): Promise<void> {
    await requeueEvent(this.#options.database, id);
  }

  /** Deletes a poisoned event. */
  async drop(id: EventId): Promise<void> {
    await dropEvent(this.#options.database, id);
    this.#options.log.info("poisoned event dropped", { eventId: id });
  }

  /** Resolves once an event has been fanned out, or at the deadline. */
  async awaitFanout(id: EventId, maxMs: number, options: WaitOptions = {}): Promise<Receipt> {
    return await this.#receipts.wait(id, maxMs, options);
  }

  /** The newest event about a subject. */
  async latestFor(subject: string): Promise<EventSummary | null> {
    return (await this.list({ subject, limit: 1 }))[0] ?? null;
  }

  /** What a person should look at. */
  async alerts(): Promise<Alert[]> {
    const [backlog, { kinds, upkeep }] = await Promise.all([this.backlog(), this.#options.jobs().overview()]);
    const { kinds: declared, alerts } = this.#options.composition();
    const others = await Promise.all(alerts.map((ask) => ask()));
    const alerting = kinds.filter(({ kind }) => declared.get(kind)?.discardAlert !== false);
    const discarded = alerting.map(({ kind, states }) => ({ kind, count: states.discarded }));
    return [...alertsOf({ backlog, discarded, upkeep }, this.#settings), ...others.flat()];
  }

  /** There is nothing to check beside the tables, which the runtime does. */
  open(): Promise<void> {
    return Promise.resolve();
  }

  /** Begins to fan out, where event types or subscriptions are declared: a program without them takes no part. */
  async start(): Promise<void> {
    const composition = this.#options.composition();
    if (!takesPart(composition)) return;
    const { database, jobs, upkeep, log } = this.#options;
    const onFanout = () => this.#receipts.lookNow();
    const settings = this.#settings;
    // Made before anything is waited for, so that a stop meanwhile finds it.
    const relay = this.#relay = new Relay({
      database,
      jobs: jobs(),
      composition,
      settings,
      onFanout,
      upkeep,
      log,
    });
    await warnOfOldCaptures(database, log);
    await relay.start();
  }

  /** Answers who waits for a fan-out, and ends after the present batch. Idempotent. */
  async stop(): Promise<void> {
    this.#receipts.stop();
    await this.#relay?.stop();
  }

  async #deleteOld(signal: AbortSignal): Promise<Json> {
    const { database, composition, log } = this.#options;
    const { retentionMs } = this.#settings;
    const keepers = composition().eventKeepers;
    const position = this.#swept;
    return { deleted: await deleteOld({ database, retentionMs, keepers, position, signal, log }) };
  }
}

/** Whether a composition has anything to do with events. */
export function takesPart({ eventTypes, subscriptions }: Composition): boolean {
  return eventTypes.size > 0 || subscriptions.size > 0;
}
