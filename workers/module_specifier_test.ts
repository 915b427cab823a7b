import { assertEquals } from "@std/assert";
import { pathToFileURL } from "node:url";
import { moduleSpecifier } from "./module_specifier.ts";

const here = pathToFileURL(Deno.cwd()).href;

Deno.test("moduleSpecifier() counts relative paths from the working directory", () => {
  assertEquals(moduleSpecifier("./jobs/mail.ts"), `${here}/jobs/mail.ts`);
  assertEquals(moduleSpecifier("jobs/mail.ts"), `${here}/jobs/mail.ts`);
});

Deno.test("moduleSpecifier() encodes what a URL can't hold", () => {
  assertEquals(moduleSpecifier("/with space/100%.ts"), "file:///with%20space/100%25.ts");
});

Deno.test("moduleSpecifier() leaves URLs as they are", () => {
  assertEquals(moduleSpecifier(new URL("file:///a/b.ts")), "file:///a/b.ts");
  assertEquals(moduleSpecifier("npm:some-package@1/handler"), "npm:some-package@1/handler");
});

Deno.test("moduleSpecifier() asks the import map for bare specifiers", () => {
  assertEquals(
    moduleSpecifier("@millrace/millrace/adapter"),
    new URL("../adapter/mod.ts", import.meta.url).href,
  );
});
