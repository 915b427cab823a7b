import { assertEquals } from "@std/assert";
import { SweepPosition } from "./sweep_position.ts";

Deno.test("a sweep goes on where the last one ended, and begins at the start more seldom the longer that takes", () => {
  const clock = { ms: 0 };
  const position = new SweepPosition(() => clock.ms);
  const sweep = (tookMs: number, places: readonly string[], ends = true) => {
    const { after, reached, end } = position.begin();
    clock.ms += tookMs;
    for (const place of places) reached(place);
    if (ends) end();
    return after;
  };
  assertEquals(sweep(100, ["a", "b"]), null);
  assertEquals(sweep(10, ["c"]), "b");
  clock.ms += 2000;
  assertEquals(sweep(100, ["a"], false), null, "a look");
  // It failed half-way: the next one goes on from there, and not from the start again.
  assertEquals(sweep(10, ["d"]), "a");
  clock.ms += 24 * 60 * 60_000;
  assertEquals(sweep(10, []), null);
});
