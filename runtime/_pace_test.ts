import { assertEquals } from "@std/assert";
import { Pace } from "./_pace.ts";

function paceAt(concurrency: number, clock: { now: number }): Pace {
  return new Pace({ concurrency, prefetchMs: 100, prefetchMax: 1000, now: () => clock.now });
}

/** So many starts, spread evenly over a second. */
function startOver(pace: Pace, clock: { now: number }, starts: number): void {
  for (let index = 0; index < starts; index++) {
    clock.now += 1000 / starts;
    pace.started(clock.now);
  }
}

Deno.test("Pace: without starts only the free slots are claimed for", () => {
  const pace = paceAt(10, { now: 0 });
  assertEquals(pace.claimNow(10, 0), 10);
  assertEquals(pace.claimNow(0, 0), 0);
  assertEquals(pace.claimNow(4, 4), 0);
});

Deno.test("Pace: a queue that moves claims ahead for 100 ms of its starts, and not once it stands still", () => {
  const clock = { now: 0 };
  const pace = paceAt(10, clock);
  startOver(pace, clock, 1000);
  const ahead = pace.claimNow(0, 0);
  assertEquals(ahead > 80 && ahead <= 100, true, `${ahead}`);
  assertEquals(pace.claimNow(0, 60), 0);
  clock.now += 101;
  assertEquals(pace.claimNow(0, 0), 0);
});

Deno.test("Pace: large args bound a claim", () => {
  const pace = paceAt(500, { now: 0 });
  const args = "x".repeat(1024 * 1024);
  pace.claimed([{ id: "1", run: 1, kind: "k", attempt: 1, maxAttempts: 1, args, alone: false }]);
  assertEquals(pace.claimNow(500, 0), 16);
});

Deno.test("Pace: starts go on record ahead where slots turn over fast", () => {
  const clock = { now: 0 };
  const slow = paceAt(100, clock);
  slow.ended(1000);
  assertEquals(slow.recordAhead, 0);
  const fast = paceAt(100, clock);
  fast.ended(1);
  assertEquals(fast.recordAhead, 200);
});
