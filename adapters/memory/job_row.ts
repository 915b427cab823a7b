import { type AttemptError, isFinal, type JobId, type JobProgress, type JobState } from "../../ports/job.ts";
import { ERRORS_KEPT_MAX } from "../../ports/limits.ts";
import {
  type NewJob,
  type RunRef,
  type SettledError,
  type Settlement,
  SUPERSEDED,
} from "../../ports/store.ts";

/** One job as it is kept. Never changed in place: each transition makes a new one, so a transaction can hold it. */
export interface JobRow {
  readonly id: JobId;
  /** The id as a number: ids rise in the order of insertion. */
  readonly seq: number;
  readonly kind: string;
  readonly queue: string;
  readonly args: string;
  readonly priority: number;
  /** The unique key; null for a job without one. */
  readonly key: string | null;
  /** The periodic that it is a run of. */
  readonly periodic: string | null;
  readonly state: JobState;
  readonly run: number;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly snoozes: number;
  readonly enqueuedAtMs: number;
  readonly scheduledAtMs: number;
  readonly claimedAtMs: number | null;
  readonly finishedAtMs: number | null;
  readonly owner: string | null;
  /** Whether its run has started: a claimed job that did not costs nothing when its process dies. */
  readonly started: boolean;
  readonly cancelRequested: boolean;
  readonly alone: boolean;
  /** Put out of the way, for no process that claimed it declares its kind. */
  readonly putAside: boolean;
  readonly output: string | null;
  readonly errors: readonly AttemptError[];
  readonly progress: JobProgress | null;
}

/** Whether a job was put aside: it waits, but is in no line. */
export function liesAside(row: JobRow): boolean {
  return row.putAside && waits(row);
}

/** Whether a job waits. */
export function waits(row: JobRow): boolean {
  return row.state === "pending" || row.state === "retryable";
}

/** Whether a job waits for its first run. */
export function isNew(row: JobRow): boolean {
  return row.state === "pending" && row.run === 0;
}

/** Whether a job may hold its unique key. */
export function holdsKey(row: JobRow): boolean {
  return row.key !== null && row.state !== "discarded" && row.state !== "cancelled";
}

/** A job that has just been enqueued. */
export function newRow(
  job: NewJob,
  made: { seq: number; key: string | null; periodic: string | null; nowMs: number; dueMs: number },
): JobRow {
  return {
    id: String(made.seq),
    seq: made.seq,
    kind: job.kind,
    queue: job.queue,
    args: job.args,
    priority: job.priority,
    key: made.key,
    periodic: made.periodic,
    state: "pending",
    run: 0,
    attempt: 0,
    maxAttempts: job.maxAttempts,
    snoozes: 0,
    enqueuedAtMs: made.nowMs,
    scheduledAtMs: made.dueMs,
    claimedAtMs: null,
    finishedAtMs: null,
    owner: null,
    started: false,
    cancelRequested: false,
    alone: false,
    putAside: false,
    output: null,
    errors: [],
    progress: null,
  };
}

/** A job taken by a process. */
export function claimedRow(row: JobRow, owner: string, started: boolean, nowMs: number): JobRow {
  return {
    ...row,
    state: "running",
    run: row.run + 1,
    attempt: row.attempt + 1,
    claimedAtMs: nowMs,
    owner,
    started,
    putAside: false,
    progress: null,
  };
}

/** A running job whose run has ended. It does not go back in line where another job has taken its key. */
export function settledRow(
  row: JobRow,
  settlement: Settlement,
  nowMs: number,
  supersededBy: JobId | null,
): JobRow {
  const noted = withError(row, settlement.error, nowMs);
  if (row.cancelRequested) return endedRow(noted, "cancelled", null, nowMs);
  if (!isFinal(settlement.to as JobState) && supersededBy !== null) {
    return supersededRow(noted, supersededBy, nowMs);
  }
  switch (settlement.to) {
    case "completed":
    case "discarded":
    case "cancelled":
      return endedRow(noted, settlement.to, settlement.output, nowMs);
    case "retry":
      return {
        ...inLine(noted, noted.attempt, nowMs + settlement.delayMs),
        alone: settlement.alone,
      };
    case "snooze":
    case "release":
    case "put aside":
      return {
        ...inLine(noted, uncharged(noted), nowMs + settlement.delayMs),
        alone: settlement.alone,
        putAside: settlement.to === "put aside",
        snoozes: noted.snoozes + (settlement.to === "snooze" ? 1 : 0),
      };
  }
}

