import { checkKeys, DELAY_MS_MAX, InvalidOptionError } from "../../ports/mod.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Times and bounds of webhooks. All times in ms. */
export interface WebhookSettings {
  /** The delays after the first, second, ... failed attempt; the last one repeats. */
  readonly scheduleMs: readonly number[];
  /** How many attempts a delivery has. */
  readonly maxAttempts: number;
  /** The limit of one request, up to the answer's status. At most 10 s. */
  readonly requestMs: number;
  /** The longest time that a Retry-After is followed. */
  readonly retryAfterMs: number;
  /** How many deliveries to a healthy endpoint are under way at once in one process. */
  readonly inFlight: number;
  /** The longest pause of an endpoint that fails; the first one is the schedule's first delay, and it doubles. */
  readonly probeMs: number;
  /**
   * How long a delivery to a failing or ordered endpoint keeps others out at most, should its process die. At least 4 s
   * more than `requestMs`: whoever still sends must have it.
   */
  readonly leaseMs: number;
  /** After so long without a success an endpoint that fails is disabled. */
  readonly disableAfterMs: number;
  /** So long after its fan-out a delivery that only waits is given up. */
  readonly giveUpAfterMs: number;
  /** How long an ended delivery is kept, with its log. */
  readonly retentionMs: number;
}

/** The defaults: with them, a delivery is tried 18 times over about 5.3 days. */
export const DEFAULT_WEBHOOK_SETTINGS: WebhookSettings = {
  scheduleMs: [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR],
  maxAttempts: 18,
  requestMs: 10 * SECOND,
  retryAfterMs: 10 * HOUR,
  inFlight: 8,
  probeMs: 5 * MINUTE,
  leaseMs: 20 * SECOND,
  disableAfterMs: 5 * DAY,
  giveUpAfterMs: 7 * DAY,
  retentionMs: 7 * DAY,
};

/** How long a name is looked up at most, in ms. */
export const RESOLVE_MS_MAX: number = 2 * SECOND;

/** How much longer than its request a call of the sending process may take, in ms. */
export const CALL_EXTRA_MS: number = 2 * SECOND;

/** The limit of a delivery's job, in ms: the request's, with what comes before and after it. */
export const JOB_MS_MAX: number = 15 * SECOND;

const BOUNDS: { readonly [Name in Exclude<keyof WebhookSettings, "scheduleMs">]: readonly [number, number] } =
  {
    maxAttempts: [1, 1000],
    requestMs: [1, 10 * SECOND],
    retryAfterMs: [0, DELAY_MS_MAX],
    inFlight: [1, 1000],
    probeMs: [1, DELAY_MS_MAX],
    leaseMs: [1, DELAY_MS_MAX],
    disableAfterMs: [1, DELAY_MS_MAX],
    giveUpAfterMs: [1, DELAY_MS_MAX],
    retentionMs: [0, DELAY_MS_MAX],
  };

/**
 * Fills in the defaults.
 *
 * @throws {InvalidOptionError} a setting is unknown or out of its range.
 */
export function resolveWebhookSettings(given: Partial<WebhookSettings> = {}): WebhookSettings {
  checkKeys("settings", given, Object.keys(DEFAULT_WEBHOOK_SETTINGS));
  const settings = { ...DEFAULT_WEBHOOK_SETTINGS, ...given };
  for (const [name, [min, max]] of Object.entries(BOUNDS)) {
    const value = settings[name as keyof typeof BOUNDS];
    const isCount = name === "maxAttempts" || name === "inFlight";
    if (typeof value === "number" && value >= min && value <= max && (!isCount || Number.isInteger(value))) {
      continue;
    }
    throw new InvalidOptionError(name, value, `${isCount ? "an integer" : "a number"} from ${min} to ${max}`);
  }
  const { scheduleMs, requestMs, leaseMs } = settings;
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
  if (
    !Array.isArray(scheduleMs) || scheduleMs.length === 0 ||
    !scheduleMs.every((ms) => typeof ms === "number" && ms >= 0 && ms <= DELAY_MS_MAX)
  ) {
    throw new InvalidOptionError(
      "scheduleMs",
      scheduleMs,
      `at least one delay in ms, from 0 to ${DELAY_MS_MAX}`,
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
