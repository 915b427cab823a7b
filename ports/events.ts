import type { EventId, RecordedEvent } from "./event.ts";
import type { JobId, JobState } from "./job.ts";
import type { WaitOptions } from "./runtime.ts";

/** The state of an event: waiting for its fan-out, fanned out, or set aside because its fan-out failed 5 times. */
export type EventState = "waiting" | "fanned out" | "poisoned";

/** A summary of the outbox. */
export interface Backlog {
  /** Events waiting for their fan-out, excluding poisoned ones. The count stops at 10,000. */
  readonly waiting: number;
  /** Age of the oldest waiting event, in ms; null when none waits. */
  readonly oldestMs: number | null;
  /** Poisoned events, which were set aside. */
  readonly poisoned: number;
  /** The size of the outbox and its indexes, in bytes. */
  readonly bytes: number;
}

/** Selects the events to list. */
export interface EventFilter {
  /** Only events of this type, or of types that match this glob. */
  readonly type?: string;
  /** Only events with this subject. */
  readonly subject?: string;
  /** Only events of this owner. Default: all owners. `undefined` and an empty string are refused. */
  readonly ownerId?: string;
  /** Only events in this state. */
  readonly state?: EventState;
  /** Only events older than this one, for the next page. */
  readonly before?: EventId;
  /** At most this many, 1 to 1,000. Default 50. */
  readonly limit?: number;
}

/** An event as listed. */
export interface EventSummary {
  /** The event's id. */
  readonly id: EventId;
  /** Its type. */
  readonly type: string;
  /** Its subject. */
  readonly subject: string;
  /** Its owner. */
  readonly ownerId: string | null;
  /** When it was recorded, ISO 8601. */
  readonly occurredAt: string;
  /** Its state. */
  readonly state: EventState;
  /** When its jobs were enqueued, ISO 8601; null before then. */
  readonly fannedOutAt: string | null;
  /** Each subscriber's job, by subscription name; null before the fan-out. Jobs that the store refused are left out. */
  readonly jobs: Readonly<Record<string, JobId>> | null;
  /** How often its fan-out has failed. */
  readonly failures: number;
  /** Why the fan-out last failed; null when it hasn't failed. */
  readonly lastError: string | null;
}

/** The result of an event for one subscriber. */
export interface SubscriberState {
  /** The subscription's name. */
  readonly subscription: string;
  /** Its job. Coalesced events share one. */
  readonly jobId: JobId;
  /** The job's state; null when retention has purged it. */
  readonly state: JobState | null;
}

/** An event in full. */
export interface EventDetail extends EventSummary {
  /** The event as subscribers receive it. */
  readonly event: RecordedEvent;
  /** The result for each subscriber, by subscription name. Empty before the fan-out. */
  readonly subscribers: readonly SubscriberState[];
}

/** Whether an event has been fanned out, and with which jobs. */
export type Receipt =
  | {
    readonly fannedOut: false;
    /**
     * - `timeout`: `maxMs` passed, and the event is still waiting for its fan-out
     * - `gone`: the event doesn't exist: it was deleted, its transaction was rolled back, or it never existed
     * - `poisoned`: its fan-out failed 5 times; it waits for {@linkcode Events.requeue}
     * - `stopped`: the runtime is stopping
     */
    readonly reason: "timeout" | "gone" | "poisoned" | "stopped";
  }
  | {
    readonly fannedOut: true;
    /** Each subscriber's job, by subscription name. Pass one to `wait`. */
    readonly jobs: Readonly<Record<string, JobId>>;
  };

/** A condition that needs a person's attention. */
export interface Alert {
  /**
   * - `backlog`: more events are waiting than the bound
   * - `backlog age`: an event has waited longer than the bound, in ms
   * - `poisoned`: events were set aside
   * - `discarded`: jobs were discarded, of kinds whose `discardAlert` is not false
   * - `deliveries`: webhook deliveries were given up, other than by a person
   * - `upkeep`: an upkeep task has failed for longer than the bound, in ms, or is overdue because nobody does it; one
   *   alert per task
   */
  readonly name: "backlog" | "backlog age" | "poisoned" | "discarded" | "deliveries" | "upkeep";
  /** The count, or the duration in ms. */
  readonly value: number;
  /** The alert is raised when the value exceeds this. */
  readonly bound: number;
  /** What is wrong and what to do, for people. */
  readonly message: string;
}

/** Inspects and repairs recorded events. */
export interface Events {
  /** Returns counts, ages and sizes. */
  backlog(): Promise<Backlog>;

  /** Lists events, newest first. Searching for a rare type, subject or owner scans the whole outbox. */
  list(filter?: EventFilter): Promise<EventSummary[]>;

  /** Returns an event in full, with its result for each subscriber; null when there is none. */
  get(id: EventId): Promise<EventDetail | null>;

  /**
   * Requeues a poisoned event and resets its failure count.
   *
   * @throws {EventNotFoundError} if there is no such event.
   * @throws {EventNotPoisonedError} if it is not poisoned.
   */
  requeue(id: EventId): Promise<void>;

  /**
   * Deletes a poisoned event permanently: no further subscriber receives it. Jobs it already led to stay.
   *
   * @throws {EventNotFoundError} if there is no such event.
   * @throws {EventNotPoisonedError} if it is not poisoned.
   */
  drop(id: EventId): Promise<void>;

  /**
   * Resolves once an event has been fanned out. Otherwise resolves with the reason: `maxMs` passed, the runtime
   * stopped, the event is poisoned, or it is certain to be gone, as defined for {@linkcode Runtime.wait}.
   *
   * @throws {InvalidOptionError} if the id is not an event's, `maxMs` is negative or not a number, or the signal is not
   * an `AbortSignal`.
   */
  awaitFanout(id: EventId, maxMs: number, options?: WaitOptions): Promise<Receipt>;

  /**
   * Returns the newest event about a subject, for any owner; null when there is none. Use it to find the event that a
   * trigger recorded for a change.
   *
   * If several owners can have the same subject, use `list({ subject, ownerId, limit: 1 })`.
   */
  latestFor(subject: string): Promise<EventSummary | null>;

  /** Returns the alerts. Empty when all is well. */
  alerts(): Promise<Alert[]>;
}
