import { assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { InvalidOptionError } from "../../../ports/errors.ts";
import { quoteIdentifier } from "../../../shared/identifier.ts";
import { channelName, checkSchemaName, migrationLockKey } from "./identifiers.ts";

Deno.test("a schema name may hold quotes, capitals and spaces, up to 63 bytes", () => {
  for (const name of ["millrace", 'We "said" so', "it's", "a $$ b", "a".repeat(63), "ü".repeat(31)]) {
    checkSchemaName(name);
  }
});

Deno.test("a schema name that PostgreSQL would cut or refuse is refused", () => {
  for (
    const name of [
      "",
      "a".repeat(64),
      "ü".repeat(32),
      "a\0b",
      "pg_mine",
      "information_schema",
      "a{schema}",
      "a{channel outbox}",
      "a$body$b",
      "a$name$b",
      "a$capture$b",
      "\ud800",
    ]
  ) {
    assertThrows(() => checkSchemaName(name), InvalidOptionError, "Cannot use schema");
  }
});

Deno.test("quotes in an identifier are doubled", () => {
  assertEquals(quoteIdentifier('a"b'), '"a""b"');
});

Deno.test("a channel name has one length, and differs by schema and by channel", () => {
  assertEquals(channelName("s".repeat(63), "signals").length, 41);
  assertNotEquals(channelName("a", "signals"), channelName("b", "signals"));
  assertNotEquals(channelName("a", "signals"), channelName("a", "events"));
});

Deno.test("the lock key is a signed 64-bit integer and differs by schema", () => {
  assertEquals(BigInt.asIntN(64, BigInt(migrationLockKey("a"))).toString(), migrationLockKey("a"));
  assertNotEquals(migrationLockKey("a"), migrationLockKey("b"));
});
