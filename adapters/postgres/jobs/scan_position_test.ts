import { assertEquals } from "@std/assert";
import { ScanPosition } from "./scan_position.ts";

Deno.test("a scan goes on where the last one ended, and looks from the start more seldom the longer that takes", () => {
  const clock = { ms: 0 };
  const position = new ScanPosition(2, () => clock.ms);
  const scan = (tookMs: number, reached: (string | null)[]) => {
    const { from, end } = position.begin();
    clock.ms += tookMs;
    end(reached, true);
    return from;
  };
  assertEquals(scan(100, ["b", null]), [null, null]);
  assertEquals(scan(10, ["c", "a"]), ["b", null]);
  assertEquals(scan(10, [null, null]), ["c", "a"]);
  clock.ms += 2000;
  // A look that finds something behind takes no place back.
  assertEquals(scan(1000, ["a", null]), [null, null]);
  clock.ms += 19_000;
  assertEquals(scan(10, []), ["c", "a"]);
  clock.ms += 1000;
  assertEquals(scan(10, []), [null, null]);
});

Deno.test("a look that fails is not made again at once", () => {
  const clock = { ms: 0 };
  const position = new ScanPosition(1, () => clock.ms);
  position.begin().end(["b"], true);
  clock.ms += 2000;
  assertEquals(position.begin().from, [null]);
  assertEquals(position.begin().from, ["b"]);
});

Deno.test("the scans after a look go on from it until all is worked off, and no other look begins before", () => {
  const clock = { ms: 0 };
  const position = new ScanPosition(2, () => clock.ms);
  const scan = (reached: (string | null)[], isAll: boolean) => {
    clock.ms += 2000;
    const { isLook, from, end } = position.begin();
    end(reached, isAll);
    return isLook ? "look" : from;
  };
  assertEquals(scan(["x", "y"], true), "look");
  assertEquals(scan(["a", null], false), "look");
  assertEquals(scan(["b", null], false), ["a", null]);
  assertEquals(scan(["c", "a"], true), ["b", null]);
  assertEquals(scan([null, null], true), "look");
  clock.ms -= 2000;
  assertEquals(scan([null, null], true), ["x", "y"]);
});
