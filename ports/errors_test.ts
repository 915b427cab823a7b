import { assertEquals, assertStringIncludes } from "@std/assert";
import {
  ConnectionTimeoutError,
  InvalidOptionError,
  PoolTooSmallError,
  SchemaVersionError,
  TooLargeError,
  TransactionConflictError,
  UndeclaredKindError,
  UniqueConflictError,
} from "./errors.ts";

const CASES: readonly [Error, string, readonly string[]][] = [
  [new UndeclaredKindError("mial", ["mail", "sms"]), "UndeclaredKindError", ['"mial"', '"mail", "sms"']],
  [new UndeclaredKindError("mial", []), "UndeclaredKindError", ["declared are none"]],
  [new TooLargeError("args", 12, 10, "bytes"), "TooLargeError", ["args", "12 bytes", "10 bytes"]],
  [new InvalidOptionError("runAt", new Date(NaN), "a date"), "InvalidOptionError", [
    "runAt Invalid Date",
    "a date",
  ]],
  [new InvalidOptionError("queue", "a b", "a name"), "InvalidOptionError", ['"a b"']],
  [new UniqueConflictError("1", "2"), "UniqueConflictError", ["job 1", "job 2"]],
  [new TransactionConflictError("40001", {}), "TransactionConflictError", ["40001", "again"]],
  [new ConnectionTimeoutError(5000), "ConnectionTimeoutError", ["5000 ms"]],
  [new SchemaVersionError("millrace", 1, 2), "SchemaVersionError", [
    "version 1",
    "needs 2",
    "migrate",
    "for webhooks with --webhooks",
  ]],
  [new SchemaVersionError("millrace", 3, 2), "SchemaVersionError", ["version 3", "older"]],
  [new PoolTooSmallError(2, 4), "PoolTooSmallError", ["2 connection", "at least 4"]],
];

for (const [error, name, parts] of CASES) {
  Deno.test(`${name} says what was there and what was expected: ${parts.join(", ")}`, () => {
    assertEquals(error.name, name);
    for (const part of parts) assertStringIncludes(error.message, part);
  });
}
