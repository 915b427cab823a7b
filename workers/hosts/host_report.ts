import type { AttemptOutcome } from "../../ports/executor.ts";
import { CALL_BYTES_MAX, OUTPUT_BYTES_MAX } from "../../ports/limits.ts";
import { relayJsonText, toJsonText } from "../../shared/json_text.ts";
import { boundedDelay } from "../bounds.ts";
import { describeError, keepableText } from "../describe_error.ts";
import { isReport } from "../report_shape.ts";
import type { HostReport } from "./protocol.ts";

/** The longest frame, in bytes: the largest input and output of a call, quoted, and what belongs to it. */
export const FRAME_BYTES_MAX: number = 2 * CALL_BYTES_MAX + 256 * 1024;

/** A frame as a report; null when it is none. */
export function hostReport(frame: string): HostReport | null {
  try {
    const report: unknown = JSON.parse(frame);
    return isReport(report) ? report as HostReport : null;
  } catch {
    return null;
  }
}

/**
 * An outcome that a host process told, within the bounds that its own side keeps when nobody forges its frames: what is
 * written of it must not be refused, for it is written together with others' outcomes.
 *
 * @param isPlain Whether it is a called module's.
 */
export function takenOutcome(outcome: AttemptOutcome, isPlain: boolean): AttemptOutcome {
  switch (outcome.type) {
    case "completed": {
      const { output, completedIn } = outcome;
      if (output === null || output === undefined) return { type: "completed", output: null, completedIn };
      try {
        const maxBytes = isPlain ? CALL_BYTES_MAX : OUTPUT_BYTES_MAX;
        return {
          type: "completed",
          output: toJsonText(relayJsonText(output), { name: "output", maxBytes }),
          completedIn,
        };
      } catch (error) {
        return { type: "failed", class: "error", message: describeError(error).message };
      }
    }
    case "snoozed":
      return { type: "snoozed", delayMs: boundedDelay(outcome.delayMs) };
    case "discarded":
      return { type: "discarded", reason: keepableText(outcome.reason) };
    case "failed": {
      const { message, stack } = outcome;
      return {
        type: "failed",
        class: outcome.class,
        message: keepableText(message),
        ...(typeof stack === "string" ? { stack: keepableText(stack) } : {}),
      };
    }
    case "released":
      return { type: "released", reason: keepableText(outcome.reason), alone: outcome.alone };
  }
}
