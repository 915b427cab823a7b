import { asciiText, type Settlement } from "../ports/mod.ts";

/**
 * The settlement with the words of its error in ASCII, which every encoding has: other characters become their code, such
 * as `\u{1f4a5}`. Undefined when they are ASCII already.
 */
export function asciiSettlement(settlement: Settlement): Settlement | undefined {
  const { error } = settlement;
  if (error === null) return undefined;
  const message = asciiText(error.message);
  const stack = error.stack === undefined ? undefined : asciiText(error.stack);
  if (message === error.message && stack === error.stack) return undefined;
  return { ...settlement, error: { ...error, message, ...(stack === undefined ? {} : { stack }) } };
}
