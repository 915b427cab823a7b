/** Arithmetic on cron expressions: no clock and no timers of its own. */
export interface Schedule {
  /**
   * Checks an expression and a zone.
   *
   * @throws {InvalidOptionError} naming the value that is wrong and what was expected.
   */
  check(cron: string, timezone: string): void;
  /** The first tick after an instant (ms since the epoch), or null when there is none. */
  next(cron: string, timezone: string, afterMs: number): number | null;
}
