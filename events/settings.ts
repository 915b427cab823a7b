import { DELAY_MS_MAX, TIMER_MS_MAX } from "../ports/limits.ts";
import { integer, type Options, resolveOptions } from "../shared/options.ts";

/** The times and bounds of events, whole numbers. Every one has a default that suits production; tests make them shorter. */
export interface EventSettings {
  /** How often a relay looks at the outbox when nothing wakes it, in ms, from 1 to 10 years. Default 60,000. */
  readonly sweepMs: number;
  /** The same where notifications can't arrive, behind a transaction pooler, in ms, from 1 to 10 years. Default 1,000. */
  readonly pollMs: number;
  /** How long a relay or an event waits after its first failure, in ms, from 1 to 10 years; it doubles with each. Default 2,000. */
  readonly backoffMs: number;
  /** The longest such wait, in ms, from 1 to 10 years. Default 60,000. */
  readonly backoffMaxMs: number;
  /** How long events are kept after their fan-out, in ms, from 0 to 10 years. Default 7 days. */
  readonly retentionMs: number;
  /** How often old events are deleted, in ms, from 100 to 10 years. Default 1 hour. */
  readonly purgeMs: number;
  /** More waiting events than this raise an alert, 0 to 2^31 - 1. Default 1,000. */
  readonly alertBacklog: number;
  /** An event that waits longer than this is an alert, in ms, from 0 to 10 years. Default 5 minutes. */
  readonly alertAgeMs: number;
  /**
   * Upkeep (ticks, purges, rescues, the relay) that has failed for longer than this is an alert, in ms, from 0 to 10 years.
   * Default 5 minutes.
   */
  readonly alertUpkeepMs: number;
}

/** Each setting, its bounds and its default. */
export const EVENT_SETTINGS: Options<EventSettings> = {
  sweepMs: integer({ min: 1, max: DELAY_MS_MAX, default: 60_000 }),
  pollMs: integer({ min: 1, max: DELAY_MS_MAX, default: 1000 }),
  backoffMs: integer({ min: 1, max: DELAY_MS_MAX, default: 2000 }),
  backoffMaxMs: integer({ min: 1, max: DELAY_MS_MAX, default: 60_000 }),
  retentionMs: integer({ min: 0, max: DELAY_MS_MAX, default: 7 * 24 * 60 * 60 * 1000 }),
  purgeMs: integer({ min: 100, max: DELAY_MS_MAX, default: 60 * 60 * 1000 }),
  alertBacklog: integer({ min: 0, max: TIMER_MS_MAX, default: 1000 }),
  alertAgeMs: integer({ min: 0, max: DELAY_MS_MAX, default: 5 * 60 * 1000 }),
  alertUpkeepMs: integer({ min: 0, max: DELAY_MS_MAX, default: 5 * 60 * 1000 }),
};

/**
 * Fills in the defaults and checks what was given.
 *
 * @throws {InvalidOptionError} naming the setting, its value and what was expected.
 */
export function resolveEventSettings(given: Partial<EventSettings> = {}): EventSettings {
  return resolveOptions("events", given, EVENT_SETTINGS, "events.");
}
