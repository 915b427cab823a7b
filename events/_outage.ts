import { InvalidJsonError, RefusedValueError, TooLargeError } from "../ports/errors.ts";

export { isOutage } from "../ports/in_halves.ts";

/** Whether a failure is surely an event's own: what it holds can't become a job. */
export function isBadValue(error: unknown): boolean {
  return error instanceof RefusedValueError || error instanceof InvalidJsonError ||
    error instanceof TooLargeError;
}
