import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { InvalidOptionError } from "../ports/errors.ts";
import {
  checkOptions,
  defaultsOf,
  flag,
  integer,
  limitMs,
  number,
  oneOf,
  optionFaults,
  type Options,
  required,
  resolveOptions,
  text,
} from "./options.ts";

interface Filter {
  readonly kind?: string;
  readonly limit?: number;
}

const KNOWN: Options<Filter> = { kind: text(), limit: integer({ min: 1, max: 9, default: 5 }) };

Deno.test("checkOptions() takes known members, of plain objects and of instances", () => {
  class Filter {
    limit = 5;
  }
  for (const given of [{}, { kind: "k" }, Object.freeze({ limit: 1 }), Object.create(null), new Filter()]) {
    checkOptions("a filter", given, KNOWN);
  }
});

Deno.test("checkOptions() names a member that is not known, and what is", () => {
  assertThrows(
    () => checkOptions("a filter", { knd: "k" }, KNOWN),
    InvalidOptionError,
    '"knd": expected kind, limit',
  );
  assertThrows(
    () => checkOptions("a filter", JSON.parse('{"__proto__":1}'), KNOWN),
    InvalidOptionError,
    '"__proto__"',
  );
});

Deno.test("checkOptions() refuses what can hold no members, and does not show it", () => {
  const given: readonly [unknown, string][] = [
    ["postgres://user:secret@host/db", "string"],
    [null, "null"],
    [["kind"], "list"],
    [5, "number"],
    [new Date(0), "Date"],
    // A forgotten await.
    [Promise.resolve({ kind: "k" }), "Promise"],
  ];
  for (const [value, type] of given) {
    const error = assertThrows(
      () => checkOptions("a filter", value as object, KNOWN),
      InvalidOptionError,
      `"${type}"`,
    );
    assert(!error.message.includes("secret"), error.message);
  }
});

Deno.test("checkOptions() names a member that is not accepted, its value and what is expected", () => {
  const wrong: readonly [object, string][] = [
    [{ kind: 5 }, "kind"],
    [{ kind: "\0" }, "kind"],
    [{ kind: "\ud800" }, "kind"],
    [{ limit: 0 }, "limit"],
    [{ limit: 10 }, "limit"],
    [{ limit: 1.5 }, "limit"],
    [{ limit: NaN }, "limit"],
    [{ limit: "5" }, "limit"],
    [{ limit: null }, "limit"],
  ];
  for (const [given, name] of wrong) {
    const error = assertThrows(() => checkOptions("a filter", given, KNOWN, "filter."), InvalidOptionError);
    assertEquals(error.option, `filter.${name}`);
    assertStringIncludes(error.message, KNOWN[name as keyof Filter].expected);
  }
});

Deno.test("checkOptions() misses what is required, and nothing else", () => {
  const options: Options<Filter> = { ...KNOWN, kind: required(text()) };
  assertThrows(() => checkOptions("a filter", { limit: 1 }, options), InvalidOptionError, "kind");
  assertThrows(() => checkOptions("a filter", { kind: undefined }, options), InvalidOptionError, "kind");
  checkOptions("a filter", { kind: "k", limit: undefined }, options);
});

Deno.test("resolveOptions() fills in defaults, also where undefined was given", () => {
  assertEquals(defaultsOf(KNOWN), { limit: 5 });
  assertEquals(resolveOptions<Filter>("a filter", { kind: "k" }, KNOWN), { kind: "k", limit: 5 });
  const given = { limit: undefined } as unknown as Filter;
  assertEquals(resolveOptions<Filter>("a filter", given, KNOWN), { limit: 5 });
});

Deno.test("optionFaults() tells all that is wrong with a declaration at once, in the order of its members", () => {
  interface Queue {
    readonly name: string;
    readonly width: number;
    readonly mode?: string;
    readonly paused?: boolean;
  }
  const options: Options<Queue> = {
    name: text(),
    width: required(number({ min: 0, max: 1 })),
    mode: oneOf(["fast", "slow"]),
    paused: flag(),
  };
  assertEquals(optionFaults('queue "q"', { paused: "false", mode: "medium", wdth: 1 }, options), [
    'queue "q": paused is "false", expected true or false',
    'queue "q": mode is "medium", expected one of fast, slow',
    'queue "q": "wdth" is not known, expected name, width, mode, paused',
    'queue "q": width is undefined, expected a number from 0 to 1',
  ]);
});

Deno.test("limitMs() takes any time above 0, fractions included, up to its most", () => {
  const limit = limitMs({ max: 1000 });
  assertEquals([0.5, 1, 1000].filter((ms) => !limit.accepts(ms)), []);
  assertEquals([0, -1, 1000.5, Number.NaN, Infinity, "5", null].filter((ms) => limit.accepts(ms)), []);
  assertEquals(limit.expected, "ms above 0 and at most 1000");
});
