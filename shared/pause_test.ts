import { assert, assertEquals, assertLess } from "@std/assert";
import { pause, Pauses } from "./pause.ts";

Deno.test("pause() ends after its time, at the signal's abort, and at once where that has aborted", async () => {
  const began = performance.now();
  await pause(20);
  assert(performance.now() - began >= 19);
  const abort = new AbortController();
  const paused = pause(60_000, abort.signal);
  abort.abort();
  await paused;
  await pause(60_000, abort.signal);
  assertLess(performance.now() - began, 10_000);
});

Deno.test("Pauses.cut() ends what is under way, and nothing that comes later", async () => {
  const pauses = new Pauses();
  pauses.cut();
  const ended: string[] = [];
  const both = Promise.all([
    pauses.wait(60_000).then(() => ended.push("one")),
    pauses.wait(60_000).then(() => ended.push("two")),
  ]);
  pauses.cut();
  await both;
  assertEquals(ended, ["one", "two"]);
});
