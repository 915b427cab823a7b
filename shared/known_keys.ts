import { InvalidOptionError } from "../ports/errors.ts";

/** The first member of an object that nobody knows: a misspelt one must not be passed over in silence. Undefined when there is none. */
export function unknownKey(given: object, known: readonly string[]): string | undefined {
  return Object.keys(given).find((key) => !known.includes(key));
}

/**
 * Checks that a value is an object of known members. `what` names it in the message: `a filter`. What was given in its
 * place is not shown, for it may hold a secret.
 *
 * @throws {InvalidOptionError} it is no object, or has a member that is not known.
 */
export function checkKeys(what: string, given: object, known: readonly string[]): void {
  const other = otherThanMembers(given);
  if (other !== undefined) {
    throw new InvalidOptionError(`${what} of type`, other, `an object of ${known.join(", ")}`);
  }
  const unknown = unknownKey(given, known);
  if (unknown !== undefined) throw new InvalidOptionError(`${what} with`, unknown, known.join(", "));
}

/** What a value is that can't hold options: no object, a list, or something like a Date, or a Promise that nobody awaited. */
function otherThanMembers(given: unknown): string | undefined {
  if (given === null) return "null";
  if (typeof given !== "object") return typeof given;
  if (Array.isArray(given)) return "list";
  const prototype = Object.getPrototypeOf(given);
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null;
  if (isPlain || Object.keys(given).length > 0) return undefined;
  return String(prototype.constructor?.name || "class");
}
