import { assertEquals } from "@std/assert";
import { EARLY_DEATHS_MAX, RestartLimit } from "./restart_limit.ts";

Deno.test("RestartLimit lets five early deaths in ten seconds pass, and no more", () => {
  const limit = new RestartLimit();
  for (let at = 0; at < EARLY_DEATHS_MAX; at++) {
    assertEquals(limit.waitMs(at * 100), 0);
    limit.died(at * 100);
  }
  assertEquals(limit.waitMs(1000), 9000);
  assertEquals(limit.waitMs(10_000), 0);
  limit.died(10_000);
  assertEquals(limit.waitMs(10_000), 100);
});
