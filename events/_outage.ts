import {
  ConnectionTimeoutError,
  DatabaseUnavailableError,
  InvalidJsonError,
  RefusedValueError,
  StatementTimeoutError,
  TooLargeError,
  TransactionConflictError,
} from "../ports/mod.ts";

/** Whether a failure is the database's or the moment's, so that no event is to blame. */
export function isOutage(error: unknown): boolean {
  return error instanceof DatabaseUnavailableError || error instanceof ConnectionTimeoutError ||
    error instanceof StatementTimeoutError || error instanceof TransactionConflictError;
}

/** Whether a failure is surely an event's own: what it holds can't become a job. */
export function isBadValue(error: unknown): boolean {
  return error instanceof RefusedValueError || error instanceof InvalidJsonError ||
    error instanceof TooLargeError;
}
