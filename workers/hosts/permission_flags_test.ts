import { assert, assertEquals, assertFalse, assertStringIncludes, assertThrows } from "@std/assert";
import { InvalidOptionError } from "../../ports/mod.ts";
import { environment, permissionFlags } from "./permission_flags.ts";

const CODE = { paths: ["/app/handler.ts"], hosts: [] };

Deno.test("permissionFlags() allows everything to kinds that declare nothing", () => {
  assertEquals(permissionFlags(undefined, CODE), ["--allow-all"]);
});

Deno.test("permissionFlags() denies what is absent, and allows a process its own code", () => {
  assertEquals(permissionFlags({}, CODE), [
    "--no-prompt",
    "--allow-read=/app/handler.ts",
    "--ignore-env",
    "--deny-import",
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
