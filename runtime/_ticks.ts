import type { Periodic, PeriodicRow, Schedule } from "../ports/mod.ts";

/** Where the search for the latest tick that has passed begins, in ms, and how it widens. */
const WINDOW_FIRST_MS = 1000;
const WINDOW_FACTOR = 8;

/** The first tick after an instant, both in ms since the epoch; null when there is none. */
export function nextTick(periodic: Periodic, schedule: Schedule, afterMs: number): number | null {
  if ("every" in periodic) return (Math.floor(afterMs / periodic.every) + 1) * periodic.every;
  return schedule.next(periodic.cron, periodic.timezone, afterMs);
}

/** The latest tick that is after one instant and not after another; null when there is none. */
export function latestTick(
  periodic: Periodic,
  schedule: Schedule,
  afterMs: number,
  untilMs: number,
): number | null {
  if ("every" in periodic) {
    const tick = Math.floor(untilMs / periodic.every) * periodic.every;
    return tick > afterMs ? tick : null;
  }
  // A cron expression can only be asked for what comes next, so the search widens backwards until it meets a tick.
  for (let windowMs = WINDOW_FIRST_MS;; windowMs *= WINDOW_FACTOR) {
    const from = Math.max(afterMs, untilMs - windowMs);
    let latest: number | null = null;
    for (
      let tick = schedule.next(periodic.cron, periodic.timezone, from);
      tick !== null && tick <= untilMs;
    ) {
      latest = tick;
      tick = schedule.next(periodic.cron, periodic.timezone, tick);
    }
    if (latest !== null || from === afterMs) return latest;
  }
}

/** The tick that is due now, or null. After downtime it is the latest that has passed: one run, no burst. */
export function dueTick(periodic: Periodic, schedule: Schedule, row: PeriodicRow): number | null {
  if (row.lastTickMs !== null) return latestTick(periodic, schedule, row.lastTickMs, row.nowMs);
  if (periodic.runAtStart === false) return latestTick(periodic, schedule, row.sinceMs, row.nowMs);
  // It has never run. The tick that this run stands for is the latest that has passed, so the next comes in its time.
  return "every" in periodic ? Math.floor(row.nowMs / periodic.every) * periodic.every : row.nowMs;
}

/** When a periodic is next due, ms since the epoch; null when never. In the past: it is due and waits for its turn. */
export function nextDueAt(periodic: Periodic, schedule: Schedule, row: PeriodicRow): number | null {
  if (row.lastTickMs !== null) return nextTick(periodic, schedule, row.lastTickMs);
  return periodic.runAtStart === false ? nextTick(periodic, schedule, row.sinceMs) : row.nowMs;
}

/** What a Date can be, in ms on both sides of the epoch. */
const INSTANT_MS_MAX = 8.64e15;

/**
 * The tick to count from instead, when that which is stored can't be: no instant at all, or further ahead than the next
 * tick, taken while the clock of the store was ahead. Null when it can.
 */
export function correctedTick(periodic: Periodic, schedule: Schedule, row: PeriodicRow): number | null {
  const countsFromMs = row.lastTickMs ?? (periodic.runAtStart === false ? row.sinceMs : row.nowMs);
  const isInstant = Math.abs(countsFromMs) <= INSTANT_MS_MAX;
  if (isInstant && countsFromMs <= row.nowMs) return null;
  if (isInstant && countsFromMs <= (nextTick(periodic, schedule, row.nowMs) ?? row.nowMs)) return null;
  return "every" in periodic
    ? Math.floor(row.nowMs / periodic.every) * periodic.every
    : Math.floor(row.nowMs);
}
