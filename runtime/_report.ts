import type { AttemptOutcome, Claimed, Kind, Log, Settlement } from "../ports/mod.ts";

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
}

/** Tells of what went wrong, for whoever is on call: with which job, and what happens next. */
export function reportAttempt(log: Log, { job, kind, outcome, settlement }: EndedAttempt): void {
  if (outcome.type === "completed" || outcome.type === "snoozed") return;
  const next = settlement.to === "retry" ? { inMs: settlement.delayMs } : {};
  const fields = {
    job: job.id,
    kind: job.kind,
    attempt: job.attempt,
    of: job.maxAttempts,
    next: settlement.to,
    ...next,
  };
  if (outcome.type === "failed") {
    log.warn("attempt failed", { ...fields, class: outcome.class, error: outcome.message });
  } else if (outcome.type === "discarded") {
    const level = kind.discardAlert === false ? "debug" : "warn";
    log[level]("handler discarded its job", { ...fields, reason: outcome.reason });
  } else if (outcome.type === "released") {
    log.warn("run given back", { ...fields, reason: outcome.reason });
  }
}
