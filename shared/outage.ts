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

/** Connections, read-only servers, authorization, missing databases, lack of resources, shutdowns and server files. */
const OF_THE_SERVER = /^(08|25|28|3D|53|57P|58)/;

/** Conflicts, and statements that took too long or were cancelled. */
const OF_OTHERS = /^(40|55|57)/;

/** Whether every statement would have failed, so that this one can be sent again unchanged. */
export function isOutage(error: unknown): boolean {
  // A trigger of the application may raise any SQLSTATE.
  if (error instanceof RefusedValueError) return false;
  if (error instanceof DatabaseUnavailableError || error instanceof ConnectionTimeoutError) return true;
  return OF_THE_SERVER.test(sqlStateOf(error) ?? "");
}

/**
 * Whether a failure says nothing about the items of a batch: the database is down, a lock is held, a transaction
 * conflicted. Half of the items would fare no better. A statement that ran out of time may hold one slow item.
 */
export function isOfTheMoment(error: unknown): boolean {
  return error instanceof DatabaseUnavailableError || error instanceof ConnectionTimeoutError ||
    error instanceof TransactionConflictError ||
    (error instanceof StatementTimeoutError && error.bound === "lock");
}

/** Whether a statement conflicted with others, or waited for them too long: it may succeed when sent again. */
export function isOfOthers(error: unknown): boolean {
  if (error instanceof RefusedValueError) return false;
  return OF_OTHERS.test(sqlStateOf(error) ?? "");
}

/** Whether the server ended a statement at its time limit: sent again, it may take as long once more. */
export function tookTooLong(error: unknown): boolean {
  return error instanceof StatementTimeoutError && error.bound === "statement";
}

/** Whether the store refused the statement's content: nothing was stored, and another statement may succeed. */
export function isRefusal(error: unknown): boolean {
  return sqlStateOf(error) !== null && !isOutage(error) && !isOfOthers(error);
}

/** Whether a failure is certainly the fault of the data to write: it contains something that can't be stored. */
export function isBadValue(error: unknown): boolean {
  return error instanceof RefusedValueError || error instanceof InvalidJsonError ||
    error instanceof TooLargeError;
}
