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
 * import { cronerSchedule } from "@millrace/millrace/croner";
 * cronerSchedule.check("30 1 * * *", "America/New_York");
 * const next = cronerSchedule.next("30 1 * * *", "America/New_York", Date.now());
 * if (next === null || next <= Date.now()) throw new Error("the next tick lies ahead");
 * ```
 *
 * @module
 */
export * from "./schedule.ts";
