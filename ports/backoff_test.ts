import { assert, assertEquals } from "@std/assert";
import { DefaultBackoff } from "./backoff.ts";

Deno.test("DefaultBackoff() starts at 1 s, doubles, and stops at 15 min", () => {
  const SECOND = 1000;
  const MINUTE = 60 * SECOND;
  assertEquals([1, 2, 3, 10, 11, 40].map(DefaultBackoff), [
    1 * SECOND,
    2 * SECOND,
    4 * SECOND,
    512 * SECOND,
    15 * MINUTE,
    15 * MINUTE,
  ]);
});

Deno.test("DefaultBackoff() lies ahead and is capped for any attempt", () => {
  for (const attempt of [-1, 0, 1, 20, 400, 100_000, 1e9, Number.MAX_SAFE_INTEGER]) {
    const delayMs = DefaultBackoff(attempt);
    assert(delayMs >= 1000 && delayMs <= 15 * 60 * 1000, `attempt ${attempt}: ${delayMs}`);
  }
});
