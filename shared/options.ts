import { InvalidOptionError } from "../ports/errors.ts";
import { show } from "../ports/show.ts";

/** What one option accepts. */
export interface Option {
  /** Ends "expected ..." in an error: `an integer from 1 to 1000`. */
  readonly expected: string;
  /** Whether a value is accepted. */
  readonly accepts: (value: unknown) => boolean;
  /** Stands for the value where none is given. */
  readonly default?: unknown;
  /** Whether a value must be given. Default false. */
  readonly isRequired?: boolean;
  /** The least and the most, of a number. */
  readonly range?: readonly [min: number, max: number];
  /** Whether the least is itself too little. Default false. */
  readonly isAbove?: boolean;
}

/** What the members of an object accept: one option for each of them, and none for any other. */
export type Options<T extends object> = { readonly [Name in keyof Required<T>]: Option };

/** The bounds of a number, and what stands for it. */
export interface NumberBounds {
  /** The least. */
  readonly min: number;
  /** The most. */
  readonly max: number;
  /** Stands for the value where none is given. */
  readonly default?: number;
}

/** A number within bounds. */
export function number({ min, max, ...rest }: NumberBounds): Option {
  return {
    ...rest,
    expected: `a number from ${min} to ${max}`,
    accepts: (value) => typeof value === "number" && value >= min && value <= max,
    range: [min, max],
  };
}

/** A whole number within bounds. */
export function integer({ min, max, ...rest }: NumberBounds): Option {
  return {
    ...rest,
    expected: `an integer from ${min} to ${max}`,
    accepts: (value) => Number.isInteger(value) && (value as number) >= min && (value as number) <= max,
    range: [min, max],
  };
}

/** How long something may take, in ms. */
export function limitMs({ max, ...rest }: Omit<NumberBounds, "min">): Option {
  return {
    ...rest,
    expected: `ms above 0 and at most ${max}`,
    accepts: (ms) => typeof ms === "number" && ms > 0 && ms <= max,
    range: [0, max],
    isAbove: true,
  };
}

/** `true` or `false`. A text such as "false" would count as true. */
export function flag(): Option {
  return { expected: "true or false", accepts: (value) => typeof value === "boolean" };
}

/** One of some values. */
export function oneOf(values: readonly unknown[]): Option {
  return { expected: `one of ${values.join(", ")}`, accepts: (value) => values.includes(value) };
}

/** A text that a database can hold: without U+0000 and half surrogate pairs. */
export function text(): Option {
  return {
    expected: "a text without U+0000 and half surrogate pairs",
    accepts: (value) => typeof value === "string" && !value.includes("\0") && value.isWellFormed(),
  };
}

/** A function. `expected` says of what: `a function of a line`. */
export function callback(expected: string): Option {
  return { expected, accepts: (value) => typeof value === "function" };
}

/** A list. `expected` says of what: `a list of ports`. */
export function list(expected: string): Option {
  return { expected, accepts: Array.isArray };
}

/** A member that is checked where it is used. */
export const UNCHECKED: Option = { expected: "anything", accepts: () => true };

/** An option that must be given. */
export function required(option: Option): Option {
  return { ...option, isRequired: true };
}

/** The priority of a job or a delivery. */
export const PRIORITY: Option = {
  ...integer({ min: 1, max: 4, default: 2 }),
  expected: "1 (first), 2, 3 or 4",
};

/** What is wrong with one member. */
export interface Misfit {
  /** The member. */
  readonly name: string;
  /** What was given. */
  readonly value: unknown;
  /** What is expected of it; null when it is not known. */
  readonly expected: string | null;
}

