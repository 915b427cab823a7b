import { assertEquals } from "@std/assert";
import type { Schedule } from "../ports/schedule.ts";
import { dueTick, latestTick, nextTick } from "./_ticks.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const every = { every: MINUTE_MS };
const cron = { cron: "0 * * * *", timezone: "UTC" };

/** Knows one expression: every full hour. */
const hourly: Schedule = {
  check: () => {},
  next: (_cron, _timezone, afterMs) =>
    Number.isFinite(afterMs) ? (Math.floor(afterMs / HOUR_MS) + 1) * HOUR_MS : null,
};

Deno.test("nextTick() gives multiples of the period since the epoch", () => {
  assertEquals(nextTick(every, hourly, 0), MINUTE_MS);
  assertEquals(nextTick(every, hourly, 59_999), MINUTE_MS);
  assertEquals(nextTick(every, hourly, MINUTE_MS), 2 * MINUTE_MS);
});

Deno.test("dueTick() gives the tick that has come, and the next one", () => {
  assertEquals(dueTick({ nextTickMs: MINUTE_MS, lastTickMs: 0 }, every, hourly, MINUTE_MS + 5), {
    tickMs: MINUTE_MS,
    nextTickMs: 2 * MINUTE_MS,
  });
  // A run at the start stands for an instant that is no tick.
  assertEquals(dueTick({ nextTickMs: HOUR_MS + 7, lastTickMs: null }, cron, hourly, HOUR_MS + 9), {
    tickMs: HOUR_MS + 7,
    nextTickMs: 2 * HOUR_MS,
  });
});

Deno.test("dueTick() gives one tick after downtime, the latest that has passed", () => {
  const nowMs = 5000 * HOUR_MS + 99;
  const expected = { tickMs: 5000 * HOUR_MS, nextTickMs: 5001 * HOUR_MS };
  assertEquals(dueTick({ nextTickMs: HOUR_MS, lastTickMs: null }, cron, hourly, nowMs), expected);
  assertEquals(dueTick({ nextTickMs: MINUTE_MS, lastTickMs: null }, every, hourly, 600_001), {
    tickMs: 600_000,
    nextTickMs: 660_000,
  });
});

Deno.test("dueTick() runs what is due at no instant at all, as somebody's SQL may say", () => {
  const nowMs = 3 * HOUR_MS + 5;
  assertEquals(dueTick({ nextTickMs: -Infinity, lastTickMs: null }, cron, hourly, nowMs), {
    tickMs: nowMs,
    nextTickMs: 4 * HOUR_MS,
  });
});

Deno.test("dueTick() runs nothing for a tick that a program took which stores no next ticks", () => {
  const nowMs = 2 * HOUR_MS + 5;
  const row = { nextTickMs: 2 * HOUR_MS, lastTickMs: 2 * HOUR_MS };
  assertEquals(dueTick(row, cron, hourly, nowMs), { tickMs: null, nextTickMs: 3 * HOUR_MS });
  // One that was taken while the clock was ahead says nothing.
  assertEquals(dueTick({ ...row, lastTickMs: 9 * HOUR_MS }, cron, hourly, nowMs).tickMs, 2 * HOUR_MS);
  assertEquals(dueTick({ ...row, lastTickMs: Infinity }, cron, hourly, nowMs).tickMs, 2 * HOUR_MS);
});

Deno.test("latestTick() asks a schedule a bounded number of times, however long the downtime", () => {
  let asked = 0;
  const counting: Schedule = { ...hourly, next: (...args) => (asked++, hourly.next(...args)) };
  assertEquals(latestTick(cron, counting, 0, 1_000_000 * HOUR_MS + 1), 1_000_000 * HOUR_MS);
  assertEquals(asked < 50, true, `asked ${asked} times`);
  assertEquals(latestTick(cron, counting, 5 * HOUR_MS, 5 * HOUR_MS + 9), null);
});
