import type { Verdict } from "../sender/guard.ts";
import type { PostOutput } from "../sender/poster.ts";
import { retryAfterMs } from "./retry_after.ts";
import type { WebhookSettings } from "../settings.ts";

/** What follows from an attempt. */
export type Result =
  | { readonly type: "delivered" }
  /** Again on the schedule; it was answered, or there was no answer. */
  | { readonly type: "retry"; readonly error: string; readonly isAnswered: boolean }
  /** Again when the receiver asked for it; no attempt is spent. */
  | { readonly type: "later"; readonly error: string; readonly askedMs: number }
  /** Again later, and nobody is to blame but we: it could not be signed, or not be sent from here. No attempt is spent. */
  | { readonly type: "fault"; readonly error: string; readonly detail: string }
  /** Never again; with `isGone` nothing at all goes there any more. */
  | { readonly type: "discard"; readonly error: string; readonly isGone: boolean };

/** What is known of an attempt, for the log. */
export interface AttemptFacts {
  /** The answer's status; null without one. */
  readonly status: number | null;
  /** How long it took, in ms. */
  readonly durationMs: number;
  /** The first part of the answer. */
  readonly answer: string | null;
}

/** What follows from what the guard says; null when the URL may be sent to. */
export function ofVerdict(verdict: Verdict): Exclude<Result, { type: "delivered" }> | null {
  switch (verdict.type) {
    case "allowed":
      return null;
    case "refused":
      return { type: "discard", error: `the URL is refused: ${verdict.reason}`, isGone: false };
    case "unresolved":
      return { type: "retry", error: verdict.reason, isAnswered: false };
  }
}

/**
 * What follows from an answer, or from what came instead of one. Whatever is no success may pass, a bad deploy of the
 * receiver's as well, but for the statuses that are said to be permanent.
 */
export function ofOutput(
  output: PostOutput,
  nowMs: number,
  { retryAfterMs: retryAfterMax, permanentStatuses }: Pick<
    WebhookSettings,
    "retryAfterMs" | "permanentStatuses"
  >,
): Result {
  if (output.type === "failed") {
    return output.reason === "denied"
      ? { type: "discard", error: `the URL is refused: ${output.message}`, isGone: false }
      : { type: "retry", error: output.message, isAnswered: false };
  }
  const { status } = output;
  const error = `the receiver answered ${status}`;
  if (status >= 200 && status < 300) return { type: "delivered" };
  if (status === 410) return { type: "discard", error: `${error}: gone`, isGone: true };
  if (permanentStatuses.includes(status)) return { type: "discard", error, isGone: false };
  if (status === 429 || status === 503) {
    const askedMs = retryAfterMs(output.retryAfter, nowMs, retryAfterMax);
    if (askedMs !== null) return { type: "later", error: `${error}, and to wait`, askedMs };
  }
  const isRedirect = status >= 300 && status < 400;
  return {
    type: "retry",
    error: isRedirect ? `${error}: redirects are not followed` : error,
    isAnswered: true,
  };
}

/** Whether a status says that the receiver won't have this one; 408 and 429 only put it off. */
export function isRefusal(status: number | null): boolean {
  return status !== null && status >= 400 && status < 500 && status !== 408 && status !== 429;
}

/** The facts of an answer, or of what came instead. */
export function factsOf(output: PostOutput): AttemptFacts {
  return output.type === "answered"
    ? { status: output.status, durationMs: output.durationMs, answer: output.answer }
    : { status: null, durationMs: output.durationMs, answer: null };
}
