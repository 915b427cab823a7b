import { assertEquals } from "@std/assert";
import type { Json } from "../../ports/json.ts";
import { contains } from "./containment.ts";

// Each row was asked of PostgreSQL: select whole::jsonb @> part::jsonb.
const CASES: readonly [Json, Json, boolean][] = [
  [{ a: 1, b: 2 }, { a: 1 }, true],
  [{ a: 1 }, { a: 2 }, false],
  [{ a: 1 }, {}, true],
  [null, {}, false],
  [{ a: { b: [1, 2, { c: 3 }] } }, { a: { b: [{ c: 3 }] } }, true],
  [{ a: { b: [1, 2] } }, { a: { b: [3] } }, false],
  [{ a: [1, 2] }, { a: [2, 1, 1] }, true],
  [{ a: [1, 2] }, { a: [] }, true],
  [{ a: [1, 2] }, { a: 1 }, false],
  [[1, "x"], "x", true],
  [[1, [2]], 2, false],
  ["x", ["x"], false],
  [{ a: null }, { a: null }, true],
  [{}, { a: null }, false],
  [{ a: {} }, { a: [] }, false],
];

for (const [whole, part, expected] of CASES) {
  Deno.test(`contains() says ${expected} for ${JSON.stringify(whole)} and ${JSON.stringify(part)}`, () => {
    assertEquals(contains(whole, part), expected);
  });
}
