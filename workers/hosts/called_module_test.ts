import { assertEquals } from "@std/assert";
import { join } from "node:path";
import type { Permissions } from "../../ports/permissions.ts";
import { moduleSpecifier } from "../module_specifier.ts";
import { callableModule } from "./called_module.ts";

Deno.test("callableModule() lets a confined caller call what it could import itself, however it is spelt", async () => {
  const folder = await Deno.makeTempDir();
  const allowed = join(folder, "allowed");
  const own = join(folder, "handler.ts");
  const secret = join(folder, "secret.ts");
  try {
    Deno.mkdirSync(allowed);
    for (const path of [own, secret, join(allowed, "part.ts"), join(folder, "allowed2.ts")]) {
      Deno.writeTextFileSync(path, "export default () => 1;");
    }
    Deno.symlinkSync(secret, join(allowed, "link.ts"));
    Deno.symlinkSync(folder, join(allowed, "up"));
    Deno.symlinkSync(join(allowed, "part.ts"), join(allowed, "inner.ts"));
    const code = { paths: [own], hosts: [], hasPackages: false };
    const may = async (module: string, permissions: Permissions) =>
      await callableModule(moduleSpecifier(module), permissions, code) !== null;
    const read = { read: [allowed] };
    const table: [module: string, permissions: Permissions, may: boolean][] = [
      [`file://${own}`, {}, true],
      [`file://${own}?v=1#a`, {}, true],
      [`FILE://localhost${own}`, {}, true],
      [own, {}, true],
      [`file://${secret}`, {}, false],
      [`file://${secret}`, { read: true }, true],
      [`file://${allowed}/part.ts`, {}, false],
      [`file://${allowed}/part.ts`, read, true],
      [`file:${allowed}/part.ts`, read, true],
      [`File://localhost${allowed}/part.ts`, read, true],
      [`  file://${allowed}/pa\nrt.ts  `, read, true],
      [`${allowed}/part.ts`, read, true],
      [`${allowed}/inner.ts`, read, true],
      [`file://${allowed}/../secret.ts`, read, false],
      [`file://${allowed}/%2e%2e/secret.ts`, read, false],
      [`file://${allowed}/.%2E/secret.ts`, read, false],
      [`file://${allowed}/..%2fsecret.ts`, read, false],
      [`file://${allowed}\\..\\secret.ts`, read, false],
      [`file://${folder}/allowed2.ts`, read, false],
      [`${allowed}/link.ts`, read, false],
      [`${allowed}/up/secret.ts`, read, false],
      [`${allowed}/missing.ts`, read, false],
      [`file://elsewhere${allowed}/part.ts`, read, false],
      ["data:text/javascript,export default () => 1", { read: true }, false],
      [" DATA:text/javascript,export default () => 1", { read: true, import: true }, false],
      ["da\nta:text/javascript,export default () => 1", {}, false],
      ["blob:null/0b6b6d8a-6f0d-4f8c-9d5d-0e5f5c0f3a11", { read: true }, false],
      ["npm:zod", { read: true, import: ["registry.npmjs.org"] }, false],
      ["jsr:@std/assert", { read: true, import: ["jsr.io"] }, false],
      ["node:fs", { read: true }, false],
      ["https://example.com/a.ts", {}, false],
      ["https://example.com/a.ts", { read: true }, false],
      ["https://example.com/a.ts", { import: ["example.com"] }, true],
      ["https://example.com/a.ts", { import: ["example.com:443"] }, true],
      ["HTTPS://EXAMPLE.com:443/a.ts", { import: ["example.com"] }, true],
      ["http://example.com/a.ts", { import: ["example.com:443"] }, false],
      ["https://example.com@evil.com/a.ts", { import: ["example.com"] }, false],
      ["https://a:b@example.com/a.ts", { import: ["example.com"] }, false],
      ["https://sub.example.com/a.ts", { import: ["example.com"] }, false],
      ["@std/assert", read, false],
      ["", read, false],
      ["nonsense:", { read: [allowed], import: true }, false],
    ];
    for (const [module, permissions, expected] of table) {
      assertEquals(await may(module, permissions), expected, `${module} for ${JSON.stringify(permissions)}`);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
