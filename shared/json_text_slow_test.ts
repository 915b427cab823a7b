import { assertStringIncludes, assertThrows } from "@std/assert";
import { TooLargeError } from "../ports/errors.ts";
import { toJsonText } from "./json_text.ts";

Deno.test("a value whose text no string can hold is too large", () => {
  const text = "x".repeat(2 ** 20);
  const value = Array.from({ length: 600 }, () => text);
  const error = assertThrows(() => toJsonText(value, { name: "args", maxBytes: 1024 }), TooLargeError);
  assertStringIncludes(error.message, "the most is 1024 bytes");
});
