import { assertEquals } from "@std/assert";
import type { PeriodicRow, Schedule } from "../ports/mod.ts";
import { dueTick, latestTick, nextDueAt, nextTick } from "./_ticks.ts";

const HOUR_MS = 3_600_000;
const handler = () => {};
const every = { name: "sweep", every: 60_000, handler };
const cron = { name: "report", cron: "0 * * * *", timezone: "UTC", handler };

/** Knows one expression: every full hour. */
const hourly: Schedule = {
  check: () => {},
  next: (_cron, _timezone, afterMs) => (Math.floor(afterMs / HOUR_MS) + 1) * HOUR_MS,
};

function row(over: Partial<PeriodicRow>): PeriodicRow {
  return { name: "x", lastTickMs: null, currentJobId: null, sinceMs: 0, runs: [], nowMs: 0, ...over };
}

Deno.test("nextTick() gives multiples of the period since the epoch", () => {
  assertEquals(nextTick(every, hourly, 0), 60_000);
  assertEquals(nextTick(every, hourly, 59_999), 60_000);
  assertEquals(nextTick(every, hourly, 60_000), 120_000);
});

Deno.test("dueTick() runs at once what has never run, and the next tick comes in its time", () => {
  const nowMs = 10 * 60_000 + 1234;
  assertEquals(dueTick(every, hourly, row({ nowMs })), 10 * 60_000);
  assertEquals(nextDueAt(every, hourly, row({ nowMs, lastTickMs: 10 * 60_000 })), 11 * 60_000);
});

Deno.test("dueTick() does not run at start what said so, and counts from when it was first seen", () => {
  const quiet = { ...every, runAtStart: false };
  assertEquals(dueTick(quiet, hourly, row({ sinceMs: 61_000, nowMs: 119_000 })), null);
  assertEquals(dueTick(quiet, hourly, row({ sinceMs: 61_000, nowMs: 120_000 })), 120_000);
  assertEquals(nextDueAt(quiet, hourly, row({ sinceMs: 61_000, nowMs: 62_000 })), 120_000);
});

Deno.test("dueTick() gives one tick after downtime, the latest that has passed", () => {
  assertEquals(
    dueTick(cron, hourly, row({ lastTickMs: HOUR_MS, nowMs: 5000 * HOUR_MS + 99 })),
    5000 * HOUR_MS,
  );
  assertEquals(dueTick(every, hourly, row({ lastTickMs: 60_000, nowMs: 600_001 })), 600_000);
});

Deno.test("dueTick() gives nothing before the next tick, also when the clock went back", () => {
  assertEquals(dueTick(cron, hourly, row({ lastTickMs: 2 * HOUR_MS, nowMs: 3 * HOUR_MS - 1 })), null);
  assertEquals(dueTick(cron, hourly, row({ lastTickMs: 2 * HOUR_MS, nowMs: HOUR_MS })), null);
  assertEquals(dueTick(every, hourly, row({ lastTickMs: 600_000, nowMs: 60_000 })), null);
});

Deno.test("latestTick() asks a schedule a bounded number of times, however long the downtime", () => {
  let asked = 0;
  const counting: Schedule = { ...hourly, next: (...args) => (asked++, hourly.next(...args)) };
  assertEquals(latestTick(cron, counting, 0, 1_000_000 * HOUR_MS + 1), 1_000_000 * HOUR_MS);
  assertEquals(asked < 50, true, `asked ${asked} times`);
});
