/**
 * The `Schedule` port on croner: arithmetic on cron expressions, without a clock and without timers. croner reads an expression
 * and knows the calendar; what follows from time zones is reckoned here.
 *
 * Where the hours of an expression are `*`, or a step of it, its ticks follow real time when clocks change: a repeated hour
 * has them twice. Fixed hours run once: a local time that happens twice at its first occurrence, one that is skipped as much
 * later as the clock was put forward. Of two restricted day fields either is enough; `?` leaves the decision to the other.
 *
 * @example
 * ```ts
 * import { cronerSchedule } from "@millrace/millrace/adapter";
 * cronerSchedule.check("30 1 * * *", "America/New_York");
 * const next = cronerSchedule.next("30 1 * * *", "America/New_York", Date.now());
 * if (next === null || next <= Date.now()) throw new Error("the next tick lies ahead");
 * ```
 *
 * @module
 */
import { InvalidOptionError } from "../../ports/errors.ts";
import type { Schedule } from "../../ports/schedule.ts";
import { type Expression, parseExpression } from "./expression.ts";
import { type ClockChange, Zone } from "./zone.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** No zone is further from UTC than this, in ms. */
const OFFSET_MS_MAX = 16 * 60 * 60 * 1000;

/** What a Date can be, in ms on both sides of the epoch, and some days less: local times are Dates too. */
const INSTANT_MS_MAX = 8.64e15 - 7 * DAY_MS;

/** The `Schedule` port on croner. Every tick is a whole second. */
export const cronerSchedule: Schedule = {
  check(cron: string, timezone: string): void {
    const expression = parseExpression(cron);
    Zone.of(timezone);
    if (expression.next(0) === null) {
      throw new InvalidOptionError("cron", cron, "an expression whose time ever comes");
    }
  },

  next(cron: string, timezone: string, afterMs: number): number | null {
    if (!(Math.abs(afterMs) <= INSTANT_MS_MAX)) return null;
    const [expression, zone] = [parseExpression(cron), Zone.of(timezone)];
    return expression.isAnyHour
      ? nextInRealTime(expression, zone, afterMs)
      : nextOnce(expression, zone, afterMs);
  },
};

/** Whenever the clocks show one of its times, also when they show it twice. */
function nextInRealTime(expression: Expression, zone: Zone, afterMs: number): number | null {
  for (let fromMs = afterMs;;) {
    const offsetMs = zone.offsetAt(fromMs + 1);
    const localMs = expression.next(fromMs + offsetMs);
    if (localMs === null) return null;
    const tickMs = localMs - offsetMs;
    const change = first(zone.changes(fromMs + 1, tickMs));
    if (change === undefined) return tickMs;
    fromMs = change.atMs - 1;
  }
}

/** Each of its local times once: the first time that the clocks show it, or later by what they were put forward. */
function nextOnce(expression: Expression, zone: Zone, afterMs: number): number | null {
  const nowLocalMs = afterMs + zone.offsetAt(afterMs);
  let soonestMs = Infinity;
  for (
    let localMs = expression.next(localTimePassed(zone, afterMs, nowLocalMs));
    localMs !== null;
  ) {
    const { tickMs, skippedBy } = firstOccurrence(zone, localMs);
    if (tickMs > afterMs) {
      soonestMs = Math.min(soonestMs, tickMs);
      if (skippedBy === null) break;
    }
    // What was skipped comes later by the clock than some local times behind it.
    const shownMs = skippedBy === null ? nowLocalMs : skippedBy.atMs + skippedBy.afterMs - 1;
    localMs = expression.next(Math.max(localMs, nowLocalMs, shownMs));
  }
  return soonestMs === Infinity ? null : soonestMs;
}

/** All local times up to this one have had their tick at an instant. */
function localTimePassed(zone: Zone, atMs: number, localMs: number): number {
  for (const change of zone.changes(atMs - DAY_MS, atMs)) {
    const forwardMs = change.afterMs - change.beforeMs;
    // What was skipped is made up for during as long.
    if (forwardMs > 0 && atMs < change.atMs + forwardMs) localMs = atMs + change.beforeMs;
    if (forwardMs < 0) localMs = Math.max(localMs, change.atMs + change.beforeMs - 1);
  }
  return localMs;
}

/** When the clocks first show a local time; for one that they skip, as much later as they were put forward. */
function firstOccurrence(
  zone: Zone,
  localMs: number,
): { tickMs: number; skippedBy: ClockChange | null } {
  let offsetMs = zone.offsetAt(localMs - OFFSET_MS_MAX);
  for (const change of zone.changes(localMs - OFFSET_MS_MAX, localMs + OFFSET_MS_MAX)) {
    if (localMs < change.atMs + change.beforeMs) break;
    if (localMs < change.atMs + change.afterMs) {
      return { tickMs: localMs - change.beforeMs, skippedBy: change };
    }
    offsetMs = change.afterMs;
  }
  return { tickMs: localMs - offsetMs, skippedBy: null };
}

function first<T>(items: Iterable<T>): T | undefined {
  for (const item of items) return item;
  return undefined;
}
