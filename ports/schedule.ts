/** Cron arithmetic, without a clock or timers. */
export interface Schedule {
  /**
   * Checks an expression and a time zone.
   *
   * @throws {InvalidOptionError} naming the invalid value and what was expected.
   */
  check(cron: string, timezone: string): void;
  /** Returns the first tick after an instant (ms since the epoch), or null when there is none. */
  next(cron: string, timezone: string, afterMs: number): number | null;
}
