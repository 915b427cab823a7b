import type { AttemptOutcome } from "../ports/executor.ts";
import type { Kind } from "../ports/kind.ts";
import type { Log } from "../ports/log.ts";
import type { Claimed, Settlement } from "../ports/store.ts";

/** An attempt that has ended. */
export interface EndedAttempt {
  /** The job. */
  readonly job: Claimed;
  /** Its kind. */
  readonly kind: Kind;
  /** How it ended. */
  readonly outcome: AttemptOutcome;
  /** What becomes of the job. */
  readonly settlement: Settlement;
  /** How long it took, in ms. */
  readonly tookMs: number;
}

/** Tells of what went wrong, for whoever is on call: with which job, and what happens next. Who looks closer sees the rest. */
export function reportAttempt(log: Log, { job, kind, outcome, settlement, tookMs }: EndedAttempt): void {
  if (outcome.type === "completed") {
    // Whether its own transaction has committed is not known here.
    log.debug(outcome.completedIn ? "handler has completed its job in a transaction" : "job completed", {
      jobId: job.id,
      kind: job.kind,
      attempt: job.attempt,
      tookMs: Math.round(tookMs),
    });
    return;
  }
  const next = settlement.to === "retry" || settlement.to === "snooze" ? { inMs: settlement.delayMs } : {};
  const fields = {
    jobId: job.id,
    kind: job.kind,
    attempt: job.attempt,
    of: job.maxAttempts,
    next: settlement.to,
    ...next,
  };
  if (outcome.type === "snoozed") log.debug("job snoozed", fields);
  else if (outcome.type === "failed" && settlement.to === "release") {
    // It did as it was told: its job was cancelled, or the runtime stops.
    log.debug("run ended on its abort", { ...fields, class: outcome.class, error: outcome.message });
  } else if (outcome.type === "failed") {
    log.warn("attempt failed", { ...fields, class: outcome.class, error: outcome.message });
  } else if (outcome.type === "discarded") {
    const level = kind.discardAlert === false ? "debug" : "warn";
    log[level]("handler discarded its job", { ...fields, reason: outcome.reason });
  } else if (outcome.type === "released") {
    log.warn("run given back", { ...fields, reason: outcome.reason });
  }
}
