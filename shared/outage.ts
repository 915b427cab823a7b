import {
  ConnectionTimeoutError,
  DatabaseUnavailableError,
  InvalidJsonError,
  RefusedValueError,
  sqlStateOf,
  StatementTimeoutError,
  TooLargeError,
  TransactionConflictError,
} from "../ports/errors.ts";

/** Connections, read-only servers, authorization, missing databases, lack of resources, shutdowns, the server's files. */
const OF_THE_SERVER = /^(08|25|28|3D|53|57P|58)/;

/** Conflicts and statements that took too long, or were cancelled. */
const OF_OTHERS = /^(40|55|57)/;

/** Whether no statement would have succeeded, so that this one can be sent again as it was. */
export function isOutage(error: unknown): boolean {
  if (error instanceof DatabaseUnavailableError || error instanceof ConnectionTimeoutError) return true;
  return OF_THE_SERVER.test(sqlStateOf(error) ?? "");
}

/**
 * Whether a failure is the database's or the moment's, so that none of a batch's items is to blame: half of them would
 * fare no better. A statement that ran into its own bound may have one slow item in it.
 */
export function isOfTheMoment(error: unknown): boolean {
  return error instanceof DatabaseUnavailableError || error instanceof ConnectionTimeoutError ||
    error instanceof TransactionConflictError ||
    (error instanceof StatementTimeoutError && error.bound === "lock");
}

/** Whether a statement was in conflict with others, or waited for them too long: it may pass when it is sent again. */
export function isOfOthers(error: unknown): boolean {
  return OF_OTHERS.test(sqlStateOf(error) ?? "");
}

/** Whether the server has ended a statement at its bound: sent again it may take as long once more. */
export function tookTooLong(error: unknown): boolean {
  return error instanceof StatementTimeoutError && error.bound === "statement";
}

/** Whether the store refused what a statement says: nothing of it was stored, and another one may succeed. */
export function isRefusal(error: unknown): boolean {
  return sqlStateOf(error) !== null && !isOutage(error) && !isOfOthers(error);
}

/** Whether a failure is surely that of what was to be written: it holds what can't be stored. */
export function isBadValue(error: unknown): boolean {
  return error instanceof RefusedValueError || error instanceof InvalidJsonError ||
    error instanceof TooLargeError;
}
