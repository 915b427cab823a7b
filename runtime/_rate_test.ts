import { assertEquals } from "@std/assert";
import { Rate } from "./_rate.ts";

Deno.test("Rate counts the starts of the last second", () => {
  let now = 10_000;
  const rate = new Rate(() => now);
  for (let step = 0; step < 100; step++) {
    rate.add(50);
    now += 100;
  }
  const perSecond = rate.perSecond();
  assertEquals(perSecond > 400 && perSecond < 600, true, `${perSecond}/s`);
});

Deno.test("Rate rises quickly from nothing, and is 0 again after an idle second", () => {
  let now = 0;
  const rate = new Rate(() => now);
  now += 5;
  rate.add(100);
  assertEquals(rate.perSecond(), 5000);
  now += 2000;
  assertEquals(rate.perSecond(), 0);
  rate.add(10);
  assertEquals(rate.perSecond(), 500);
});
