import type { Json } from "./json.ts";

/** Names one job. Opaque: only what an adapter handed out means anything to it. */
export type JobId = string;

/**
 * Where a job stands.
 *
 * - `pending`: waits, or is scheduled for later
 * - `running`: claimed by a process
 * - `retryable`: failed, its next attempt is scheduled
 * - `completed`: done
 * - `discarded`: failed for good, or its attempts are used up
 * - `cancelled`: called off
 */
export type JobState = "pending" | "running" | "retryable" | "completed" | "discarded" | "cancelled";

/** The states from which a job does not move by itself. */
export type FinalState = "completed" | "discarded" | "cancelled";

/** Every state, in the order of a job's life. */
export const JOB_STATES: readonly JobState[] = [
  "pending",
  "running",
  "retryable",
  "completed",
  "discarded",
  "cancelled",
];

/** Whether a job in this state has ended. */
export function isFinal(state: JobState): state is FinalState {
  return state === "completed" || state === "discarded" || state === "cancelled";
}

/**
 * Why an attempt failed.
 *
 * - `error`: the handler threw
 * - `timeout`: it passed its limit
 * - `crash`: its code ended or broke its thread or host process
 * - `memory`: its host process passed its memory cap
 * - `worker lost`: the runtime's own process died or was cut off
 * - `discarded`: the handler said that it can never succeed
 * - `superseded`: a newer job with its unique key waits or runs, and does its work; or it is a run of a periodic that
 *   waited for another attempt when the next one began
 */
export type FailureClass =
  | "error"
  | "timeout"
  | "crash"
  | "memory"
  | "worker lost"
  | "discarded"
  | "superseded";

/** What is kept of one failed attempt. */
export interface AttemptError {
  /** Which try failed; 1 is the first. */
  readonly attempt: number;
  /** When, by the database's clock, ISO 8601. */
  readonly at: string;
  /** What sort of failure. */
  readonly class: FailureClass;
  /** The message, at most 8,192 characters. */
  readonly message: string;
  /** The stack where there is one, at most 8,192 characters. */
  readonly stack?: string;
}

/** How far a running job says that it is. */
export interface JobProgress {
  /** From 0 to 1. */
  readonly done: number;
  /** The handler's note. */
  readonly note?: string;
}

/** One job as a list shows it. */
export interface JobSummary {
  /** The job's id. */
  readonly id: JobId;
  /** Its kind. */
  readonly kind: string;
  /** Its queue. */
  readonly queue: string;
  /** Where it stands. */
  readonly state: JobState;
  /** 1 (first) to 4. */
  readonly priority: number;
  /** How many tries it has had, the running one included. */
  readonly attempt: number;
  /** How many tries it has in all. */
  readonly maxAttempts: number;
  /** How often it was snoozed. */
  readonly snoozes: number;
  /** When it was enqueued, ISO 8601. */
  readonly enqueuedAt: string;
  /** When it is or was due, ISO 8601. */
  readonly scheduledAt: string;
  /** When its last run was claimed, ISO 8601; null before the first. */
  readonly claimedAt: string | null;
  /** When it ended, ISO 8601; null before that. */
  readonly finishedAt: string | null;
  /** The first 200 characters of its args as JSON text. */
  readonly argsPreview: string;
}

/** One job whole. */
export interface JobDetail extends JobSummary {
  /** How often it was claimed. Every write of a run is fenced by it. */
  readonly run: number;
  /**
   * Its args. An integer beyond 2^53 is changed by JavaScript: see `unsafeNumbers`. Null when somebody's SQL has nested
   * them deeper than 500 levels: see `argsText`.
   */
  readonly args: Json;
  /** Its args as the stored JSON text, digit by digit. */
  readonly argsText: string;
  /** Paths in the args whose integer JavaScript can't hold, with the stored digits. Almost always empty. */
  readonly unsafeNumbers: readonly { readonly path: string; readonly digits: string }[];
  /** What its handler returned; null when there is nothing. */
  readonly output: Json;
  /** The failed attempts, oldest first; the first and the newest 99 are kept. */
  readonly errors: readonly AttemptError[];
  /** What its latest run last told of its progress; null when nothing. */
  readonly progress: JobProgress | null;
  /** Whether a cancel was asked for while it runs. */
  readonly cancelRequested: boolean;
  /** Whether its next run is made alone in a host process, because it may have killed a process. */
  readonly alone: boolean;
  /** Whether it was enqueued with `uniqueByArgs`, or under a rule of its kind. */
  readonly unique: boolean;
}
