import { assertEquals } from "@std/assert";
import { SilenceWatch } from "./silence_watch.ts";

Deno.test("SilenceWatch counts from what was last heard", () => {
  const watch = new SilenceWatch();
  for (let now = 0; now <= 2000; now += 500) watch.look(now);
  assertEquals(watch.silentMs(700), 1300);
});

Deno.test("SilenceWatch starts anew when this process itself stood still", () => {
  const watch = new SilenceWatch();
  watch.look(100);
  watch.look(34_000);
  assertEquals(watch.silentMs(90), 0);
  watch.look(34_050);
  assertEquals(watch.silentMs(90), 50);
  watch.look(34_900);
  assertEquals(watch.silentMs(34_500), 400);
});
