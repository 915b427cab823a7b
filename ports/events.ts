import type { EventId, RecordedEvent } from "./event.ts";
import type { JobId, JobState } from "./job.ts";
import type { WaitOptions } from "./runtime.ts";

/** Where an event is: waiting for its fan-out, fanned out, or set aside because its fan-out failed 5 times. */
export type EventState = "waiting" | "fanned out" | "poisoned";

/** The outbox at a glance. */
export interface Backlog {
  /** Events that wait for their fan-out, the poisoned ones not counted. Past 10,000 it says 10,000. */
  readonly waiting: number;
  /** Age of the oldest of them, in ms; null when none waits. */
  readonly oldestMs: number | null;
  /** Events that were set aside. */
  readonly poisoned: number;
  /** The size of the outbox and its indexes, in bytes. */
  readonly bytes: number;
}

/** Which events a list holds. */
export interface EventFilter {
  /** Of this type, or of the types that this glob matches. */
  readonly type?: string;
  /** About this subject. */
  readonly subject?: string;
  /** Of this owner. Left out, of everybody; `undefined` and an empty text are refused. */
  readonly ownerId?: string;
  /** In this state. */
  readonly state?: EventState;
  /** Older than this event, for the next page. */
  readonly before?: EventId;
  /** At most this many, 1 to 1,000. Default 50. */
  readonly limit?: number;
}

/** What a list shows of an event. */
export interface EventSummary {
  /** The event's id. */
  readonly id: EventId;
  /** Its type. */
  readonly type: string;
  /** What it is about. */
  readonly subject: string;
  /** To whom it belongs. */
  readonly ownerId: string | null;
  /** When it was recorded, ISO 8601. */
  readonly occurredAt: string;
  /** Where it is. */
  readonly state: EventState;
  /** When its jobs were enqueued, ISO 8601; null before that. */
  readonly fannedOutAt: string | null;
  /**
   * The job of each subscriber, by the subscription's name; null before the fan-out. Where some were refused it, those of the
   * others.
   */
  readonly jobs: Readonly<Record<string, JobId>> | null;
  /** How often its fan-out has failed. */
  readonly failures: number;
  /** Why it failed last; null when it did not. */
  readonly lastError: string | null;
}

/** What became of an event at one subscriber. */
export interface SubscriberState {
  /** The subscription. */
  readonly subscription: string;
  /** Its job. Events that were coalesced share one. */
  readonly jobId: JobId;
  /** The job's state; null when retention has purged it. */
  readonly state: JobState | null;
}

/** One event whole. */
export interface EventDetail extends EventSummary {
  /** The event as its subscribers get it. */
  readonly event: RecordedEvent;
  /** What became of it at each subscriber, by the subscription's name. Empty before the fan-out. */
  readonly subscribers: readonly SubscriberState[];
}

/** Says that an event has been fanned out, and under which jobs. */
export type Receipt =
  | {
    readonly fannedOut: false;
    /**
     * - `timeout`: the time is up, and the event waits for its fan-out
     * - `gone`: there is no such event: it was deleted, its transaction was rolled back, or there never was one
     * - `poisoned`: its fan-out has failed 5 times; it waits for {@linkcode Events.requeue}
     * - `stopped`: the runtime stops
     */
    readonly reason: "timeout" | "gone" | "poisoned" | "stopped";
  }
  | {
    readonly fannedOut: true;
    /** The job of each subscriber, by the subscription's name: what `wait` takes. */
    readonly jobs: Readonly<Record<string, JobId>>;
  };

/** Something that a person should look at. */
export interface Alert {
  /**
   * - `backlog`: more events wait than the bound
   * - `backlog age`: one waits for longer than the bound, in ms
   * - `poisoned`: events were set aside
   * - `discarded`: jobs were given up, of kinds whose `discardAlert` is not false
   * - `deliveries`: webhook deliveries were given up without a person's doing
   * - `upkeep`: work beside the jobs has failed for longer than the bound, in ms, or nobody has done it; one per task
   */
  readonly name: "backlog" | "backlog age" | "poisoned" | "discarded" | "deliveries" | "upkeep";
  /** How many, or how long in ms. */
  readonly value: number;
  /** Above this it is an alert. */
  readonly bound: number;
  /** What is the matter and what to do, for people. */
  readonly message: string;
}

/** Looks at recorded events and mends them. */
export interface Events {
  /** Counts, ages and sizes. */
  backlog(): Promise<Backlog>;

  /** Events, newest first. A type, subject or owner that is rare is searched for through the whole outbox. */
  list(filter?: EventFilter): Promise<EventSummary[]>;

  /** One event whole, with what became of it at each subscriber; null when there is none. */
  get(id: EventId): Promise<EventDetail | null>;

  /**
   * Puts a poisoned event back in line, its failures forgotten.
   *
   * @throws {EventNotFoundError} there is none.
   * @throws {EventNotPoisonedError} it is not poisoned.
   */
  requeue(id: EventId): Promise<void>;

  /**
   * Deletes a poisoned event for good: nobody else is told of it. Subscribers that were given it already keep it.
   *
   * @throws {EventNotFoundError} there is none.
   * @throws {EventNotPoisonedError} it is not poisoned.
   */
  drop(id: EventId): Promise<void>;

  /**
   * Resolves once an event has been fanned out, or with the reason why it was not: after `maxMs`, at a stop, when it is
   * poisoned, or once it is certain that it is gone, as for {@linkcode Runtime.wait}.
   *
   * @throws {InvalidOptionError} the id is none of an event, `maxMs` is below 0 or no number, or the signal is none.
   */
  awaitFanout(id: EventId, maxMs: number, options?: WaitOptions): Promise<Receipt>;

  /**
   * The newest event about a subject, whoever its owner is, for a change whose event a trigger has recorded; null when there
   * is none. Where subjects of several owners can be alike, `list({ subject, ownerId, limit: 1 })` asks for one of them.
   */
  latestFor(subject: string): Promise<EventSummary | null>;

  /** What a person should look at. Empty when all is well. */
  alerts(): Promise<Alert[]>;
}
