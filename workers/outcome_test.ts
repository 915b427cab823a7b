import { assertEquals } from "@std/assert";
import type { AttemptOutcome } from "../ports/executor.ts";
import { discard, snooze } from "../ports/handler.ts";
import { DELAY_MS_MAX } from "../ports/limits.ts";
import { outcomeAfterAbort, outcomeOfThrown } from "./outcome.ts";

Deno.test("outcomeOfThrown() keeps a snooze within its bounds", () => {
  const delayOf = (delayMs: number) => outcomeOfThrown(snooze(delayMs));
  assertEquals(delayOf(1500), { type: "snoozed", delayMs: 1500 });
  assertEquals(delayOf(0.2), { type: "snoozed", delayMs: 1 });
  assertEquals(delayOf(-1), { type: "snoozed", delayMs: 0 });
  assertEquals(delayOf(NaN), { type: "snoozed", delayMs: 0 });
  assertEquals(delayOf(Infinity), { type: "snoozed", delayMs: DELAY_MS_MAX });
});

Deno.test("outcomeOfThrown() knows a discard of another realm by its mark", () => {
  assertEquals(outcomeOfThrown(discard("gone")), { type: "discarded", reason: "gone" });
  // The error that led to it, where a text is asked for.
  const reason = new Error("gone") as unknown as string;
  assertEquals(outcomeOfThrown(discard(reason)), { type: "discarded", reason: "gone" });
  assertEquals(outcomeOfThrown({ millraceOutcome: "discard", reason: "gone" }), {
    type: "discarded",
    reason: "gone",
  });
});

Deno.test("outcomeAfterAbort() makes a timeout of what ended after the limit, but for completeIn", () => {
  const completed = (completedIn: boolean): AttemptOutcome => ({
    type: "completed",
    output: null,
    completedIn,
  });
  const late = outcomeAfterAbort(completed(false), "timeout", 100);
  assertEquals(late.type === "failed" && late.class, "timeout");
  assertEquals(outcomeAfterAbort(completed(true), "timeout", 100), completed(true));
});

Deno.test("outcomeAfterAbort() releases what a stop made fail, and keeps what it completed", () => {
  const failed: AttemptOutcome = { type: "failed", class: "error", message: "aborted" };
  const completed: AttemptOutcome = { type: "completed", output: null, completedIn: false };
  assertEquals(outcomeAfterAbort(failed, "stop", 100).type, "released");
  assertEquals(outcomeAfterAbort(completed, "stop", 100), completed);
  assertEquals(outcomeAfterAbort(failed, "cancel", 100), failed);
  assertEquals(outcomeAfterAbort(failed, null, 100), failed);
});
