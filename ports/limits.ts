/** Bounds that every adapter enforces. Exceeding one throws a typed error; nothing is cut silently. */

/** The maximum size of a job's args as UTF-8 JSON text, in bytes: 1 MiB. */
export const ARGS_BYTES_MAX: number = 1024 * 1024;

/**
 * The maximum size of a called module's input and output as UTF-8 JSON text, in bytes: 4 MiB, for texts that quote
 * args.
 */
export const CALL_BYTES_MAX: number = 4 * 1024 * 1024;

/** The maximum size of a job's output as UTF-8 JSON text, in bytes: 64 KiB. */
export const OUTPUT_BYTES_MAX: number = 64 * 1024;

/** The maximum length of a kind's, queue's or periodic's name, in UTF-16 code units. */
export const NAME_LENGTH_MAX: number = 128;

/** The maximum nesting depth of args. Deeper args could overflow the stack of a recursive reader. */
export const ARGS_DEPTH_MAX: number = 500;

/** The maximum length of an attempt's stored error message, in UTF-16 code units; the rest is cut. */
export const ERROR_MESSAGE_LENGTH_MAX: number = 8 * 1024;

/** How many attempts' errors a job keeps: the first one and the newest others. */
export const ERRORS_KEPT_MAX: number = 100;

/** How many characters of a job's args a list shows. `get` returns all of them. */
export const ARGS_PREVIEW_LENGTH: number = 200;

/** The maximum number of rows that `list` returns at once. */
export const LIST_LIMIT_MAX: number = 1000;

/** The maximum delay, in ms: 10 years. */
export const DELAY_MS_MAX: number = 10 * 365 * 24 * 60 * 60 * 1000;

/** The maximum delay of a timer, in ms, about 24 days: a timer set for longer fires immediately. */
export const TIMER_MS_MAX: number = 2 ** 31 - 1;

/** The prefix of the kinds of periodics' jobs. */
export const PERIODIC_PREFIX: string = "periodic:";

/** The default time limit of one attempt of a periodic with a handler, in ms: 10 minutes. */
export const PERIODIC_TIMEOUT_MS: number = 10 * 60 * 1000;

/** The minimum interval of a periodic, in ms. */
export const PERIOD_MS_MIN: number = 100;

/**
 * The maximum size of an event's data as UTF-8 JSON text, in bytes: 1 MiB less 16 KiB, so that the event fits into
 * args.
 */
export const EVENT_DATA_BYTES_MAX: number = ARGS_BYTES_MAX - 16 * 1024;

/** The maximum length of an event's subject and owner, in UTF-16 code units. */
export const EVENT_TEXT_LENGTH_MAX: number = 512;
