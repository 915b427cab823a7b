import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { InvalidJsonError, TooLargeError } from "../ports/errors.ts";
import { isTooDeep, parseJsonText, relayJsonText, toJsonText, unsafeNumbers } from "./json_text.ts";

const NUL = "\u0000";
const HALF = "\ud83d";

function text(value: unknown, maxBytes = 1024): string {
  return toJsonText(value, { name: "args", maxBytes });
}

class Point {
  x = 1;
}

function circle(): unknown {
  const value: Record<string, unknown> = { name: "ring" };
  value.inner = [value];
  return value;
}

const REFUSED: readonly [string, unknown, string][] = [
  ["U+0000 in a string", { note: `a${NUL}b` }, "args.note"],
  ["U+0000 in a nested array", { items: ["fine", ["fine", `a${NUL}`]] }, "args.items[1][1]"],
  ["U+0000 in an object's key", { [`a${NUL}b`]: 1 }, `args["a\\u0000b"]`],
  ["U+0000 at the top", NUL, "args"],
  ["half a surrogate pair", { note: HALF }, "args.note"],
  ["half a surrogate pair in a key", { [`x${HALF}`]: 1 }, `args["x\\ud83d"]`],
  ["a BigInt", { id: 10n }, "args.id"],
  ["undefined at the top", undefined, "args"],
  ["undefined in an array", [1, undefined], "args[1]"],
  // deno-lint-ignore no-sparse-arrays
  ["a hole in an array", [1, , 3], "args[1]"],
  ["NaN", { n: NaN }, "args.n"],
  ["Infinity", [-Infinity], "args[0]"],
  ["a function", { run: () => {} }, "args.run"],
  ["a symbol", { tag: Symbol("tag") }, "args.tag"],
  ["a date", { at: new Date(0) }, "args.at"],
  ["a Map", { map: new Map([[1, 2]]) }, "args.map"],
  ["bytes", { bytes: new Uint8Array(2) }, "args.bytes"],
  ["a list with toJSON", Object.assign([1], { toJSON: () => 2 }), "args"],
  ["a class instance", { p: new Point() }, "args.p"],
  ["a cycle", circle(), "args.inner[0]"],
  ["an object with toJSON", { money: { toJSON: () => "1" } }, "args.money"],
];

for (const [what, value, path] of REFUSED) {
  Deno.test(`toJsonText() refuses ${what} and names ${path}`, () => {
    const error = assertThrows(() => text(value), InvalidJsonError);
    assertEquals(error.path, path);
    assertEquals(error.message.includes(path), true, error.message);
  });
}

Deno.test("toJsonText() leaves out members that are undefined, as JSON.stringify does, or refuses them when told to", () => {
  const value = { a: undefined, b: [{ c: undefined, d: 1 }] };
  assertEquals(text(value), '{"b":[{"d":1}]}');
  const options = { name: "filter", maxBytes: 100, refuseUndefined: true };
  assertEquals(assertThrows(() => toJsonText(value, options), InvalidJsonError).path, "filter.a");
});

const KEPT: readonly [string, unknown][] = [
  ["the six characters that spell U+0000", { note: "\\u0000" }],
  ["a whole surrogate pair", { note: "\u{1f600}" }],
  ["U+2028 and accents", ["\u2028", "e\u0301", "\u00e9"]],
  ["numbers at the edge", [Number.MAX_SAFE_INTEGER, -0.5, 1e-300, 1.5e300]],
  ["keys that look like array indexes or prototypes", JSON.parse('{"1":1,"0":0,"__proto__":{"x":1}}')],
  ["an object without a prototype", Object.assign(Object.create(null), { a: 1 })],
  ["the same object twice, which is no cycle", ((shared) => [shared, shared])({ a: 1 })],
  ["null, true and the empty", [null, true, false, "", [], {}]],
];

for (const [what, value] of KEPT) {
  Deno.test(`toJsonText() keeps ${what} exactly`, () => {
    assertEquals(JSON.stringify(parseJsonText(text(value), "args")), JSON.stringify(value));
  });
}

Deno.test("toJsonText() tells of a getter that throws, and keeps what it threw", () => {
  const value = {
    items: [{
      get note(): string {
        throw new Error("not loaded");
      },
    }],
  };
  const error = assertThrows(() => text(value), InvalidJsonError, "reading it threw: not loaded");
  assertEquals([error.path, (error.cause as Error).message], ["args.items[0]", "not loaded"]);
});

Deno.test("toJsonText() refuses a proxy that throws, and what changes between two looks", () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  assertThrows(() => text({ proxy }), InvalidJsonError, "Cannot store args.proxy");
  let looks = 0;
  assertThrows(
    () =>
      text({
        get id() {
          return looks++ === 0 ? 1 : 1n;
        },
      }),
    InvalidJsonError,
    "BigInt",
  );
});

Deno.test("toJsonText() takes 500 levels, and refuses the 501st", () => {
  const nested = (levels: number): unknown => levels === 0 ? 1 : [nested(levels - 1)];
  assertEquals(text(nested(500), 2000).length, 1001);
  assertThrows(() => text(nested(501), 2000), InvalidJsonError, "500 levels");
});

