import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { InvalidOptionError } from "../../ports/errors.ts";
import type { Permissions } from "../../ports/permissions.ts";
import { callPermissions } from "./call_permissions.ts";

const beyond = (asked: unknown, caller: Permissions | undefined) => callPermissions(asked, caller).beyond;

Deno.test("callPermissions() lets a caller without bounds ask for anything, and default is nothing", () => {
  assertEquals(callPermissions({ net: true, run: ["ls"] }, undefined), {
    permissions: { net: true, run: ["ls"] },
    beyond: [],
  });
  for (const nothing of [undefined, null, {}, { read: [] }]) assertEquals(beyond(nothing, {}), []);
});

Deno.test("callPermissions() names whatever goes beyond the caller, for every sort of permission", () => {
  for (const list of ["read", "write", "net", "env", "run", "sys", "ffi", "import"] as const) {
    assertEquals(beyond({ [list]: true }, {}), [`${list}: everything`]);
    assertEquals(beyond({ [list]: true }, { [list]: ["/a"] }), [`${list}: everything`]);
    assertEquals(beyond({ [list]: ["/b"] }, { [list]: ["/a"] }), [`${list}: /b`]);
    assertEquals(beyond({ [list]: ["/a"] }, { [list]: ["/a"] }), []);
    assertEquals(beyond({ [list]: ["/b"] }, { [list]: true }), []);
    assertEquals(beyond({ [list]: true }, { [list]: true }), []);
  }
});

Deno.test("callPermissions() compares paths by folder, however they are spelt", () => {
  const caller = { read: ["/srv/files/"], write: ["work"] };
  for (const within of ["/srv/files", "/srv/files/a/b", "/srv/x/../files/a", "/srv//files/./a"]) {
    assertEquals(beyond({ read: [within] }, caller), [], within);
  }
  for (
    const outside of ["/srv", "/", "/srv/files2", "/srv/files/../secret", "/srv/files/a/../../..", "files"]
  ) {
    assertEquals(beyond({ read: [outside] }, caller).length, 1, outside);
  }
  assertEquals(beyond({ write: ["work/a", `${Deno.cwd()}/work/b`] }, caller), []);
  assertEquals(callPermissions({ read: ["/srv/files/a/../b"] }, caller).permissions.read, ["/srv/files/b"]);
});

Deno.test("callPermissions() compares hosts with their ports", () => {
  const caller = { net: ["db.internal", "api.example.com:443", "10.0.0.0/8"] };
  for (
    const within of ["db.internal", "db.internal:5432", "DB.internal:1", "api.example.com:443", "10.0.0.0/8"]
  ) {
    assertEquals(beyond({ net: [within] }, caller), [], within);
  }
  for (
    const outside of ["api.example.com", "api.example.com:80", "a.db.internal", "db.internal.evil.com", "0"]
  ) {
    assertEquals(beyond({ net: [outside] }, caller), [`net: ${outside}`]);
  }
});

Deno.test("callPermissions() hands on what the caller is denied", () => {
  const caller = { net: true, denyNet: ["127.0.0.0/8"] } as const;
  assertEquals(callPermissions({ net: true }, caller), {
    permissions: { net: true, denyNet: ["127.0.0.0/8"] },
    beyond: [],
  });
  assertEquals(callPermissions({ net: true, denyNet: ["10.0.0.0/8"] }, caller).permissions.denyNet, [
    "127.0.0.0/8",
    "10.0.0.0/8",
  ]);
});

Deno.test("callPermissions() refuses what are no permissions, and names it", () => {
  const wrong: unknown[] = [
    "all",
    7,
    [],
    true,
    { red: true },
    { read: "/etc" },
    { read: false },
    { read: [1] },
    { read: [""] },
    { read: ["/a\0b"] },
    { read: { length: 1, 0: "/etc" } },
    { denyNet: true },
    { net: Array(1001).fill("a") },
    { net: ["a".repeat(4097)] },
  ];
  for (const asked of wrong) assertThrows(() => callPermissions(asked, {}), InvalidOptionError);
  const error = assertThrows(() => callPermissions({ read: "/etc" }, undefined), InvalidOptionError);
  assertStringIncludes(error.message, '"/etc"');
});
