import type { Settlement } from "../ports/store.ts";
import { asciiText } from "../shared/text.ts";

/** The settlement with the words of its error in ASCII, which every encoding has; undefined when they are so already. */
export function asciiSettlement(settlement: Settlement): Settlement | undefined {
  const { error } = settlement;
  if (error === null) return undefined;
  const message = asciiText(error.message);
  const stack = error.stack === undefined ? undefined : asciiText(error.stack);
  if (message === error.message && stack === error.stack) return undefined;
  return { ...settlement, error: { ...error, message, ...(stack === undefined ? {} : { stack }) } };
}
