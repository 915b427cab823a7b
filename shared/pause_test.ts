import { assertEquals } from "@std/assert";
import { Pause } from "./pause.ts";

const LONG_MS = 3_600_000;

Deno.test("a pause lasts its time", async () => {
  const begunAt = performance.now();
  await new Pause().for(20);
  assertEquals(performance.now() - begunAt >= 19, true);
});

Deno.test("end() ends every pause under way, and none that begins later", async () => {
  const pause = new Pause();
  const both = Promise.all([pause.for(LONG_MS), pause.for(LONG_MS)]);
  pause.end();
  await both;
  let isOver = false;
  const later = pause.for(LONG_MS).then(() => isOver = true);
  await Promise.resolve();
  assertEquals(isOver, false);
  pause.end();
  await later;
});

Deno.test("end() without a pause does nothing", async () => {
  const pause = new Pause();
  pause.end();
  await pause.for(0);
});

Deno.test("a signal ends a pause, before it as well as during it", async () => {
  const pause = new Pause();
  const during = new AbortController();
  const paused = pause.for(LONG_MS, during.signal);
  during.abort();
  await paused;
  await pause.for(LONG_MS, during.signal);
});
