/**
 * The names of `@std/assert` that our tests use, over `node:assert/strict`. Where JSR can be reached, one line of
 * deno.json's import map puts the original in its place.
 */

import nodeAssert from "node:assert/strict";

/** What a failed assertion throws. */
export class AssertionError extends nodeAssert.AssertionError {
  /** Makes one with a message. */
  constructor(message: string) {
    super({ message });
    this.name = "AssertionError";
  }
}

// deno-lint-ignore no-explicit-any -- a constructor of whatever arguments
type AnyConstructor<T = unknown> = abstract new (...args: any[]) => T;

/** Fails unless `value` is truthy. */
export function assert(value: unknown, message = "Expected a truthy value"): asserts value {
  if (!value) throw new AssertionError(message);
}

/** Fails unless `value` is falsy. */
export function assertFalse(value: unknown, message = "Expected a falsy value"): asserts value is false {
  if (value) throw new AssertionError(message);
}

/** Fails always. */
export function fail(message = "Failed"): never {
  throw new AssertionError(message);
}

/** Fails always: for branches that must not be reached. */
export function unreachable(message = "Reached what should be unreachable"): never {
  throw new AssertionError(message);
}

/** Fails unless both are equal in depth. */
export function assertEquals<T>(actual: T, expected: T, message?: string): void {
  try {
    nodeAssert.deepStrictEqual(actual, expected);
  } catch (error) {
    throw withMessage(error, message);
  }
}

/** Fails if both are equal in depth. */
export function assertNotEquals<T>(actual: T, expected: T, message?: string): void {
  try {
    nodeAssert.notDeepStrictEqual(actual, expected);
  } catch (error) {
    throw withMessage(error, message);
  }
}

/** Fails unless both are the same by `Object.is`. */
export function assertStrictEquals<T>(actual: unknown, expected: T, message?: string): asserts actual is T {
  if (!Object.is(actual, expected)) {
    throw new AssertionError(lead(message) + `Expected ${show(actual)} to be the same as ${show(expected)}`);
  }
}

/** Fails if both are the same by `Object.is`. */
export function assertNotStrictEquals(actual: unknown, expected: unknown, message?: string): void {
  if (Object.is(actual, expected)) {
    throw new AssertionError(lead(message) + `Expected something else than ${show(expected)}`);
  }
}

/** Fails if `actual` is null or undefined. */
export function assertExists<T>(actual: T, message?: string): asserts actual is NonNullable<T> {
  if (actual === undefined || actual === null) {
    throw new AssertionError(lead(message) + `Expected a value, got ${show(actual)}`);
  }
}

/** Fails unless `actual` has every property of `expected`, in depth; it may have more. */
export function assertObjectMatch(
  actual: Record<PropertyKey, unknown>,
  expected: Record<PropertyKey, unknown>,
  message?: string,
): void {
  assertEquals<unknown>(pick(actual, expected), expected, message);
}

/** Fails unless `actual` contains every element of `expected`. */
export function assertArrayIncludes<T>(
  actual: ArrayLike<T>,
  expected: ArrayLike<T>,
  message?: string,
): void {
  const all = Array.from(actual);
  const missing = Array.from(expected).filter((element) => !all.some((one) => equal(one, element)));
  if (missing.length > 0) {
    throw new AssertionError(lead(message) + `Expected ${show(all)} to include ${show(missing)}`);
  }
}

/** Fails unless `actual` contains `expected`. */
export function assertStringIncludes(actual: string, expected: string, message?: string): void {
  if (!actual.includes(expected)) {
    throw new AssertionError(lead(message) + `Expected ${show(actual)} to include ${show(expected)}`);
  }
}

/** Fails unless `actual` matches. */
export function assertMatch(actual: string, expected: RegExp, message?: string): void {
  if (!expected.test(actual)) {
    throw new AssertionError(lead(message) + `Expected ${show(actual)} to match ${expected}`);
  }
}

/** Fails if `actual` matches. */
export function assertNotMatch(actual: string, expected: RegExp, message?: string): void {
  if (expected.test(actual)) {
    throw new AssertionError(lead(message) + `Expected ${show(actual)} not to match ${expected}`);
  }
}

/** Fails unless `actual` is an instance of `expected`. */
export function assertInstanceOf<T>(
  actual: unknown,
  expected: AnyConstructor<T>,
  message?: string,
): asserts actual is T {
  if (!(actual instanceof expected)) {
    throw new AssertionError(lead(message) + `Expected an instance of ${expected.name}, got ${show(actual)}`);
  }
}

/** Fails unless `actual > expected`. */
export function assertGreater<T>(actual: T, expected: T, message?: string): void {
  if (!(actual > expected)) {
    throw new AssertionError(lead(message) + `Expected ${show(actual)} > ${show(expected)}`);
  }
}

/** Fails unless `actual >= expected`. */
export function assertGreaterOrEqual<T>(actual: T, expected: T, message?: string): void {
  if (!(actual >= expected)) {
    throw new AssertionError(lead(message) + `Expected ${show(actual)} >= ${show(expected)}`);
  }
}

