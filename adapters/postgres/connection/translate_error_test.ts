import {
  assertEquals,
  assertInstanceOf,
  assertMatch,
  assertStrictEquals,
  assertStringIncludes,
} from "@std/assert";
import {
  DatabaseSetupError,
  DatabaseUnavailableError,
  RefusedValueError,
  StatementTimeoutError,
  TransactionConflictError,
} from "../../../ports/errors.ts";
import { DEFAULT_BOUNDS } from "./session.ts";
import { isRefusedBySession, sickness, translateError } from "./translate_error.ts";

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

Deno.test("what an operator meets at night: an outage that names its remedy, a fault of the setup, or a value to blame", () => {
  const of: readonly (readonly [code: string, routine: string | null, expected: unknown, words: RegExp])[] = [
    ["53000", null, DatabaseUnavailableError, /lacks resources/],
    ["53400", null, DatabaseUnavailableError, /temp_file_limit/],
    [
      "54000",
      "PreCommit_Notify",
      DatabaseUnavailableError,
      /queue of notifications is full.*rolled back.*end the session/,
    ],
    ["54000", "GetNewTransactionId", DatabaseUnavailableError, /transaction ids.*vacuum/],
    ["54000", "GetNewMultiXactId", DatabaseUnavailableError, /transaction ids.*vacuum/],
    ["54000", "index_form_tuple", RefusedValueError, /refused a value/],
    ["54001", "check_stack_depth", RefusedValueError, /refused a value/],
    ["55000", "CheckCmdReplicaIdentity", DatabaseSetupError, /replica identity.*publication/],
    ["55000", null, DatabaseSetupError, /state/],
    ["57P04", null, DatabaseUnavailableError, /was dropped/],
    ["57P05", null, DatabaseUnavailableError, /was idle/],
    ["58000", null, DatabaseUnavailableError, /disks/],
    ["58P01", null, DatabaseUnavailableError, /disks/],
    ["58P02", null, DatabaseUnavailableError, /disks/],
    ["40003", null, DatabaseUnavailableError, /not known/],
    ["42501", "ExecWithCheckOptions", DatabaseSetupError, /row level security.*BYPASSRLS/],
    ["XX001", null, DatabaseSetupError, /damaged.*backup/],
    ["XX002", null, DatabaseSetupError, /reindex/],
  ];
  for (const [code, routine, expected, words] of of) {
    const cause = Object.assign(failure(code, "its words"), routine === null ? {} : { routine });
    const error = translateError(cause);
    assertStrictEquals(error.constructor, expected, code);
    assertMatch(error.message, words);
    assertStringIncludes(error.message, `its words (SQLSTATE ${code})`);
    assertStrictEquals(error.cause, cause);
  }
});

Deno.test("where no connection is left the message names the limit that bites, in whatever language the server speaks", () => {
  const full = (routine: string) =>
    translateError(Object.assign(failure("53300", "zu viele Verbindungen"), { routine })).message;
  assertMatch(full("InitializeSessionUserId"), /raise the role's limit/);
  assertMatch(full("CheckMyDatabase"), /raise the database's limit/);
  assertMatch(full("InitPostgres"), /raise the server's max_connections/);
});

Deno.test("what no retry mends keeps its text, says what to do, and keeps its cause", () => {
  for (const code of ["28P01", "28000", "3D000", "3F000", "42501", "42P01"]) {
    const cause = failure(code, "the server's words");
    const error = translateError(cause);
    assertStringIncludes(error.message, "the server's words");
    assertStrictEquals(error.cause, cause);
    assertInstanceOf(error, DatabaseSetupError);
    assertEquals(error.sqlState, code);
  }
});

Deno.test("a startup parameter that a pooler refuses is explained", () => {
  const error = translateError(failure("08P01", "unsupported startup parameter: plan_cache_mode"));
  assertStringIncludes(error.message, "preparedStatements: false");
  assertInstanceOf(error, DatabaseSetupError);
});

Deno.test("any other error is left as it is", () => {
  const plain = new Error("mine");
  assertStrictEquals(translateError(plain), plain);
  const cancelled = failure("57014");
  assertStrictEquals(translateError(cancelled), cancelled);
});

Deno.test("a server that is read-only is unavailable, and what it said is kept", () => {
  const error = translateError(failure("25006", "cannot execute INSERT in a read-only transaction"));
  assertInstanceOf(error, DatabaseUnavailableError);
  assertMatch(error.message, /read-only.*connect to the primary/);
});

Deno.test("a statement that its bound has ended is told from one that somebody cancelled", () => {
  const context = { bounds: { ...DEFAULT_BOUNDS, statementTimeoutMs: 100, lockTimeoutMs: 50 }, tookMs: 120 };
  const slow = translateError(failure("57014"), context);
  assertInstanceOf(slow, StatementTimeoutError);
  assertEquals([slow.bound, slow.boundMs], ["statement", 100]);
  const cancelled = failure("57014");
  assertStrictEquals(translateError(cancelled, { ...context, tookMs: 20 }), cancelled);
  const locked = translateError(failure("55P03"), context);
  assertInstanceOf(locked, StatementTimeoutError);
  assertEquals([locked.bound, locked.boundMs], ["lock", 50]);
});

Deno.test("what an answer says of its session, also after it was translated", () => {
  const routine = (error: Error, routine: string) => Object.assign(error, { routine });
  const of: readonly [Error, "none" | "session" | "server", boolean][] = [
    [failure("25006"), "server", true],
    [failure("57P01"), "server", false],
    [failure("57P02"), "server", false],
    [failure("57P03"), "server", false],
    [failure("57P05"), "session", false],
    [failure("25P03"), "session", false],
    [failure("08006"), "session", false],
    [failure("26000"), "session", true],
    [routine(failure("0A000"), "RevalidateCachedQuery"), "session", true],
    [routine(failure("0A000"), "transformInsertStmt"), "none", false],
    [failure("25P02"), "none", true],
    [failure("23505"), "none", false],
    [new Error("mine"), "none", false],
  ];
  for (const [error, expected, isRefused] of of) {
    for (const each of [error, translateError(error)]) {
      assertEquals([sickness(each), isRefusedBySession(each)], [expected, isRefused], error.message);
    }
  }
});
