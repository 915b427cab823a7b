import { assertEquals } from "@std/assert";
import { inBatches } from "./batches.ts";

Deno.test("inBatches() keeps the order, fills each part, and gives an item that is too long one of its own", () => {
  const of = (...lengths: number[]) => inBatches(lengths, (length) => length, 10);
  assertEquals(of(), []);
  assertEquals(of(4, 6), [[4, 6]]);
  assertEquals(of(4, 6, 1), [[4, 6], [1]]);
  assertEquals(of(99, 1, 99), [[99], [1], [99]]);
});
