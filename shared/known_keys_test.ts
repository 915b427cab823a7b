import { assert, assertThrows } from "@std/assert";
import { InvalidOptionError } from "../ports/errors.ts";
import { checkKeys } from "./known_keys.ts";

const KNOWN = ["kind", "limit"];

Deno.test("checkKeys() takes known members, of plain objects and of instances", () => {
  class Filter {
    limit = 5;
  }
  for (const given of [{}, { kind: "k" }, Object.freeze({ limit: 1 }), Object.create(null), new Filter()]) {
    checkKeys("a filter", given, KNOWN);
  }
});

Deno.test("checkKeys() names a member that is not known, and what is", () => {
  assertThrows(
    () => checkKeys("a filter", { knd: "k" }, KNOWN),
    InvalidOptionError,
    '"knd": expected kind, limit',
  );
  assertThrows(
    () => checkKeys("a filter", JSON.parse('{"__proto__":1}'), KNOWN),
    InvalidOptionError,
    '"__proto__"',
  );
});

Deno.test("checkKeys() refuses what can hold no members, and does not show it", () => {
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
      () => checkKeys("a filter", value as object, KNOWN),
      InvalidOptionError,
      `"${type}"`,
    );
    assert(!error.message.includes("secret"), error.message);
  }
});
