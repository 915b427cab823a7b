import { InvalidOptionError } from "../ports/errors.ts";
import { DELAY_MS_MAX, TIMER_MS_MAX } from "../ports/limits.ts";
import { defaultsOf, integer, number, type Options, resolveOptions } from "../shared/options.ts";

/** The runtime's times and sizes. Every one has a default that suits production; tests make them shorter. */
export interface Settings {
  /** How often a queue is looked at when nothing wakes it, in ms, 1 to 2^31 - 1. Default 1,000. */
  readonly pollMs: number;
  /** How often a process renews its heartbeat, in ms, 1 to 2^31 - 1. Default 5,000. */
  readonly heartbeatMs: number;
  /** After how long without a new heartbeat a process counts as lost, in ms: at least 3 heartbeats, 1 to 2^31 - 1. Default 15,000. */
  readonly lostAfterMs: number;
  /** How long the leader's lease lasts, in ms, 1 to 2^31 - 1. Default 15,000. */
  readonly leaseMs: number;
  /** How long `stop()` waits for running jobs before it aborts them, in ms, 0 to 2^31 - 1. Default 10,000. */
  readonly stopGraceMs: number;
  /** How long completed jobs are kept, in ms, from 0 to 10 years. Default 24 hours. */
  readonly retentionCompletedMs: number;
  /** How long discarded and cancelled jobs are kept, in ms, from 0 to 10 years. Default 7 days. */
  readonly retentionOthersMs: number;
  /**
   * How often the leader looks for jobs whose retention is over, and for queues that nobody works, in ms, 1 to 2^31 - 1.
   * Default 60,000.
   */
  readonly purgeMs: number;
  /** For how long ahead jobs are claimed, in ms of the queue's recent rate, 0 to 2^31 - 1. Default 100. */
  readonly prefetchMs: number;
  /** The most jobs that are claimed at once, beside those that start at once, 0 to 2^31 - 1. Default 500. */
  readonly prefetchMax: number;
}

/** Each setting, its bounds and its default. */
export const SETTINGS: Options<Settings> = {
  pollMs: number({ min: 1, max: TIMER_MS_MAX, default: 1000 }),
  heartbeatMs: number({ min: 1, max: TIMER_MS_MAX, default: 5000 }),
  lostAfterMs: number({ min: 1, max: TIMER_MS_MAX, default: 15_000 }),
  leaseMs: number({ min: 1, max: TIMER_MS_MAX, default: 15_000 }),
  stopGraceMs: number({ min: 0, max: TIMER_MS_MAX, default: 10_000 }),
  retentionCompletedMs: number({ min: 0, max: DELAY_MS_MAX, default: 24 * 60 * 60 * 1000 }),
  retentionOthersMs: number({ min: 0, max: DELAY_MS_MAX, default: 7 * 24 * 60 * 60 * 1000 }),
  purgeMs: number({ min: 1, max: TIMER_MS_MAX, default: 60_000 }),
  prefetchMs: number({ min: 0, max: TIMER_MS_MAX, default: 100 }),
  prefetchMax: integer({ min: 0, max: TIMER_MS_MAX, default: 500 }),
};

/** The defaults of {@linkcode Settings}. */
export const DEFAULT_SETTINGS: Settings = defaultsOf(SETTINGS);

/**
 * Fills in the defaults and checks what was given.
 *
 * @throws {InvalidOptionError} naming the setting, its value and what was expected.
 */
export function resolveSettings(given: Partial<Settings> = {}): Settings {
  const settings = resolveOptions("settings", given, SETTINGS, "settings.");
  if (settings.lostAfterMs < 3 * settings.heartbeatMs) {
    throw new InvalidOptionError(
      "settings.lostAfterMs",
      settings.lostAfterMs,
      `at least three times heartbeatMs (${settings.heartbeatMs}), or a late heartbeat would look like a death`,
    );
  }
  return settings;
}
