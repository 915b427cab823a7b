import { DefaultBackoff } from "../ports/backoff.ts";
import type { AttemptOutcome } from "../ports/executor.ts";
import type { Kind } from "../ports/kind.ts";
import { DELAY_MS_MAX } from "../ports/limits.ts";
import type { Claimed, SettledError, Settlement } from "../ports/store.ts";

/** The shortest snooze, in ms: a handler that snoozes for nothing must not spin. */
const SNOOZE_MS_MIN = 100;
/** How much a retry's delay is spread, up and down. */
const JITTER = 0.1;

/** What else is known of a run that has ended. */
export interface RunEnd {
  /** Whether the runtime aborted it, because a cancel was signalled or because it stops. */
  readonly aborted: boolean;
  /** From 0 to 1, for the jitter. */
  readonly random: number;
}

/** Decides what follows from an attempt: the one place where a retry is owned. */
export function settlementOf(job: Claimed, kind: Kind, outcome: AttemptOutcome, end: RunEnd): Settlement {
  const ref = { id: job.id, run: job.run };
  switch (outcome.type) {
    case "completed":
      if (!outcome.completedIn) return { ...ref, to: "completed", output: outcome.output, error: null };
      // If the transaction committed, the fence refuses this. If not, the work was rolled back: the attempt failed.
      return failure(job, kind, end, {
        class: "error",
        message: "The handler returned after completeIn, but the transaction did not commit",
      });
    case "snoozed":
      return {
        ...ref,
        to: "snooze",
        delayMs: Math.max(outcome.delayMs, SNOOZE_MS_MIN),
        error: null,
        alone: false,
      };
    case "discarded":
      return {
        ...ref,
        to: "discarded",
        output: null,
        error: { class: "discarded", message: outcome.reason },
      };
    case "failed":
      // The abort made it fail. Whether the row says that it is cancelled decides the store: a signal may be stale.
      if (end.aborted) {
        return { ...ref, to: "release", delayMs: 0, error: null, alone: job.alone };
      }
      return failure(job, kind, end, errorOf(outcome));
    case "released":
      return { ...ref, to: "release", delayMs: 0, error: null, alone: outcome.alone || job.alone };
  }
}

/** The attempt has failed after its end: what it returned can't be stored. */
export function failedAfterwards(job: Claimed, kind: Kind, message: string): Settlement {
  return failure(job, kind, { aborted: false, random: Math.random() }, { class: "error", message });
}

function failure(job: Claimed, kind: Kind, end: RunEnd, error: SettledError): Settlement {
  const ref = { id: job.id, run: job.run };
  if (job.attempt >= job.maxAttempts) return { ...ref, to: "discarded", output: null, error };
  const delayMs = retryDelayMs(kind, job.attempt, end.random);
  return { ...ref, to: "retry", delayMs, error, alone: job.alone && killsProcesses(error) };
}

/** What killed the process that it had for itself would kill the runtime's own, were it let back there. */
function killsProcesses(error: SettledError): boolean {
  return error.class === "crash" || error.class === "memory";
}

function errorOf(outcome: AttemptOutcome & { type: "failed" }): SettledError {
  const { message, stack } = outcome;
  return { class: outcome.class, message, ...(stack === undefined ? {} : { stack }) };
}

/** The delay before the next attempt, with jitter. A backoff function that fails or makes no sense is not obeyed. */
export function retryDelayMs(kind: Kind, attempt: number, random: number): number {
  const delayMs = asked(kind, attempt) ?? DefaultBackoff(attempt);
  return Math.min(Math.round(delayMs * (1 - JITTER + 2 * JITTER * random)), DELAY_MS_MAX);
}

/** What the kind's own backoff says, if it makes sense. */
function asked(kind: Kind, attempt: number): number | undefined {
  try {
    const delayMs = Number((kind.backoff ?? DefaultBackoff)(attempt));
    return delayMs >= 0 ? delayMs : undefined;
  } catch {
    // The user's function threw. The default is better than losing the retry.
    return undefined;
  }
}