Deno.test("toJsonText() counts bytes of UTF-8, not characters", () => {
  assertEquals(text("a".repeat(98), 100).length, 100);
  assertThrows(() => text("a".repeat(99), 100), TooLargeError, "101 bytes");
  assertThrows(() => text("\u00e9".repeat(50), 100), TooLargeError, "102 bytes");
  assertEquals(text("\u{1f600}".repeat(24), 98).length, 50);
});

Deno.test("toJsonText() counts the digits that jsonb writes for an exponent", () => {
  const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };
  assertThrows(() => text([1e300], 100), TooLargeError, "308 bytes");
  assertThrows(() => text([-1.5e-300], 100), TooLargeError, "311 bytes");
  assertThrows(() => text({ a: [rawJSON("1E131071")] }, 100_000), TooLargeError, "131087 bytes");
  assertThrows(() => text([rawJSON("1e99999999999999999999")], 100_000), TooLargeError);
  // A text is no number, whatever it holds.
  for (const value of ["1e300", '"1e300', '\\"1e300', { "5e300": 1 }]) text(value, 100);
  assertEquals(text([1e90], 100), "[1e+90]");
});

Deno.test("parseJsonText() refuses an integer that a number would change, and names its digits", () => {
  const error = assertThrows(
    () => parseJsonText('{"ids":[1,1970670598291982290]}', "args"),
    InvalidJsonError,
    "1970670598291982290",
  );
  assertEquals(error.path, "args.ids[1]");
});

Deno.test("parseJsonText() finds such an integer wherever it stands, among other digits", () => {
  for (let before = 0; before < 40; before++) {
    for (const digits of ["9007199254740993", "90071992547409931", "-19706705982919822901"]) {
      const given = `{"before":"${"012345678901234 ".repeat(3).slice(0, before)}","id":${digits}}`;
      const error = assertThrows(() => parseJsonText(given, "args"), InvalidJsonError, digits);
      assertEquals(error.path, "args.id");
    }
  }
});

Deno.test("parseJsonText() shows the beginning of an integer that is endless, and how long it is", () => {
  const error = assertThrows(() => parseJsonText("9".repeat(5000), "args"), InvalidJsonError);
  assertEquals(error.message.includes("(5000 digits)"), true);
  assertEquals(error.message.length < 250, true, error.message);
});

Deno.test("parseJsonText() takes what a number holds exactly", () => {
  assertEquals(parseJsonText("9007199254740992", "args"), 2 ** 53);
  assertEquals(parseJsonText("1e300", "args"), 1e300);
  assertEquals(parseJsonText('"1970670598291982290"', "args"), "1970670598291982290");
  assertEquals(parseJsonText("0.12345678901234567890", "args"), 0.12345678901234567890);
});

Deno.test("unsafeNumbers() lists every integer that a number would change, with its path", () => {
  const found = unsafeNumbers(
    '{"id":1970670598291982290,"a":[9007199254740993],"ok":12,"b":-9007199254740993}',
    "args",
  );
  assertEquals(found, [
    { path: "args.id", digits: "1970670598291982290" },
    { path: "args.a[0]", digits: "9007199254740993" },
    { path: "args.b", digits: "-9007199254740993" },
  ]);
  assertEquals(unsafeNumbers('{"id":9007199254740992}', "args"), []);
});

Deno.test("parseJsonText() reads back every number that toJsonText() accepts", () => {
  const options = { name: "args", maxBytes: 1000 };
  for (const value of [2 ** 53, 2 ** 60, -(2 ** 62), 1e20, 1e21, 1.5e300, Number.MAX_VALUE, 5e-324, 0.1]) {
    assertEquals(parseJsonText(toJsonText(value, options), "args"), value);
    // jsonb stores an integer without an exponent.
    if (Number.isInteger(value)) assertEquals(parseJsonText(expanded(value), "args"), value);
  }
});

Deno.test("parseJsonText() refuses an integer that a number would write with other digits", () => {
  assertThrows(() => parseJsonText('{"id":1970670598291982290}', "args"), InvalidJsonError, "args.id");
  assertThrows(() => parseJsonText("[9007199254740993]", "args"), InvalidJsonError, "args[0]");
});

/** A number as jsonb stores it. */
function expanded(value: number): string {
  const [digits = "", exponent = "0"] = String(value).split("e+");
  const [whole = "", fraction = ""] = digits.split(".");
  return whole + fraction.padEnd(Number(exponent), "0");
}

Deno.test("a text that is nested too deep to be read level by level is refused by a typed error, a wide one is not", () => {
  const deep = (levels: number, inner = "1") => '{"a":['.repeat(levels / 2) + inner + "]}".repeat(levels / 2);
  for (const levels of [502, 6000, 200_000]) {
    assertEquals(isTooDeep(deep(levels)), true);
    for (
      const read of [() => parseJsonText(deep(levels), "args"), () => relayJsonText(deep(levels, "1e30"))]
    ) {
      assertStringIncludes(assertThrows(read, InvalidJsonError).message, "500 levels");
    }
  }
  assertEquals(isTooDeep(deep(500)), false);
  parseJsonText(deep(500), "args");
  const quoted = JSON.stringify({
    text: '[{"\\'.repeat(2000),
    more: ["[".repeat(2000), '\\"[[', "{".repeat(2000)],
  });
  assertEquals(isTooDeep(quoted), false);
  assertEquals(isTooDeep(JSON.stringify(Array.from({ length: 2000 }, () => [[{}]]))), false);
});