/** A job that has ended. A cancelled one keeps no output, whatever its handler returned. */
export function endedRow(
  row: JobRow,
  state: "completed" | "discarded" | "cancelled",
  output: string | null,
  nowMs: number,
): JobRow {
  return {
    ...row,
    state,
    output: state === "cancelled" ? null : output,
    finishedAtMs: nowMs,
    owner: null,
    started: false,
    putAside: false,
    cancelRequested: false,
  };
}

/** Whether a job that has run before waits for a later time. */
export function waitsForLater(row: JobRow, nowMs: number): boolean {
  return waits(row) && row.run > 0 && !row.putAside && row.scheduledAtMs > nowMs;
}

/** A run of a periodic that waited for a later attempt when the next one began. */
export function supersededRun(row: JobRow, nowMs: number): JobRow {
  return endedRow(withError(row, SUPERSEDED, nowMs), "cancelled", null, nowMs);
}

/** A job that was called off: at once while it waits, by a mark while it runs. A final one stays as it is. */
export function cancelledRow(row: JobRow, nowMs: number): JobRow {
  if (isFinal(row.state)) return row;
  return row.state === "running"
    ? { ...row, cancelRequested: true }
    : endedRow(row, "cancelled", null, nowMs);
}

/** A job whose process died. What had started has spent its attempt, and may have been what killed it. */
export function rescuedRow(
  row: JobRow,
  message: string,
  nowMs: number,
  supersededBy: JobId | null,
): JobRow {
  const noted = row.started ? withError(row, { class: "worker lost", message }, nowMs) : row;
  if (row.cancelRequested) return endedRow(noted, "cancelled", null, nowMs);
  if (row.started && row.attempt >= row.maxAttempts) return endedRow(noted, "discarded", null, nowMs);
  if (supersededBy !== null) return supersededRow(noted, supersededBy, nowMs);
  if (!row.started) return inLine(row, uncharged(row), nowMs);
  return { ...inLine(noted, noted.attempt, nowMs), alone: true };
}

/** A job that a person put back in line: due now, with at least one more attempt. */
export function retriedRow(row: JobRow, nowMs: number): JobRow {
  return {
    ...inLine(row, row.attempt, nowMs),
    state: "pending",
    maxAttempts: Math.max(row.maxAttempts, row.attempt + 1),
    finishedAtMs: null,
    output: null,
    progress: null,
  };
}

/** Whether a running job has ended because another one has its key. */
export function isSuperseded(row: JobRow, next: JobRow): boolean {
  return !row.cancelRequested && next.state === "cancelled" && next.errors.at(-1)?.class === "superseded";
}

function supersededRow(row: JobRow, by: JobId, nowMs: number): JobRow {
  const message = `superseded by job ${by}, which has the same unique key`;
  return endedRow(withError(row, { class: "superseded", message }, nowMs), "cancelled", null, nowMs);
}

function inLine(row: JobRow, attempt: number, dueMs: number): JobRow {
  return {
    ...row,
    state: attempt === 0 ? "pending" : "retryable",
    attempt,
    scheduledAtMs: dueMs,
    owner: null,
    started: false,
    putAside: false,
    cancelRequested: false,
  };
}

function uncharged(row: JobRow): number {
  return Math.max(row.attempt - 1, 0);
}

function withError(row: JobRow, error: SettledError | null, nowMs: number): JobRow {
  if (error === null) return row;
  const entry: AttemptError = { attempt: row.attempt, at: new Date(nowMs).toISOString(), ...error };
  const errors = [...row.errors, entry];
  // The first error tells how it began, the newest how it stands; what is between is worth least.
  if (errors.length > ERRORS_KEPT_MAX) errors.splice(1, errors.length - ERRORS_KEPT_MAX);
  return { ...row, errors };
}

/** Whether a job is in this run. */
export function isRun(row: JobRow, ref: RunRef): boolean {
  return row.state === "running" && row.run === ref.run;
}