/** The members that are not known or not accepted, in their order, then those that are missing. */
export function misfitsOf<T extends object>(given: object, options: Options<T>): Misfit[] {
  // Every enqueue comes by here, so nothing is made where nothing is wrong.
  let misfits = NONE;
  for (const name of Object.keys(given)) {
    const option = Object.hasOwn(options, name) ? options[name as keyof Options<T>] : undefined;
    const value: unknown = given[name as keyof typeof given];
    if (option !== undefined && (value === undefined || option.accepts(value))) continue;
    misfits = [...misfits, { name, value, expected: option?.expected ?? null }];
  }
  for (const name of requiredOf(options)) {
    if (Reflect.get(given, name) !== undefined) continue;
    misfits = [...misfits, { name, value: undefined, expected: options[name as keyof Options<T>].expected }];
  }
  return misfits;
}

const NONE: Misfit[] = [];
const requiredNames = new WeakMap<object, readonly string[]>();

function requiredOf(options: object): readonly string[] {
  let names = requiredNames.get(options);
  if (names === undefined) {
    names = Object.entries(options).filter(([, { isRequired }]) => isRequired === true).map(([name]) => name);
    requiredNames.set(options, names);
  }
  return names;
}

/**
 * Checks options. `what` names the object in an error about a member that is not known: `a filter`; `prefix` comes before
 * the names of members.
 *
 * @throws {InvalidOptionError} it is no object, has a member that is not known, or one that is not accepted. What was
 *   given in the place of an object is not shown: it may hold a secret.
 */
export function checkOptions<T extends object>(
  what: string,
  given: object,
  options: Options<T>,
  prefix: string = "",
): asserts given is Partial<T> {
  if (otherThanMembers(given) !== undefined) checkObject(what, given, namesOf(options));
  const [misfit] = misfitsOf(given, options);
  if (misfit === undefined) return;
  const { name, value, expected } = misfit;
  if (expected === null) throw new InvalidOptionError(`${what} with`, name, namesOf(options));
  throw new InvalidOptionError(prefix + name, value, expected);
}

/** The defaults of options. Those without one are left out. */
export function defaultsOf<T extends object>(options: Options<T>): T {
  return Object.fromEntries(
    Object.entries<Option>(options).filter(([, option]) => "default" in option).map((
      [name, option],
    ) => [name, option.default]),
  ) as T;
}

/**
 * Checks options and fills in the defaults.
 *
 * @throws {InvalidOptionError} as {@linkcode checkOptions}.
 */
export function resolveOptions<T extends object>(
  what: string,
  given: Partial<T>,
  options: Options<T>,
  prefix: string = "",
): T {
  checkOptions(what, given, options, prefix);
  return { ...defaultsOf(options), ...definedOf(given) };
}

/** What is wrong with the members of a declaration, each as a sentence that begins with its name. */
export function optionFaults<T extends object>(
  name: string,
  given: object,
  options: Options<T>,
  prefix: string = "",
): string[] {
  const where = prefix === "" ? name : `${name}: ${prefix.slice(0, -1)}`;
  return misfitsOf(given, options).map((each) =>
    each.expected === null
      ? `${where}: ${show(each.name)} is not known, expected ${namesOf(options)}`
      : `${name}: ${prefix}${each.name} is ${show(each.value)}, expected ${each.expected}`
  );
}

/**
 * Checks that a value can hold options: it is no list, nor something like a Date, or a Promise that nobody awaited.
 *
 * @throws {InvalidOptionError} it can't. What was given is not shown: it may hold a secret.
 */
export function checkObject(what: string, given: unknown, members: string): asserts given is object {
  const other = otherThanMembers(given);
  if (other !== undefined) throw new InvalidOptionError(`${what} of type`, other, `an object of ${members}`);
}

/** Whether a value is an object that can have named members. */
export function isRecord(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The names of options, for a message. */
export function namesOf(options: object): string {
  return Object.keys(options).join(", ");
}

function definedOf<T extends object>(given: Partial<T>): Partial<T> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Partial<T>;
}

/** What a value is that can't hold options. */
function otherThanMembers(given: unknown): string | undefined {
  if (given === null) return "null";
  if (typeof given !== "object") return typeof given;
  if (Array.isArray(given)) return "list";
  const prototype = Object.getPrototypeOf(given);
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null;
  if (isPlain || Object.keys(given).length > 0) return undefined;
  return String(prototype.constructor?.name || "class");
}
