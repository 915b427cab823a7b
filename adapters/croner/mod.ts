/**
 * The `Schedule` port on croner: arithmetic on cron expressions, without a clock and without timers.
 *
 * The rules when clocks change: a local time that happens twice runs once, at its first occurrence, and one that is
 * skipped runs once, as much later as the clock was put forward. So an expression that fires several times an hour
 * pauses during a repeated hour; give it the zone `UTC` where that is not wanted.
 *
 * @example
 * ```ts
 * import { cronerSchedule } from "@millrace/millrace/croner";
 * cronerSchedule.check("30 1 * * *", "America/New_York");
 * const next = cronerSchedule.next("30 1 * * *", "America/New_York", Date.now());
 * if (next === null || next <= Date.now()) throw new Error("the next tick lies ahead");
 * ```
 *
 * @module
 */
export * from "./schedule.ts";
