import { InvalidOptionError } from "../ports/errors.ts";
import { DELAY_MS_MAX } from "../ports/limits.ts";
import { checkKeys } from "../shared/known_keys.ts";

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
  /** More waiting events than this are an alert, from 0. Default 1,000. */
  readonly alertBacklog: number;
  /** An event that waits longer than this is an alert, in ms, from 0 to 10 years. Default 5 minutes. */
  readonly alertAgeMs: number;
  /**
   * Upkeep (ticks, purges, rescues, the relay) that has failed for longer than this is an alert, in ms, from 0 to 10 years.
   * Default 5 minutes.
   */
  readonly alertUpkeepMs: number;
}

/** The defaults of {@linkcode EventSettings}. */
export const DEFAULT_EVENT_SETTINGS: EventSettings = {
  sweepMs: 60_000,
  pollMs: 1000,
  backoffMs: 2000,
  backoffMaxMs: 60_000,
  retentionMs: 7 * 24 * 60 * 60 * 1000,
  purgeMs: 60 * 60 * 1000,
  alertBacklog: 1000,
  alertAgeMs: 5 * 60 * 1000,
  alertUpkeepMs: 5 * 60 * 1000,
};

const LEAST: Partial<Record<keyof EventSettings, number>> = {
  retentionMs: 0,
  alertBacklog: 0,
  alertAgeMs: 0,
  alertUpkeepMs: 0,
  purgeMs: 100,
};

/**
 * Fills in the defaults and checks what was given.
 *
 * @throws {InvalidOptionError} naming the setting, its value and what was expected.
 */
export function resolveEventSettings(given: Partial<EventSettings> = {}): EventSettings {
  checkKeys("events", given, Object.keys(DEFAULT_EVENT_SETTINGS));
  for (const [name, value] of Object.entries(given)) {
    const min = LEAST[name as keyof EventSettings] ?? 1;
    if (!Number.isInteger(value) || value < min || value > DELAY_MS_MAX) {
      throw new InvalidOptionError(`events.${name}`, value, `a whole number from ${min} to ${DELAY_MS_MAX}`);
    }
  }
  return { ...DEFAULT_EVENT_SETTINGS, ...given };
}
