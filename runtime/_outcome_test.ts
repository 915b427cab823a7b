import { assertEquals } from "@std/assert";
import type { AttemptOutcome } from "../ports/executor.ts";
import type { Kind } from "../ports/kind.ts";
import type { Claimed } from "../ports/store.ts";
import { retryDelayMs, settlementOf } from "./_outcome.ts";

const kind: Kind = { name: "k", queue: "default", maxAttempts: 3, timeout: 1000, handler: () => {} };
const job: Claimed = { id: "7", run: 4, kind: "k", attempt: 1, maxAttempts: 3, args: "null", alone: false };
const end = { aborted: false, random: 0.5 };
const failed: AttemptOutcome = { type: "failed", class: "error", message: "no" };

Deno.test("settlementOf() retries a failure on the backoff until the attempts are used up", () => {
  const first = settlementOf(job, kind, failed, end);
  assertEquals(first, {
    id: "7",
    run: 4,
    to: "retry",
    delayMs: 1000,
    error: { class: "error", message: "no" },
    alone: false,
  });
  assertEquals(settlementOf({ ...job, attempt: 3 }, kind, failed, end).to, "discarded");
});

Deno.test("settlementOf() keeps alone what killed the process that it had for itself", () => {
  const alone = { ...job, alone: true };
  const next = (of: Claimed, what: "crash" | "memory" | "error") => {
    const settlement = settlementOf(of, kind, { ...failed, class: what }, end);
    return "alone" in settlement && settlement.alone;
  };
  assertEquals([next(alone, "crash"), next(alone, "memory")], [true, true]);
  // It has shown that it can fail in peace, and a crash among others was not necessarily its own.
  assertEquals([next(alone, "error"), next(job, "crash")], [false, false]);
});

Deno.test("settlementOf() leaves it to the row whether a run is cancelled: the signal may be stale", () => {
  const completed: AttemptOutcome = { type: "completed", output: "1", completedIn: false };
  const cancelled = { ...end, aborted: true };
  assertEquals(settlementOf(job, kind, completed, cancelled).to, "completed");
  assertEquals(settlementOf(job, kind, failed, cancelled), {
    id: "7",
    run: 4,
    to: "release",
    delayMs: 0,
    error: null,
    alone: false,
  });
});

Deno.test("settlementOf() gives back what failed because the runtime stopped, without an error", () => {
  const settlement = settlementOf(job, kind, failed, { ...end, aborted: true });
  assertEquals([settlement.to, settlement.error], ["release", null]);
});

Deno.test("settlementOf() never completes a run a second way after completeIn", () => {
  const settlement = settlementOf(job, kind, { type: "completed", output: null, completedIn: true }, end);
  assertEquals(settlement.to, "retry");
});

Deno.test("settlementOf() gives a snooze of nothing a floor, so that it can't spin", () => {
  const settlement = settlementOf(job, kind, { type: "snoozed", delayMs: 0 }, end);
  assertEquals("delayMs" in settlement && settlement.delayMs, 100);
});

Deno.test("retryDelayMs() spreads the delay by 10 % up and down", () => {
  assertEquals([retryDelayMs(kind, 1, 0), retryDelayMs(kind, 1, 1)], [900, 1100]);
});

Deno.test("retryDelayMs() is in the future and capped for any attempt", () => {
  for (const attempt of [1, 20, 400, 100_000, Number.MAX_SAFE_INTEGER]) {
    const delayMs = retryDelayMs(kind, attempt, 1);
    assertEquals(delayMs >= 900 && delayMs <= 990_000, true, `${delayMs} ms after attempt ${attempt}`);
  }
});

Deno.test("retryDelayMs() falls back to the default for a backoff that throws or makes no sense", () => {
  const broken = [() => NaN, () => -5, () => "soon" as unknown as number, () => {
    throw new Error("no");
  }];
  for (const backoff of broken) assertEquals(retryDelayMs({ ...kind, backoff }, 2, 0.5), 2000);
  assertEquals(retryDelayMs({ ...kind, backoff: () => Infinity }, 2, 0.5), 315_360_000_000);
});
