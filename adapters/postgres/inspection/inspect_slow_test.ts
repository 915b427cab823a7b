import { assertEquals, assertLessOrEqual } from "@std/assert";
import { newJob, withStore } from "../fixture_test.ts";

Deno.test("100 jobs of 1 MB are listed within seconds, with 200 characters of each", () =>
  withStore(async ({ store }) => {
    const args = JSON.stringify({ text: "x".repeat(1_000_000) });
    for (let n = 0; n < 10; n++) await store.insert(Array.from({ length: 10 }, () => newJob({ args })));
    await store.insert([newJob({ args: JSON.stringify({ text: "x".repeat(14_000_000) }) })]);
    const begun = performance.now();
    const jobs = await store.list({ limit: 200 });
    assertLessOrEqual(performance.now() - begun, 5000);
    assertEquals(jobs.length, 101);
    assertEquals(jobs[0]?.argsPreview.length, 200);
    assertEquals((await store.get(jobs[0]!.id))?.argsText.length, 14_000_012);
  }));
