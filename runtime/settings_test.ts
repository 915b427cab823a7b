import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { InvalidOptionError } from "../ports/errors.ts";
import { resolveSettings, type Settings } from "./settings.ts";

Deno.test("resolveSettings() refuses what no timer holds, what holds ends up, and half a job", () => {
  const wrong: Partial<Settings>[] = [{ pollMs: 3e9 }, { heartbeatMs: 0 }, { prefetchMax: 2.5 }];
  for (const settings of wrong) {
    const [[name, value]] = Object.entries(settings) as [[string, number]];
    const error = assertThrows(() => resolveSettings(settings), InvalidOptionError);
    assertEquals(error.option, `settings.${name}`);
    assertStringIncludes(error.message, String(value));
  }
  const years = 365 * 24 * 60 * 60 * 1000;
  assertEquals(resolveSettings({ retentionCompletedMs: years, prefetchMs: 0.5 }).retentionCompletedMs, years);
});
