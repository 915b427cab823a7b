import type { AbortReason, AttemptOutcome } from "../ports/executor.ts";
import { isDiscard, isSnooze } from "../ports/handler.ts";
import type { FailureClass } from "../ports/job.ts";
import { boundedDelay } from "./bounds.ts";
import { describeError, keepableText } from "./describe_error.ts";

/**
 * Why a signal was aborted: told by the job layer; because the time is up; because its own code threw where nobody catches;
 * or because whoever called the module has ended, or was told to.
 */
export type AbortCause = AbortReason | "timeout" | "crash" | "caller";

/** What happened to the process, for the causes that put an attempt back. */
const RELEASING: Readonly<Partial<Record<AbortCause, string>>> = {
  stop: "the runtime stopped",
  rescued: "this process was taken for dead, and the job was given to another",
};

/** What a thrown value makes of an attempt. */
export function outcomeOfThrown(thrown: unknown, failureClass: FailureClass = "error"): AttemptOutcome {
  try {
    if (isSnooze(thrown)) return { type: "snoozed", delayMs: boundedDelay(thrown.delayMs) };
    if (isDiscard(thrown)) return { type: "discarded", reason: keepableText(String(thrown.reason)) };
  } catch {
    // A value that throws when it is looked at is neither.
  }
  return { type: "failed", class: failureClass, ...describeError(thrown) };
}

/** What is made of an outcome that came after the signal was aborted for `cause`. */
export function outcomeAfterAbort(
  outcome: AttemptOutcome,
  cause: AbortCause | null,
  timeoutMs: number,
): AttemptOutcome {
  // The job's own transaction has decided, and the row tells how.
  if (outcome.type === "completed" && outcome.completedIn) return outcome;
  if (cause === "timeout") return timedOut(timeoutMs, "ended after its signal was aborted");
  const releasing = cause === null ? undefined : RELEASING[cause];
  if (releasing !== undefined && outcome.type === "failed") {
    return { type: "released", reason: releasing, alone: false };
  }
  return outcome;
}

/** The failure of an attempt that passed its limit. */
export function timedOut(timeoutMs: number, how: string): AttemptOutcome {
  return { type: "failed", class: "timeout", message: `passed its limit of ${timeoutMs} ms: ${how}` };
}

/** The end of an attempt that did not heed its aborted signal for the grace. */
export function endedByForce(cause: AbortCause, timeoutMs: number, graceMs: number): AttemptOutcome {
  const how = `did not end within the grace of ${graceMs} ms`;
  if (cause === "timeout") return timedOut(timeoutMs, `${how} and was ended`);
  const releasing = RELEASING[cause];
  if (releasing !== undefined) {
    return { type: "released", reason: `${releasing}, the handler ${how}`, alone: false };
  }
  return { type: "failed", class: "timeout", message: `was cancelled, ${how} and was ended` };
}

/** The reason that a handler's signal carries. */
export function signalReason(cause: AbortCause, timeoutMs: number): DOMException {
  switch (cause) {
    case "timeout":
      return new DOMException(`the attempt passed its limit of ${timeoutMs} ms`, "TimeoutError");
    case "cancel":
      return new DOMException("the job was cancelled", "AbortError");
    case "stop":
      return new DOMException("the runtime stops", "AbortError");
    case "rescued":
      return new DOMException(
        "this process was taken for dead, and the job was given to another: this run no longer counts",
        "AbortError",
      );
    case "crash":
      return new DOMException("the attempt has failed: its code threw where nobody catches", "AbortError");
    case "caller":
      return new DOMException("the caller has ended, or was told to end", "AbortError");
  }
}
