import { assertEquals, assertThrows } from "@std/assert";
import { applicationConfig, applicationUrl, chosenConfig } from "./application_place.ts";
import { UsageError } from "./arguments.ts";

Deno.test("applicationUrl() takes a path as it is, and leaves a URL alone", () => {
  assertEquals(applicationUrl("/a#1/what?/50%/ü b.ts").href, "file:///a%231/what%3F/50%25/%C3%BC%20b.ts");
  assertEquals(applicationUrl("./app.ts").href, applicationUrl(`${Deno.cwd()}/app.ts`).href);
  assertEquals(applicationUrl("https://example.org/app.ts?v=1").href, "https://example.org/app.ts?v=1");
});

Deno.test("applicationConfig() finds the nearest configuration at or above the module", async () => {
  const folder = await Deno.makeTempDir({ prefix: "a #1 " });
  try {
    await Deno.mkdir(`${folder}/app/inner/deno.json`, { recursive: true });
    await Deno.writeTextFile(`${folder}/deno.json`, "{}");
    await Deno.writeTextFile(`${folder}/app/deno.jsonc`, "{}");
    assertEquals(applicationConfig(`${folder}/app/inner/my.ts`), `${folder}/app/deno.jsonc`);
    assertEquals(applicationConfig(`${folder}/my.ts`), `${folder}/deno.json`);
    assertEquals(applicationConfig("https://example.org/app.ts"), null);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("what is no module and no configuration is refused as a wrong command line", () => {
  assertThrows(() => applicationUrl("file://no host/app.ts"), UsageError, '"file://no host/app.ts"');
  for (const config of ["https://example.org/deno.json", "file:///%ff/deno.json"]) {
    const given = { values: new Map([["config", config]]), flags: new Set<string>(), words: [] };
    assertThrows(() => chosenConfig(given), UsageError, "expected a file");
  }
  const missing = { values: new Map([["config", "no/such/deno.json"]]), flags: new Set<string>(), words: [] };
  assertThrows(() => chosenConfig(missing), UsageError, '"no/such/deno.json": expected a file that is there');
});
