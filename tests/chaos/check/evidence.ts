import type { FailureClass, JobState } from "../../../ports/job.ts";
import type { Line } from "../journal.ts";

/** A job as the tables have it at the end. */
export interface JobRow {
  /** The id. */
  readonly id: string;
  /** The kind. */
  readonly kind: string;
  /** The state. */
  readonly state: JobState;
  /** How many tries were counted. */
  readonly attempt: number;
  /** How many there are. */
  readonly maxAttempts: number;
  /** How often it was claimed. */
  readonly run: number;
  /** How often it was snoozed. */
  readonly snoozes: number;
  /** The tag of its args; null for a periodic's. */
  readonly tag: string | null;
  /** Its unique key; null when it has none. */
  readonly key: string | null;
  /** What it follows the changes of; null when it is of another kind. */
  readonly thing: string | null;
  /** The event that its args tell of; null when they tell of none. */
  readonly event: string | null;
  /** Its failed attempts. */
  readonly errors: readonly { readonly attempt: number; readonly class: FailureClass; readonly at: string }[];
  /** Which execution's output was kept. */
  readonly output: string | null;
  /** When it was due last, ms since the epoch. */
  readonly scheduledAt: number;
  /** When it was enqueued, ms since the epoch. */
  readonly enqueuedAt: number;
  /** When it ended, ms since the epoch; null when it has not. */
  readonly finishedAt: number | null;
}

/** An event as the outbox has it at the end. */
export interface EventRow {
  /** The id. */
  readonly id: string;
  /** Its place in the order of recording. */
  readonly seq: number;
  /** The type. */
  readonly type: string;
  /** What it is about. */
  readonly subject: string;
  /** The tag of its data. */
  readonly tag: string;
  /** Each subscriber's job; null until it was fanned out. */
  readonly fanout: Readonly<Record<string, string>> | null;
  /** Why it could not be fanned out, if it ever could not. */
  readonly lastError: string | null;
  /** When it was recorded, in its transaction, ms since the epoch. */
  readonly occurredAt: number;
}

/** A delivery as the tables have it at the end, when a person has put right what others had disabled and cancelled. */
export interface DeliveryRow {
  /** The name of the endpoint. */
  readonly endpoint: string;
  /** The event. */
  readonly event: string;
  /** The replay that it belongs to; empty for the fan-out's. */
  readonly replay: string;
  /** Its place in the order in which they were made. */
  readonly seq: number;
  /** The state. */
  readonly state: string;
  /** Why it was discarded; null when it was not. */
  readonly reason: string | null;
  /** Whether a person has put it back in line. */
  readonly wasRedelivered: boolean;
}

/** A delivery that nobody would have made any more, before a person put it right. */
export interface GivenUpRow {
  /** The name of the endpoint. */
  readonly endpoint: string;
  /** The event. */
  readonly event: string;
  /** Its job. */
  readonly job: string;
  /** Why it was discarded; null where it waits and its job has ended. */
  readonly reason: string | null;
  /** Whether it is among the alerts. */
  readonly isAlert: boolean;
  /** When it was last put in line, ms since the epoch. */
  readonly queuedAt: number;
  /** When it was discarded, ms since the epoch; null where it was not. */
  readonly endedAt: number | null;
}

/** A replay that has completed. */
export interface ReplayRow {
  /** Its job. */
  readonly job: string;
  /** How many deliveries it says that it made. */
  readonly queued: number;
  /** How many there are. */
  readonly deliveries: number;
}

/** All that is known of a run when it is over: what happened, and what the tables say. */
export interface Evidence {
  /** The journal, in its order. */
  readonly lines: readonly Line[];
  /** Every job. */
  readonly jobs: readonly JobRow[];
  /** What handlers wrote in the transactions of `completeIn`. */
  readonly effects: readonly { readonly jobId: string; readonly execution: string }[];
  /** The tags of the orders that were committed. */
  readonly orders: readonly string[];
  /** The changes that were committed. */
  readonly changes: readonly Change[];
  /** Every event. */
  readonly events: readonly EventRow[];
  /** The tags of the facts that were committed. */
  readonly facts: readonly string[];
  /** Who is to be told, and of what. */
  readonly subscribers: readonly {
    readonly name: string;
    readonly types: readonly string[];
    readonly coalesces: boolean;
  }[];
  /** Where webhooks go. */
  readonly endpoints: readonly { readonly name: string; readonly ordered: boolean }[];
  /** The types that leave the house. */
  readonly exposed: readonly string[];
  /** Every delivery. */
  readonly deliveries: readonly DeliveryRow[];
  /** What had been given up before a person put it right. */
  readonly givenUp: readonly GivenUpRow[];
  /** Every replay that has completed. */
  readonly replays: readonly ReplayRow[];
  /** The periods of the periodics, in ms, by name. */
  readonly periods: Readonly<Record<string, number>>;
  /** After how long without a heartbeat a process counts as lost, in ms. */
  readonly lostAfterMs: number;
  /** Unique keys that more than one live or completed job had, in one snapshot taken during the run. */
  readonly sharedKeys: readonly string[];
}

/** Something that jobs of a kind follow has changed: in the same transaction one of them was offered. */
export interface Change {
  /** Its number. Numbers are not in the order of the commits. */
  readonly number: number;
  /** The kind. */
  readonly kind: string;
  /** What has changed. */
  readonly thing: string;
}

/** A rule that was broken. */
export interface Violation {
  /** The rule, in a few words. */
  readonly rule: string;
  /** The job, if it is one's. */
  readonly job?: string;
  /** The event, if it is one's. */
  readonly event?: string;
  /** What was seen. */
  readonly text: string;
}
