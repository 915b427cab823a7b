import { InvalidOptionError } from "../ports/errors.ts";
import { DELAY_MS_MAX } from "../ports/limits.ts";
import { integer, number, type Options, resolveOptions } from "../shared/options.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Times and bounds of webhooks. All times in ms. */
export interface WebhookSettings {
  /**
   * The delays after the first, second, ... failed attempt; the last one repeats. Each from 0 to 10 years. Default 5 s, 5 and
   * 30 minutes, 2, 5 and 10 hours.
   */
  readonly scheduleMs: readonly number[];
  /** How many attempts a delivery has, 1 to 1,000. Default 18. */
  readonly maxAttempts: number;
  /** The limit of one request, up to the answer's status. From 1 ms to 10 s. Default 10 s. */
  readonly requestMs: number;
  /** The longest time that a Retry-After is followed, from 0 to 10 years. Default 10 hours. */
  readonly retryAfterMs: number;
  /** How many deliveries to a healthy endpoint are under way at once in one process, 1 to 1,000. Default 8. */
  readonly inFlight: number;
  /** Statuses with which a receiver says that a delivery will never do: it is discarded at once. 300 to 599. Default none. */
  readonly permanentStatuses: readonly number[];
  /**
   * The longest pause between two tries of an endpoint that fails, and the shortest between two of a delivery that come before
   * its schedule. The first pause is the schedule's first delay, or a tenth of a second where most answers are failures; it
   * doubles. From 1 to 10 years. Default 30 s.
   */
  readonly probeMs: number;
  /**
   * How long a delivery to a failing or ordered endpoint keeps others out at most, should its process die. At least 4 s
   * more than `requestMs`: whoever still sends must have it. From 1 to 10 years. Default 20 s.
   */
  readonly leaseMs: number;
  /**
   * An ordered endpoint gives up the first of its line once its receiver has answered it 4xx for so long, 408 and 429 aside.
   * From 0 to 10 years. Default 1 hour.
   */
  readonly holdMs: number;
  /**
   * After so long without a success an endpoint that fails is disabled, if more than one event has failed. From 1 to 10 years.
   * Default 5 days.
   */
  readonly disableAfterMs: number;
  /** So long after its fan-out a delivery that only waits is given up, from 1 to 10 years. Default 7 days. */
  readonly giveUpAfterMs: number;
  /** How long an ended delivery is kept, with its log, from 0 to 10 years. Default 7 days. */
  readonly retentionMs: number;
}

const DELAY = number({ min: 0, max: DELAY_MS_MAX });
const STATUS = integer({ min: 300, max: 599 });

/** Each setting, its bounds and its default. With the defaults a delivery is tried 18 times over about 5.3 days. */
export const WEBHOOK_SETTINGS: Options<WebhookSettings> = {
  scheduleMs: {
    expected: `at least one delay in ms, from 0 to ${DELAY_MS_MAX}`,
    accepts: (value) => Array.isArray(value) && value.length > 0 && value.every(DELAY.accepts),
    default: [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR],
  },
  maxAttempts: integer({ min: 1, max: 1000, default: 18 }),
  requestMs: number({ min: 1, max: 10 * SECOND, default: 10 * SECOND }),
  retryAfterMs: number({ min: 0, max: DELAY_MS_MAX, default: 10 * HOUR }),
  inFlight: integer({ min: 1, max: 1000, default: 8 }),
  permanentStatuses: {
    expected: "a list of statuses from 300 to 599",
    accepts: (value) => Array.isArray(value) && value.every(STATUS.accepts),
    default: [],
  },
  probeMs: number({ min: 1, max: DELAY_MS_MAX, default: 30 * SECOND }),
  leaseMs: number({ min: 1, max: DELAY_MS_MAX, default: 20 * SECOND }),
  holdMs: number({ min: 0, max: DELAY_MS_MAX, default: HOUR }),
  disableAfterMs: number({ min: 1, max: DELAY_MS_MAX, default: 5 * DAY }),
  giveUpAfterMs: number({ min: 1, max: DELAY_MS_MAX, default: 7 * DAY }),
  retentionMs: number({ min: 0, max: DELAY_MS_MAX, default: 7 * DAY }),
};

/** After so long under way a delivery leaves its slot of the queue, in ms: its endpoint may be one that never answers. */
export const SLOT_MS: number = 100;

/** So many deliveries go on beside the queue's slots at once in one process. */
export const BESIDE_MAX: number = 100;

/** How long a name is looked up at most, in ms. */
export const RESOLVE_MS_MAX: number = 2 * SECOND;

/** How much longer than its request a call of the sending process may take, in ms. */
export const CALL_EXTRA_MS: number = 2 * SECOND;

/** The limit of a delivery's job, in ms: the request's, with what comes before it, and after it when an endpoint works again. */
export const JOB_MS_MAX: number = 25 * SECOND;

/**
 * Fills in the defaults.
 *
 * @throws {InvalidOptionError} a setting is unknown or out of its range.
 */
export function resolveWebhookSettings(given: Partial<WebhookSettings> = {}): WebhookSettings {
  const settings = resolveOptions("settings", given, WEBHOOK_SETTINGS);
  const { requestMs, leaseMs } = settings;
  const leaseMsMin = RESOLVE_MS_MAX + requestMs + CALL_EXTRA_MS;
  if (leaseMs < leaseMsMin) {
    throw new InvalidOptionError(
      "leaseMs",
      leaseMs,
      `at least ${leaseMsMin}: requestMs (${requestMs}) and ${
        leaseMsMin - requestMs
      } ms for what is around a request`,
    );
  }
  return settings;
}

/**
 * How long a delivery waits that could not be sent for a fault of ours, in ms: as long as it has waited already, so that
 * a process of another composition has its chance at once, and a large backlog is not looked at all the time.
 */
export function faultDelayMs({ scheduleMs, probeMs }: WebhookSettings, ageMs: number): number {
  return Math.max(scheduleMs[0]!, Math.min(ageMs, probeMs));
}

/** How long a delivery waits after its failed attempt `attempt` (1 is the first), in ms. */
export function delayMs({ scheduleMs }: WebhookSettings, attempt: number): number {
  return scheduleMs[Math.min(Math.max(attempt, 1), scheduleMs.length) - 1]!;
}
