import { assertEquals } from "@std/assert";
import { SweepPosition } from "./sweep_position.ts";

Deno.test("a sweep goes on where the last one ended, and begins at the start more seldom the longer that takes", () => {
  const clock = { ms: 0 };
  const position = new SweepPosition(() => clock.ms);
  const sweep = (tookMs: number, places: readonly string[]) => {
    const { after, reached, end } = position.begin();
    clock.ms += tookMs;
    for (const place of places) reached(place);
    end();
    return after;
  };
  assertEquals(sweep(100, ["a", "b"]), null);
  assertEquals(sweep(10, ["c"]), "b");
  clock.ms += 2000;
  assertEquals(sweep(1000, ["a"]), null, "a look that fails half-way");
  assertEquals(sweep(10, ["d"]), "a");
  clock.ms += 19_000;
  assertEquals(sweep(10, []), "d");
  clock.ms += 1000;
  assertEquals(sweep(10, []), null);
  const [first, second] = [position.begin(), position.begin()];
  assertEquals([first.after, second.after], ["d", "d"]);
  clock.ms += 1000;
  assertEquals([position.begin().after, position.begin().after], [null, "d"], "one look at a time");
});
