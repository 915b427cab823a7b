import { assertEquals } from "@std/assert";
import { cronerSchedule } from "./schedule.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** A day of the calendar. */
interface Day {
  readonly date: number;
  readonly month: number;
  /** 0 is Sunday. */
  readonly weekday: number;
  readonly last: number;
  /** Of the first or last day of the month, and of any other. */
  readonly weekdayOf: (date: number) => number;
}

const isWorkday = (weekday: number) => weekday >= 1 && weekday <= 5;

/** The weekday nearest to a date, within its month. */
function nearest({ last, weekdayOf }: Day, date: number): number {
  if (weekdayOf(date) === 6) return date === 1 ? 3 : date - 1;
  if (weekdayOf(date) === 0) return date === last ? date - 2 : date + 1;
  return date;
}

const RULES: readonly [cron: string, holds: (day: Day) => boolean][] = [
  ["0 9 L * *", ({ date, last }) => date === last],
  ["0 9 15W * *", (day) => day.date === nearest(day, 15)],
  ["0 9 1W * *", (day) => day.date === nearest(day, 1)],
  ["0 9 31W * *", (day) => day.last === 31 && day.date === nearest(day, 31)],
  ["0 9 LW * *", (day) => day.date === nearest(day, day.last)],
  ["0 9 * * FRI#2", ({ date, weekday }) => weekday === 5 && date > 7 && date <= 14],
  ["0 9 * * 1#5", ({ date, weekday }) => weekday === 1 && date > 28],
  ["0 9 * * 5L", ({ date, weekday, last }) => weekday === 5 && date > last - 7],
  ["0 9 * * SUNL", ({ date, weekday, last }) => weekday === 0 && date > last - 7],
  ["0 9 29 2 *", ({ date, month }) => date === 29 && month === 2],
  ["0 9 31 * *", ({ date }) => date === 31],
  ["0 9 * 4-6 SAT,7", ({ month, weekday }) => month >= 4 && month <= 6 && (weekday === 6 || weekday === 0)],
  ["0 9 1 */3 *", ({ date, month }) => date === 1 && (month - 1) % 3 === 0],
  // Two day fields that are both restricted: either.
  ["0 9 13 * FRI", ({ date, weekday }) => date === 13 || weekday === 5],
  ["0 9 */2 * MON", ({ date, weekday }) => date % 2 === 1 || weekday === 1],
  ["0 9 L * FRI#1", ({ date, weekday, last }) => date === last || (weekday === 5 && date <= 7)],
  // As Quartz means them.
  ["0 9 1 * ?", ({ date }) => date === 1],
  ["0 9 ? * MON-FRI", ({ weekday }) => isWorkday(weekday)],
  ["0 0 9 ? * FRI#3", ({ date, weekday }) => weekday === 5 && date > 14 && date <= 21],
];

function dayOf(ms: number): Day {
  const day = new Date(ms);
  const [year, month] = [day.getUTCFullYear(), day.getUTCMonth()];
  return {
    date: day.getUTCDate(),
    month: month + 1,
    weekday: day.getUTCDay(),
    last: new Date(Date.UTC(year, month + 1, 0)).getUTCDate(),
    weekdayOf: (date) => new Date(Date.UTC(year, month, date)).getUTCDay(),
  };
}

for (const [cron, holds] of RULES) {
  Deno.test(`next() gives the days of ${cron} that a look at every day from 2024 to 2030 finds`, () => {
    const untilMs = Date.UTC(2031, 0, 1);
    const expected: string[] = [];
    for (let ms = Date.UTC(2024, 0, 1); ms < untilMs; ms += DAY_MS) {
      if (holds(dayOf(ms))) expected.push(new Date(ms).toISOString().slice(0, 10));
    }
    for (const zone of ["UTC", "Pacific/Auckland"]) {
      const found: string[] = [];
      let tick = cronerSchedule.next(cron, zone, Date.UTC(2023, 11, 31, 12));
      for (; tick !== null; tick = cronerSchedule.next(cron, zone, tick)) {
        const local = Temporal.Instant.fromEpochMilliseconds(tick).toZonedDateTimeISO(zone);
        if (local.year > 2030) break;
        assertEquals(local.toPlainTime().toString(), "09:00:00");
        found.push(local.toPlainDate().toString());
      }
      assertEquals(found, expected, zone);
    }
  });
}
