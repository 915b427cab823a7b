import {
  assert,
  assertAlmostEquals,
  assertArrayIncludes,
  assertEquals,
  AssertionError,
  assertNotEquals,
  assertObjectMatch,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "./assert.ts";

Deno.test("assertEquals() compares in depth, and says the caller's message", () => {
  assertEquals({ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] });
  assertNotEquals({ a: 1 }, { a: 2 });
  const error = assertThrows(() => assertEquals({ a: 1 }, { a: 2 }, "the sum"), AssertionError);
  assertStringIncludes(error.message, "the sum: ");
});

Deno.test("assertThrows() fails when nothing is thrown, or something of another class", () => {
  assertThrows(() => assertThrows(() => 1), AssertionError, "to throw");
  assertThrows(() => assertThrows(() => assert(false), TypeError), AssertionError, "Expected a TypeError");
});

Deno.test("assertRejects() fails when the function throws before it returns a promise", async () => {
  const error = await assertRejects(
    () => Promise.reject(new RangeError("from 1 to 4")),
    RangeError,
    "1 to 4",
  );
  assertEquals(error.name, "RangeError");
  const throwing = () => {
    throw new RangeError("at once");
  };
  await assertRejects(() => assertRejects(throwing, RangeError), AssertionError, "threw");
  await assertRejects(() => assertRejects(() => Promise.resolve(1)), AssertionError, "to reject");
});

Deno.test("assertObjectMatch() allows more, never less", () => {
  assertObjectMatch({ a: 1, b: { c: 2, d: 3 } }, { b: { c: 2 } });
  assertThrows(() => assertObjectMatch({ a: 1 }, { a: 1, b: 2 }), AssertionError);
});

Deno.test("the rest of the names", () => {
  assertArrayIncludes([{ a: 1 }, { a: 2 }], [{ a: 2 }]);
  assertThrows(() => assertArrayIncludes([1], [2]), AssertionError);
  assertAlmostEquals(0.1 + 0.2, 0.3);
  assertThrows(() => assertAlmostEquals(1, 2, 0.5), AssertionError);
});
