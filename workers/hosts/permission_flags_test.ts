import { assert, assertEquals, assertFalse, assertStringIncludes, assertThrows } from "@std/assert";
import { InvalidOptionError } from "../../ports/errors.ts";
import type { Permissions } from "../../ports/permissions.ts";
import { environment, type Needs, permissionFlags } from "./permission_flags.ts";

const CODE: Needs = {
  paths: ["/app/handler.ts"],
  hosts: [],
  hasPackages: false,
  remote: [],
  storage: "kind a",
};

Deno.test("permissionFlags() allows everything to kinds that declare nothing", () => {
  assertEquals(permissionFlags(undefined, CODE), ["--allow-all"]);
});

Deno.test("permissionFlags() denies what is absent, and allows a process its own code", () => {
  assertEquals(permissionFlags({}, CODE).slice(0, -1), [
    "--no-prompt",
    "--allow-read=/app/handler.ts",
    "--ignore-env",
    "--allow-import=nowhere.invalid:1",
    "--cached-only",
  ]);
});

Deno.test("permissionFlags() turns lists into lists and true into everything", () => {
  const flags = permissionFlags({
    read: ["/data"],
    write: true,
    net: ["db:5432", "example.com"],
    denyNet: ["10.0.0.0/8"],
    env: ["PGHOST"],
    run: [],
  }, CODE);
  assert(flags.includes("--allow-read=/app/handler.ts,/data"));
  assert(flags.includes("--allow-write"));
  assert(flags.includes("--allow-net=db:5432,example.com"));
  assert(flags.includes("--deny-net=10.0.0.0/8"));
  assert(flags.includes("--allow-env=PGHOST"));
  assert(flags.includes("--ignore-env"));
  assertFalse(flags.some((flag) => flag.startsWith("--allow-run")));
});

Deno.test("permissionFlags() loads code over the network only from hosts that are named, and packages where it has some", () => {
  const about = (permissions: Permissions, code: Partial<Needs>) =>
    permissionFlags(permissions, { ...CODE, ...code }).filter((flag) => /import|cached|npm/.test(flag));
  assertEquals(about({}, { hosts: ["jsr.io:443"] }), ["--allow-import=jsr.io:443", "--cached-only"]);
  assertEquals(about({ import: ["a.com"] }, {}), ["--allow-import=a.com", "--no-npm"]);
  assertEquals(about({ import: ["a.com"] }, { hasPackages: true }), ["--allow-import=a.com"]);
  assertEquals(about({}, { remote: ["a.com:443"] }), ["--allow-import=a.com:443", "--no-npm"]);
  assertEquals(about({ import: true }, {}), ["--allow-import"]);
});

Deno.test("permissionFlags() gives each kind a storage of its own", () => {
  const storage = (of: string) => permissionFlags({}, { ...CODE, storage: of }).at(-1);
  assert(storage("kind a") !== storage("kind b"));
  assertEquals(storage("kind a"), storage("kind a"));
});

Deno.test("permissionFlags() refuses an entry with a comma, and names it", () => {
  const error = assertThrows(() => permissionFlags({ read: ["/a,b"] }, CODE), InvalidOptionError);
  assertStringIncludes(error.message, "/a,b");
});

Deno.test("environment() hands over what is named and what every process needs", () => {
  const read = (name: string) => ({ PGHOST: "db", SECRET: "s", PATH: "/bin" })[name];
  assertEquals(environment({ env: ["PGHOST"] }, read), { PATH: "/bin", PGHOST: "db" });
  assertEquals(environment({}, read), { PATH: "/bin" });
  assertEquals(environment({ env: true }, read), null);
  assertEquals(environment(undefined, read), null);
});