/** Fails unless `actual < expected`. */
export function assertLess<T>(actual: T, expected: T, message?: string): void {
  if (!(actual < expected)) {
    throw new AssertionError(lead(message) + `Expected ${show(actual)} < ${show(expected)}`);
  }
}

/** Fails unless `actual <= expected`. */
export function assertLessOrEqual<T>(actual: T, expected: T, message?: string): void {
  if (!(actual <= expected)) {
    throw new AssertionError(lead(message) + `Expected ${show(actual)} <= ${show(expected)}`);
  }
}

/** Fails unless both are at most `tolerance` apart (by default a ten-millionth of `expected`). */
export function assertAlmostEquals(
  actual: number,
  expected: number,
  tolerance: number = Math.abs(expected) * 1e-7,
  message?: string,
): void {
  if (!Object.is(actual, expected) && !(Math.abs(actual - expected) <= tolerance)) {
    throw new AssertionError(
      lead(message) + `Expected ${actual} to be within ${tolerance} of ${expected}`,
    );
  }
}

/** Fails unless `error` is an Error of the class, with a message that contains `includes`. */
export function assertIsError<E extends Error = Error>(
  error: unknown,
  errorClass?: AnyConstructor<E>,
  includes?: string | RegExp,
  message?: string,
): asserts error is E {
  if (!(error instanceof Error)) {
    throw new AssertionError(lead(message) + `Expected an Error, got ${show(error)}`);
  }
  if (errorClass !== undefined && !(error instanceof errorClass)) {
    throw new AssertionError(
      lead(message) + `Expected a ${errorClass.name}, got ${error.name}: ${error.message}`,
    );
  }
  if (includes === undefined) return;
  const found = typeof includes === "string"
    ? error.message.includes(includes)
    : includes.test(error.message);
  if (!found) {
    throw new AssertionError(
      lead(message) + `Expected the message ${show(error.message)} to contain ${show(includes)}`,
    );
  }
}

/** Fails unless `action` throws; returns what it threw. */
export function assertThrows(action: () => unknown, message?: string): unknown;
/** Fails unless `action` throws an error of the class, with a message that contains `includes`. */
export function assertThrows<E extends Error = Error>(
  action: () => unknown,
  errorClass: AnyConstructor<E>,
  includes?: string,
  message?: string,
): E;
export function assertThrows(
  action: () => unknown,
  classOrMessage?: AnyConstructor<Error> | string,
  includes?: string,
  message?: string,
): unknown {
  try {
    action();
  } catch (error) {
    return checkThrown(error, classOrMessage, includes, message);
  }
  return fail(lead(said(classOrMessage, message)) + "Expected the function to throw");
}

/** Fails unless `action` returns a promise that rejects; resolves with the reason. */
export function assertRejects(action: () => PromiseLike<unknown>, message?: string): Promise<unknown>;
/** Fails unless `action` returns a promise that rejects with an error of the class. */
export function assertRejects<E extends Error = Error>(
  action: () => PromiseLike<unknown>,
  errorClass: AnyConstructor<E>,
  includes?: string,
  message?: string,
): Promise<E>;
export async function assertRejects(
  action: () => PromiseLike<unknown>,
  classOrMessage?: AnyConstructor<Error> | string,
  includes?: string,
  message?: string,
): Promise<unknown> {
  let promise: PromiseLike<unknown>;
  try {
    promise = action();
  } catch (error) {
    throw new AssertionError(
      lead(said(classOrMessage, message)) + `Expected a promise, but the function threw: ${show(error)}`,
    );
  }
  try {
    await promise;
  } catch (error) {
    return checkThrown(error, classOrMessage, includes, message);
  }
  return fail(lead(said(classOrMessage, message)) + "Expected the promise to reject");
}

/** Whether both are equal in depth. */
export function equal(one: unknown, other: unknown): boolean {
  try {
    nodeAssert.deepStrictEqual(one, other);
    return true;
  } catch {
    return false;
  }
}

function checkThrown(
  error: unknown,
  classOrMessage: AnyConstructor<Error> | string | undefined,
  includes: string | undefined,
  message: string | undefined,
): unknown {
  if (typeof classOrMessage === "function") assertIsError(error, classOrMessage, includes, message);
  return error;
}

function said(
  classOrMessage: AnyConstructor<Error> | string | undefined,
  message: string | undefined,
): string | undefined {
  return typeof classOrMessage === "string" ? classOrMessage : message;
}

function withMessage(error: unknown, message: string | undefined): AssertionError {
  return new AssertionError(lead(message) + (error as Error).message);
}

function lead(message: string | undefined): string {
  return message === undefined ? "" : `${message}: `;
}

function show(value: unknown): string {
  return Deno.inspect(value, { depth: 6, iterableLimit: 50 });
}

function pick(actual: unknown, expected: unknown): unknown {
  if (Array.isArray(expected) && Array.isArray(actual)) {
    return actual.map((element, index) => index < expected.length ? pick(element, expected[index]) : element);
  }
  if (!isRecord(expected) || !isRecord(actual)) return actual;
  return Object.fromEntries(
    Object.keys(expected).filter((key) => key in actual).map((
      key,
    ) => [key, pick(actual[key], expected[key])]),
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null &&
    [Object.prototype, null].includes(Object.getPrototypeOf(value));
}
