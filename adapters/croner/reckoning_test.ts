import { assertEquals } from "@std/assert";
import { cronerSchedule } from "./schedule.ts";

// Ticks reckoned by looking at every minute, for tests to compare with. It shares nothing with the adapter: rules are
// written down as conditions, and Temporal knows the zones.

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** An expression, and the same as a condition on a local time, which is a Date whose UTC parts are those of the clock. */
export interface Rule {
  readonly cron: string;
  readonly isAnyHour: boolean;
  readonly holds: (local: Date) => boolean;
  /** Whether it has ticks at other seconds than the first of a minute. */
  readonly bySeconds?: boolean;
}

/** When the clocks of a zone change. */
export interface Change {
  readonly zone: string;
  readonly atMs: number;
  readonly beforeMs: number;
  readonly afterMs: number;
}

const at = (hour: number, minute: number) => (local: Date) =>
  local.getUTCHours() === hour && local.getUTCMinutes() === minute && local.getUTCSeconds() === 0;
const onMinute = (holds: (minute: number) => boolean) => (local: Date) =>
  holds(local.getUTCMinutes()) && local.getUTCSeconds() === 0;

/** Rules by the time of day. */
export const HOUR_RULES: readonly Rule[] = [
  { cron: "* * * * *", isAnyHour: true, holds: onMinute(() => true) },
  { cron: "*/15 * * * *", isAnyHour: true, holds: onMinute((minute) => minute % 15 === 0) },
  { cron: "@hourly", isAnyHour: true, holds: onMinute((minute) => minute === 0) },
  {
    cron: "30 */2 * * *",
    isAnyHour: true,
    holds: (local) => local.getUTCHours() % 2 === 0 && onMinute((minute) => minute === 30)(local),
  },
  {
    cron: "*/20 * * * * *",
    isAnyHour: true,
    bySeconds: true,
    holds: (local) => local.getUTCSeconds() % 20 === 0,
  },
  {
    cron: "40 29,30 0-3 * * *",
    isAnyHour: false,
    bySeconds: true,
    holds: (local) =>
      local.getUTCSeconds() === 40 && [29, 30].includes(local.getUTCMinutes()) && local.getUTCHours() <= 3,
  },
  { cron: "@daily", isAnyHour: false, holds: at(0, 0) },
  { cron: "30 1 * * *", isAnyHour: false, holds: at(1, 30) },
  { cron: "30 2 * * *", isAnyHour: false, holds: at(2, 30) },
  { cron: "0 3 * * *", isAnyHour: false, holds: at(3, 0) },
  { cron: "59 23 * * *", isAnyHour: false, holds: at(23, 59) },
  {
    cron: "*/10 0-3,23 * * *",
    isAnyHour: false,
    holds: (local) =>
      [0, 1, 2, 3, 23].includes(local.getUTCHours()) && onMinute((minute) => minute % 10 === 0)(local),
  },
  { cron: "15 0-23 * * *", isAnyHour: false, holds: onMinute((minute) => minute === 15) },
];

/** The changes of a zone from the beginning of one year to that of another. */
export function changesOf(zone: string, fromYear: number, untilYear: number): Change[] {
  const found: Change[] = [];
  const untilMs = Date.UTC(untilYear, 0, 1);
  let time = Temporal.Instant.fromEpochMilliseconds(Date.UTC(fromYear, 0, 1)).toZonedDateTimeISO(zone);
  for (;;) {
    const next = time.getTimeZoneTransition("next");
    if (next === null || next.epochMilliseconds >= untilMs) return found;
    const before = next.subtract({ nanoseconds: 1 });
    const [beforeMs, afterMs] = [before.offsetNanoseconds / 1e6, next.offsetNanoseconds / 1e6];
    // A zone may change its name or its law and leave the clocks alone.
    if (beforeMs !== afterMs) found.push({ zone, atMs: next.epochMilliseconds, beforeMs, afterMs });
    time = next;
  }
}

/** The ticks of a rule in the hours around a change. */
export function reckon(rule: Rule, change: Change, fromMs: number, untilMs: number): number[] {
  const stepMs = rule.bySeconds ? 20 * SECOND_MS : MINUTE_MS;
  const ticks = new Set<number>();
  const shown = new Set<number>();
  // Where it has fixed hours, a local time from before the first look may come again.
  for (let ms = fromMs - 3 * HOUR_MS; ms <= untilMs; ms += stepMs) {
    const localMs = ms + (ms < change.atMs ? change.beforeMs : change.afterMs);
    const isFirst = !shown.has(localMs);
    shown.add(localMs);
    if (rule.holds(new Date(localMs)) && (rule.isAnyHour || isFirst)) ticks.add(ms);
  }
  if (!rule.isAnyHour) {
    for (let ms = change.atMs; ms < change.atMs + change.afterMs - change.beforeMs; ms += stepMs) {
      if (rule.holds(new Date(ms + change.beforeMs))) ticks.add(ms);
    }
  }
  return [...ticks].filter((ms) => ms > fromMs && ms <= untilMs).sort((one, other) => one - other);
}

/** Asks for the ticks around a change, one after the other, and compares them with those that were reckoned. */
export function assertTicks(rule: Rule, change: Change): void {
  const [fromMs, untilMs] = [change.atMs - spanOf(rule), change.atMs + spanOf(rule)];
  const ticks: number[] = [];
  for (let ms = fromMs;;) {
    ms = cronerSchedule.next(rule.cron, change.zone, ms)!;
    if (ms > untilMs) break;
    ticks.push(ms);
  }
  assertEquals(iso(ticks), iso(reckon(rule, change, fromMs, untilMs)), `${rule.cron} in ${change.zone}`);
}

function iso(ticks: readonly number[]): string[] {
  return ticks.map((ms) => new Date(ms).toISOString());
}

/** How long before and after a change a rule's ticks are compared, in ms. */
function spanOf(rule: Rule): number {
  const isDense = rule.bySeconds || rule.cron.startsWith("*");
  return isDense ? 4 * HOUR_MS : 30 * HOUR_MS;
}
