import { assertEquals } from "@std/assert";
import { retryAfterMs } from "./retry_after.ts";

const HOUR = 60 * 60 * 1000;
const NOW = Date.parse("2026-11-29T12:00:00Z");

function read(...values: string[]): number | null {
  return retryAfterMs(values, NOW, 10 * HOUR);
}

Deno.test("retryAfterMs() reads seconds and all three forms of a date", () => {
  assertEquals(read("120"), 120_000);
  assertEquals(read(" 120 "), 120_000);
  assertEquals(read("Sun, 29 Nov 2026 12:02:00 GMT"), 120_000);
  assertEquals(read("Sunday, 29-Nov-26 12:02:00 GMT"), 120_000);
  assertEquals(read("Sun Nov 29 12:02:00 2026"), 120_000);
  assertEquals(read("Sun Dec  6 12:02:00 2026"), 10 * HOUR);
});

Deno.test("retryAfterMs() takes nonsense and the past for nothing", () => {
  const nonsense = [
    "",
    "0",
    "-5",
    "+5",
    "1.5",
    "1e3",
    "0x10",
    "abc",
    "abc 1",
    "120 s",
    "\u0661\u0662",
  ];
  for (const value of [...nonsense, "Sun, 29 Nov 2026 11:58:00 GMT", "Sun, 99 Nov 2026 12:02:00 GMT"]) {
    assertEquals(read(value), null, value);
  }
  assertEquals(read(), null);
});

Deno.test("retryAfterMs() caps a giant number, and takes the longest of several", () => {
  assertEquals(read("9999999999"), 10 * HOUR);
  assertEquals(read("99999999999999999999"), 10 * HOUR);
  assertEquals(read("60", "Sun, 29 Nov 2026 12:02:00 GMT"), 120_000);
  assertEquals(read("300", "Sun, 29 Nov 2026 12:02:00 GMT", "abc"), 300_000);
});
