import { InvalidOptionError } from "../ports/errors.ts";
import { TIMER_MS_MAX } from "../ports/limits.ts";
import type { WaitOptions } from "../ports/runtime.ts";
import { checkKeys } from "./known_keys.ts";

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
  checkKeys("the options of a wait", options, ["signal"]);
  const { signal } = options;
  if (signal === undefined) return undefined;
  if (!(signal instanceof AbortSignal)) throw new InvalidOptionError("signal", signal, "an AbortSignal");
  signal.throwIfAborted();
  return signal;
}
