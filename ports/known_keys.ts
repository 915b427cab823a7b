import { InvalidOptionError } from "./errors.ts";

/** The first member of an object that nobody knows: a misspelt one must not be passed over in silence. Undefined when there is none. */
export function unknownKey(given: object, known: readonly string[]): string | undefined {
  return Object.keys(given).find((key) => !known.includes(key));
}

/**
 * Checks that a value is an object of known members. `what` names it in the message: `a filter`.
 *
 * @throws {InvalidOptionError} it is no object, or has a member that is not known.
 */
export function checkKeys(what: string, given: object, known: readonly string[]): void {
  if (typeof given !== "object" || given === null) throw new InvalidOptionError(what, given, "an object");
  const unknown = unknownKey(given, known);
  if (unknown !== undefined) throw new InvalidOptionError(`${what} with`, unknown, known.join(", "));
}
