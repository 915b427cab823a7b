import { DELAY_MS_MAX } from "../ports/limits.ts";
import type { Schedule } from "../ports/schedule.ts";
import type { PeriodicRow, PeriodicSchedule } from "../ports/store.ts";

/** Where the search for the latest tick that has passed begins, in ms, and how it widens. */
const WINDOW_FIRST_MS = 1000;
const WINDOW_FACTOR = 8;

/** What a Date can be, in ms on both sides of the epoch. */
const INSTANT_MS_MAX = 8.64e15;

/** Whether a stored number is an instant at all. */
export function isInstant(ms: number | null): ms is number {
  return ms !== null && Math.abs(ms) <= INSTANT_MS_MAX;
}

/** The first tick after an instant, both in ms since the epoch; null when there is none. */
export function nextTick(schedule: PeriodicSchedule, cron: Schedule, afterMs: number): number | null {
  if ("every" in schedule) return (Math.floor(afterMs / schedule.every) + 1) * schedule.every;
  return cron.next(schedule.cron, schedule.timezone, afterMs);
}

/** The latest tick that is after one instant and not after another; null when there is none. */
export function latestTick(
  schedule: PeriodicSchedule,
  cron: Schedule,
  afterMs: number,
  untilMs: number,
): number | null {
  if ("every" in schedule) {
    const tick = Math.floor(untilMs / schedule.every) * schedule.every;
    return tick > afterMs ? tick : null;
  }
  const earliestMs = Math.max(afterMs, untilMs - DELAY_MS_MAX);
  // A cron expression can only be asked for what comes next, so the search widens backwards until it meets a tick.
  for (let windowMs = WINDOW_FIRST_MS;; windowMs *= WINDOW_FACTOR) {
    const fromMs = Math.max(earliestMs, untilMs - windowMs);
    let latest: number | null = null;
    for (
      let tick = cron.next(schedule.cron, schedule.timezone, fromMs);
      tick !== null && tick <= untilMs;
    ) {
      latest = tick;
      tick = cron.next(schedule.cron, schedule.timezone, tick);
    }
    if (latest !== null || fromMs === earliestMs) return latest;
  }
}

/** A tick to be taken, and the one after it. */
export interface Tick {
  /** Null when nothing is to be run. */
  readonly tickMs: number | null;
  /** Null when there is none. */
  readonly nextTickMs: number | null;
}

/** The tick of a periodic that is due. After downtime it is the latest that has passed: one run, no burst. */
export function dueTick(
  row: Pick<PeriodicRow, "nextTickMs" | "lastTickMs">,
  schedule: PeriodicSchedule,
  cron: Schedule,
  nowMs: number,
): Tick {
  const { lastTickMs } = row;
  const dueMs = isInstant(row.nextTickMs) ? row.nextTickMs : nowMs;
  if (isInstant(lastTickMs) && lastTickMs >= dueMs && lastTickMs <= nowMs) {
    // A program that does not know of next ticks has taken it.
    return { tickMs: null, nextTickMs: nextTick(schedule, cron, lastTickMs) };
  }
  const followingMs = nextTick(schedule, cron, dueMs);
  if (followingMs === null || followingMs > nowMs) return { tickMs: dueMs, nextTickMs: followingMs };
  const tickMs = latestTick(schedule, cron, dueMs, nowMs) ?? dueMs;
  return { tickMs, nextTickMs: nextTick(schedule, cron, tickMs) };
}
