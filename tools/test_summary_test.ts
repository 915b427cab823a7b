import { assertEquals } from "@std/assert";
import { readSummary } from "./test_summary.ts";

Deno.test("readSummary() reads the last summary, coloured or not, with steps and without", () => {
  const text = "a test ... ok (1ms)\n\nok | 3 passed | 0 failed (10ms)\n";
  assertEquals(readSummary(text), { passed: 3, failed: 0, ignored: 0 });
  const coloured =
    "\x1b[31mFAILED\x1b[0m | 12 passed (7 steps) | 2 failed (1 step) | 4 ignored \x1b[0m(2s)\n";
  assertEquals(readSummary(text + coloured), { passed: 12, failed: 2, ignored: 4 });
  assertEquals(readSummary("error: Module not found\n"), null);
});
