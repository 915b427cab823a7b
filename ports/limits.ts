/** Bounds that every adapter keeps. Above each there is a typed error, never a silent cut. */

/** The longest args of a job as UTF-8 JSON text, in bytes: 1 MiB. */
export const ARGS_BYTES_MAX: number = 1024 * 1024;

/** The longest input and output of a called module as UTF-8 JSON text, in bytes: 4 MiB, for texts that quote args. */
export const CALL_BYTES_MAX: number = 4 * 1024 * 1024;

/** The longest output of a job as UTF-8 JSON text, in bytes: 64 KiB. */
export const OUTPUT_BYTES_MAX: number = 64 * 1024;

/** The longest name of a kind, queue or periodic, in UTF-16 code units. */
export const NAME_LENGTH_MAX: number = 128;

/** The deepest nesting of args. Beyond it a recursive reader could overflow its stack. */
export const ARGS_DEPTH_MAX: number = 500;

/** The longest error message that is kept of one attempt, in UTF-16 code units; the rest is cut. */
export const ERROR_MESSAGE_LENGTH_MAX: number = 8 * 1024;

/** How many attempts' errors a job keeps: the first one and the newest others. */
export const ERRORS_KEPT_MAX: number = 100;

/** How many characters of a job's args a list shows. `get` returns all of them. */
export const ARGS_PREVIEW_LENGTH: number = 200;

/** The most rows that `list` returns at once. */
export const LIST_LIMIT_MAX: number = 1000;

/** The longest delay that is accepted, in ms: 10 years. */
export const DELAY_MS_MAX: number = 10 * 365 * 24 * 60 * 60 * 1000;

/** The longest time that a timer holds, in ms, some 24 days: one that is set for longer fires at once. */
export const TIMER_MS_MAX: number = 2 ** 31 - 1;

/** What the kind of a periodic's jobs begins with. */
export const PERIODIC_PREFIX: string = "periodic:";

/** The limit of one attempt of a periodic that has a handler and says none, in ms: 10 minutes. */
export const PERIODIC_TIMEOUT_MS: number = 10 * 60 * 1000;

/** The shortest period of a periodic, in ms. */
export const PERIOD_MS_MIN: number = 100;

/** The longest data of an event as UTF-8 JSON text, in bytes: 1 MiB less 16 KiB, so that the event fits into args. */
export const EVENT_DATA_BYTES_MAX: number = ARGS_BYTES_MAX - 16 * 1024;

/** The longest subject and owner of an event, in UTF-16 code units. */
export const EVENT_TEXT_LENGTH_MAX: number = 512;
