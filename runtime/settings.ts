import { InvalidOptionError } from "../ports/errors.ts";
import { DELAY_MS_MAX, TIMER_MS_MAX } from "../ports/limits.ts";
import { checkKeys } from "../shared/known_keys.ts";

/** The runtime's times and sizes. Every one has a default that suits production; tests make them shorter. */
export interface Settings {
  /** How often a queue is looked at when nothing wakes it, in ms, 1 to 2^31 - 1. Default 1,000. */
  readonly pollMs: number;
  /** How often a process renews its heartbeat, in ms, 1 to 2^31 - 1. Default 5,000. */
  readonly heartbeatMs: number;
  /** After how long without a new heartbeat a process counts as lost, in ms: at least 3 heartbeats. Default 15,000. */
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
  /**
   * How long the end of a run waits at least for others to be written with it, in ms; while few end at a time, some 25 ms
   * at most. 0 is without any wait. 0 to 1,000. Default 2.
   */
  readonly settleMs: number;
  /** How often a process signals, in ms, 0 to 2^31 - 1; after a pause three signals may follow each other at once. Default 5. */
  readonly signalMs: number;
  /** For how long ahead jobs are claimed, in ms of the queue's recent rate, 0 to 2^31 - 1. Default 100. */
  readonly prefetchMs: number;
  /** The most jobs that are claimed at once, beside those that start at once, 0 to 2^31 - 1. Default 500. */
  readonly prefetchMax: number;
}

/** The defaults of {@linkcode Settings}. */
export const DEFAULT_SETTINGS: Settings = {
  pollMs: 1000,
  heartbeatMs: 5000,
  lostAfterMs: 15_000,
  leaseMs: 15_000,
  stopGraceMs: 10_000,
  retentionCompletedMs: 24 * 60 * 60 * 1000,
  retentionOthersMs: 7 * 24 * 60 * 60 * 1000,
  purgeMs: 60_000,
  settleMs: 2,
  signalMs: 5,
  prefetchMs: 100,
  prefetchMax: 500,
};

const ZERO_IS_FINE: ReadonlySet<string> = new Set([
  "stopGraceMs",
  "retentionCompletedMs",
  "retentionOthersMs",
  "settleMs",
  "signalMs",
  "prefetchMs",
  "prefetchMax",
]);

/** What is no timer here, and what would hold up whoever waits for an end. */
const MOST: Readonly<Record<string, number>> = {
  retentionCompletedMs: DELAY_MS_MAX,
  retentionOthersMs: DELAY_MS_MAX,
  settleMs: 1000,
};

/**
 * Fills in the defaults and checks what was given.
 *
 * @throws {InvalidOptionError} naming the setting, its value and what was expected.
 */
export function resolveSettings(given: Partial<Settings> = {}): Settings {
  checkKeys("settings", given, Object.keys(DEFAULT_SETTINGS));
  for (const [name, value] of Object.entries(given)) {
    const min = ZERO_IS_FINE.has(name) ? 0 : 1;
    const max = MOST[name] ?? TIMER_MS_MAX;
    if (typeof value !== "number" || !(value >= min && value <= max)) {
      throw new InvalidOptionError(`settings.${name}`, value, `a number from ${min} to ${max}`);
    }
  }
  if (!Number.isInteger(given.prefetchMax ?? 0)) {
    throw new InvalidOptionError("settings.prefetchMax", given.prefetchMax, "an integer");
  }
  const settings = { ...DEFAULT_SETTINGS, ...given };
  if (settings.lostAfterMs < 3 * settings.heartbeatMs) {
    throw new InvalidOptionError(
      "settings.lostAfterMs",
      settings.lostAfterMs,
      `at least three times heartbeatMs (${settings.heartbeatMs}), or a late heartbeat would look like a death`,
    );
  }
  return settings;
}
