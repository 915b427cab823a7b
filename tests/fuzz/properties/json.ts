import { InvalidJsonError, TooLargeError } from "../../../ports/errors.ts";
import { parseJsonText, relayJsonText, toJsonText, unsafeNumbers } from "../../../shared/json_text.ts";
import fc from "../../conformance/fast_check.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { thrownBy } from "../hostile.ts";
import type { Property } from "../property.ts";

const MAX_BYTES = 300;
/** What jsonb can't store, as JSON.stringify() writes it: U+0000 and half a surrogate pair. */
const UNSTORABLE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/;

/** What a program may hand over instead of JSON. */
const anything = fc.anything({
  withBigInt: true,
  withBoxedValues: true,
  withDate: true,
  withMap: true,
  withNullPrototype: true,
  withObjectString: true,
  withSet: true,
  withSparseArray: true,
  withTypedArray: true,
  withUnicodeString: true,
  maxDepth: 4,
});

/** Objects that do something of their own when they are read. */
const trap = fc.constantFrom<() => unknown>(
  () => Object.defineProperty({}, "x", { enumerable: true, get: () => fail() }),
  () => new Proxy({}, { ownKeys: () => fail() }),
  () => new Proxy({}, { getPrototypeOf: () => fail() }),
  () => new Proxy([], { get: () => fail() }),
  () => {
    let times = 0;
    return {
      a: 1,
      get x() {
        return times++ === 0 ? 1 : 1n;
      },
    };
  },
  () => ({ toJSON: () => fail() }),
  () => ({ "\ud83d": 1 }),
  () => "a\udc00",
  () => "a\0",
  () => Object.create(null, { x: { enumerable: true, value: Symbol("x") } }),
  () => Proxy.revocable({}, {}).proxy,
  () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  },
  () => {
    const cycle: unknown[] = [];
    cycle.push({ cycle });
    return cycle;
  },
);

function fail(): never {
  throw new TypeError("as drawn");
}

const numberText = fc.oneof(
  fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.tuple(fc.integer(), fc.integer({ min: -400, max: 400 })).map(([head, power]) => `${head}e${power}`),
);
const { tree } = fc.letrec<{ tree: string }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 3 },
    numberText,
    fc.string({ unit: "binary", maxLength: 5 }).map((text) => JSON.stringify(text.replaceAll("\0", ""))),
    fc.array(tie("tree"), { maxLength: 4 }).map((items) => `[${items.join(",")}]`),
    fc.uniqueArray(fc.constantFrom("a", "__proto__", "0", "toString", ""), { maxLength: 3 }).chain((keys) =>
      fc.tuple(...keys.map(() => tie("tree"))).map((values) =>
        `{${keys.map((key, n) => `${JSON.stringify(key)}:${values[n]}`).join(",")}}`
      )
    ),
  ),
}));

export const jsonProperties: readonly Property[] = [
  {
    name:
      "whatever is handed over for JSON is stored as text that reads back equal, or refused by a typed error",
    runs: 3000,
    async check(numRuns) {
      const drawn = fc.oneof(
        { weight: 6, arbitrary: anything },
        { weight: 3, arbitrary: fc.jsonValue({ stringUnit: "binary" }) },
      );
      const property = fc.asyncProperty(drawn, fc.option(trap, { freq: 8 }), async (drawn, makeTrap) => {
        const value = makeTrap === null ? drawn : [drawn, { at: makeTrap() }];
        let text = "";
        const error = await thrownBy(() => text = toJsonText(value, { name: "args", maxBytes: MAX_BYTES }));
        if (error !== undefined) {
          const isKnown = error instanceof InvalidJsonError || error instanceof TooLargeError;
          assert(isKnown && error.message.includes("args"), `toJsonText() threw ${error}`);
          return;
        }
        assert(new TextEncoder().encode(text).length <= MAX_BYTES);
        assert(!UNSTORABLE.test(text), text);
        assertEquals(fc.stringify(plain(JSON.parse(text))), fc.stringify(plain(value)));
      });
      await fc.assert(property, { numRuns });
    },
  },
  {
    name: "an integer of any length is read as it is or refused, and handed on digit by digit",
    runs: 2000,
    async check(numRuns) {
      const property = fc.asyncProperty(tree, async (text) => {
        const unsafe = unsafeNumbers(text, "args");
        const error = await thrownBy(() => parseJsonText(text, "args"));
        assertEquals(error instanceof InvalidJsonError ? error.path : null, unsafe[0]?.path ?? null);
        assert(error === undefined || error instanceof InvalidJsonError, String(error));
        assertEquals(numbersOf(text), numbersOf(handedOn(text)));
      });
      await fc.assert(property, { numRuns });
      // What a number of 15 digits is written as, however many zeros come after them, it is read back from.
      const digits = fc.tuple(fc.integer({ min: -(10 ** 15) + 1, max: 10 ** 15 - 1 }), fc.nat(290))
        .map(([head, zeros]) => head === 0 ? "0" : `${head}${"0".repeat(zeros)}`);
      fc.assert(
        fc.property(digits, (digits) => assertEquals(parseJsonText(digits, "args"), Number(digits))),
        { numRuns },
      );
    },
  },
  {
    name: "text that is no JSON is refused by a typed error",
    runs: 2000,
    async check(numRuns) {
      const text = fc.oneof(fc.string({ unit: "binary" }), tree.map((text) => text.slice(1)), tree);
      const property = fc.asyncProperty(text, async (text) => {
        for (const read of [(text: string) => parseJsonText(text, "args"), relayJsonText]) {
          const error = await thrownBy(() => read(text));
          const isKnown = error === undefined || error instanceof InvalidJsonError ||
            error instanceof SyntaxError;
          assert(isKnown, String(error));
        }
      });
      await fc.assert(property, { numRuns });
    },
  },
];

function handedOn(text: string): string {
  return toJsonText(relayJsonText(text), { name: "args", maxBytes: Number.MAX_SAFE_INTEGER });
}

/** The numbers of a JSON text outside of its strings: long ones by their digits, others by their value. */
function numbersOf(text: string): string[] {
  const found = text.replace(/"(?:[^"\\]|\\.)*"/g, '""').match(/-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g) ?? [];
  return found.map((digits) => /^-?\d{16,}$/.test(digits) ? digits : String(Number(digits))).sort();
}

/** The value without what JSON does not tell: that an object has no prototype, in which order its keys are, minus zero. */
function plain(value: unknown): unknown {
  if (Object.is(value, -0)) return 0;
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  // As with JSON.stringify() a member without a value is none.
  const members = Object.entries(value).filter(([, inner]) => inner !== undefined);
  return members.map(([key, inner]) => [key, plain(inner)]).sort(([one], [other]) =>
    String(one) < String(other) ? -1 : 1
  );
}
