import type { Json } from "./json.ts";

/** The id of a job. It is opaque: only ids that an adapter handed out are meaningful to it. */
export type JobId = string;

/**
 * The state of a job.
 *
 * - `pending`: waiting, or scheduled for later
 * - `running`: claimed by a process
 * - `retryable`: failed, its next attempt is scheduled
 * - `completed`: done
 * - `discarded`: failed for good, or its attempts are used up
 * - `cancelled`: cancelled
 */
export type JobState = "pending" | "running" | "retryable" | "completed" | "discarded" | "cancelled";

/** The states that a job doesn't leave on its own. */
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
 * - `timeout`: it exceeded its time limit
 * - `crash`: its code ended or broke its thread or host process
 * - `memory`: its host process exceeded its memory cap
 * - `worker lost`: the runtime's own process died or was cut off
 * - `discarded`: the handler reported that it can never succeed
 * - `superseded`: a newer job with its unique key is waiting or running and does its work; or it is a periodic's run
 *   that was waiting for another attempt when the next run began
 */
export type FailureClass =
  | "error"
  | "timeout"
  | "crash"
  | "memory"
  | "worker lost"
  | "discarded"
  | "superseded";

/** The record of one failed attempt. */
export interface AttemptError {
  /** The attempt that failed; 1 is the first. */
  readonly attempt: number;
  /** When, by the database's clock, ISO 8601. */
  readonly at: string;
  /** The class of failure. */
  readonly class: FailureClass;
  /** The message, at most 8,192 characters. */
  readonly message: string;
  /** The stack, if there is one, at most 8,192 characters. */
  readonly stack?: string;
}

/** The progress that a running job has reported. */
export interface JobProgress {
  /** From 0 to 1. */
  readonly done: number;
  /** The handler's note. */
  readonly note?: string;
}

/** A job as listed. */
export interface JobSummary {
  /** The job's id. */
  readonly id: JobId;
  /** Its kind. */
  readonly kind: string;
  /** Its queue. */
  readonly queue: string;
  /** Its state. */
  readonly state: JobState;
  /** 1 (first) to 4. */
  readonly priority: number;
  /** How many attempts it has had, including the running one. */
  readonly attempt: number;
  /** How many attempts it has in all. */
  readonly maxAttempts: number;
  /** How often it was snoozed. */
  readonly snoozes: number;
  /** When it was enqueued, ISO 8601. */
  readonly enqueuedAt: string;
  /** When it is or was due, ISO 8601. */
  readonly scheduledAt: string;
  /** When its last run was claimed, ISO 8601; null before the first. */
  readonly claimedAt: string | null;
  /** When it ended, ISO 8601; null before then. */
  readonly finishedAt: string | null;
  /** The first 200 characters of its args as JSON text. */
  readonly argsPreview: string;
}

/** A job in full. */
export interface JobDetail extends JobSummary {
  /** How often it was claimed. Every write of a run is fenced by this number. */
  readonly run: number;
  /**
   * Its args. JavaScript changes integers beyond 2^53: see `unsafeNumbers`. Null when someone's SQL nested them deeper
   * than 500 levels: see `argsText`.
   */
  readonly args: Json;
  /** Its args as the stored JSON text, with exact digits. */
  readonly argsText: string;
  /** Paths to integers in the args that JavaScript can't represent, with their stored digits. Almost always empty. */
  readonly unsafeNumbers: readonly { readonly path: string; readonly digits: string }[];
  /** What its handler returned; null when it returned nothing. */
  readonly output: Json;
  /** The failed attempts, oldest first; the first and the newest 99 are kept. */
  readonly errors: readonly AttemptError[];
  /** The progress that its latest run last reported; null when there is none. */
  readonly progress: JobProgress | null;
  /** Whether a cancel was requested while it runs. */
  readonly cancelRequested: boolean;
  /** Whether its next run will be alone in a host process, because it may have killed a process. */
  readonly alone: boolean;
  /** Whether it was enqueued with `uniqueByArgs`, or under its kind's rule. */
  readonly unique: boolean;
}
