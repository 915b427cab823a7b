import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { ERROR_MESSAGE_LENGTH_MAX } from "../ports/limits.ts";
import { describeError, keepableText } from "./describe_error.ts";

Deno.test("describeError() tells an error's name, message and stack", () => {
  const { message, stack } = describeError(new TypeError("no such field"));
  assertEquals(message, "TypeError: no such field");
  assertStringIncludes(stack!, "describe_error_test.ts");
});

Deno.test("describeError() leaves the plain name Error out", () => {
  assertEquals(describeError(new Error("it broke")).message, "it broke");
});

Deno.test("describeError() tells what is no error as text", () => {
  assertEquals(describeError(undefined).message, "thrown: undefined");
  assertEquals(describeError(null).message, "thrown: null");
  assertEquals(describeError("just text").message, "just text");
  assertEquals(describeError(7n).message, "thrown: 7");
  assertEquals(describeError(Symbol("s")).message, "thrown: Symbol(s)");
  assertEquals(describeError({ code: 5 }).message, '{"code":5}');
});

Deno.test("describeError() survives an object whose every part throws", () => {
  const hostile = new Proxy({}, {
    get: () => {
      throw new Error("no");
    },
    getPrototypeOf: () => {
      throw new Error("no");
    },
  });
  assertEquals(describeError(hostile).message, "a value that can't be told as text");
});

Deno.test("describeError() adds the cause to the stack", () => {
  const { stack } = describeError(new Error("outer", { cause: new Error("inner") }));
  assertStringIncludes(stack!, "Caused by: Error: inner");
});

Deno.test("keepableText() cuts at the bound and never through a surrogate pair", () => {
  const cut = keepableText("x".repeat(ERROR_MESSAGE_LENGTH_MAX - 1) + "\u{1f600}");
  assertEquals(cut.length, ERROR_MESSAGE_LENGTH_MAX - 1);
  assert(cut.isWellFormed());
});

Deno.test("keepableText() replaces what jsonb can't hold, and drops terminal colours", () => {
  assertEquals(keepableText("a\0b"), "a\ufffdb");
  assertEquals(keepableText("a\ud800b"), "a\ufffdb");
  assertEquals(keepableText("\x1b[31mred\x1b[0m"), "red");
});

Deno.test("describeError() tells why in the message, when the error has a cause", () => {
  const { message } = describeError(
    new TypeError("fetch failed", { cause: new Error("connection refused") }),
  );
  assertEquals(message, "TypeError: fetch failed: connection refused");
});
