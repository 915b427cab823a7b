import {
  assertEquals,
  assertInstanceOf,
  assertMatch,
  assertStrictEquals,
  assertStringIncludes,
} from "@std/assert";
import { DatabaseUnavailableError, RefusedValueError, TransactionConflictError } from "../../ports/errors.ts";
import { translateError } from "./translate_error.ts";

function failure(code: string, message = "message"): Error {
  return Object.assign(new Error(message), { code });
}

Deno.test("class 40 is a conflict, and names its SQLSTATE", () => {
  const error = translateError(failure("40P01"));
  assertInstanceOf(error, TransactionConflictError);
  assertEquals(error.sqlState, "40P01");
});

Deno.test("classes 22 and 23 are refused values", () => {
  for (const code of ["22P05", "23505"]) assertInstanceOf(translateError(failure(code)), RefusedValueError);
});

Deno.test("broken connections and stopping servers are the database being unavailable", () => {
  for (
    const code of ["CONNECTION_CLOSED", "ECONNREFUSED", "CONNECT_TIMEOUT", "08006", "57P01", "57P03"]
  ) {
    assertInstanceOf(translateError(failure(code)), DatabaseUnavailableError, code);
  }
});

Deno.test("a server that lacks space, memory or connections is unavailable, and the message says what to do", () => {
  for (const code of ["53100", "53200", "53300", "58030"]) {
    const error = translateError(failure(code, "could not extend file"));
    assertInstanceOf(error, DatabaseUnavailableError, code);
    assertMatch(
      error.message,
      new RegExp(`^The database.*: could not extend file \\(SQLSTATE ${code}\\): .+`),
    );
  }
});

Deno.test("what no retry mends keeps its text, says what to do, and keeps its cause", () => {
  for (const code of ["28P01", "42501", "25006", "42P01"]) {
    const cause = failure(code, "the server's words");
    const error = translateError(cause);
    assertStringIncludes(error.message, "the server's words");
    assertStrictEquals(error.cause, cause);
    assertEquals(error instanceof DatabaseUnavailableError, false);
  }
});

Deno.test("a startup parameter that a pooler refuses is explained", () => {
  const error = translateError(failure("08P01", "unsupported startup parameter: plan_cache_mode"));
  assertStringIncludes(error.message, "preparedStatements: false");
});

Deno.test("any other error is left as it is", () => {
  const plain = new Error("mine");
  assertStrictEquals(translateError(plain), plain);
  const cancelled = failure("57014");
  assertStrictEquals(translateError(cancelled), cancelled);
});
