import { InvalidOptionError } from "../ports/errors.ts";
import { TIMER_MS_MAX } from "../ports/limits.ts";
import type { WaitOptions } from "../ports/runtime.ts";
import { checkOptions, type Options } from "./options.ts";

const WAIT_OPTIONS: Options<WaitOptions> = {
  signal: { expected: "an AbortSignal", accepts: (signal) => signal instanceof AbortSignal },
};

/**
 * Checks for how long is waited, and cuts it to what a timer holds.
 *
 * @throws {InvalidOptionError} it is below 0, or no number.
 */
export function waitMs(maxMs: number): number {
  if (typeof maxMs === "number" && maxMs >= 0) return Math.min(maxMs, TIMER_MS_MAX);
  throw new InvalidOptionError("maxMs", maxMs, "ms, 0 or more");
}

/**
 * Checks what may end a wait early.
 *
 * @throws {InvalidOptionError} the signal is none.
 * @throws the signal's reason, if it has aborted already.
 */
export function waitSignal(options: WaitOptions): AbortSignal | undefined {
  checkOptions("the options of a wait", options, WAIT_OPTIONS);
  const { signal } = options;
  signal?.throwIfAborted();
  return signal;
}
