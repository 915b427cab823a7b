import { assertEquals, assertRejects } from "@std/assert";
import { AnswerError, AnswerReader } from "./_http_answer.ts";

function reading(text: string): AnswerReader {
  const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
  let at = 0;
  return new AnswerReader({
    read(into) {
      const some = bytes.subarray(at, at + into.length);
      into.set(some);
      at += some.length;
      return Promise.resolve(some.length === 0 ? null : some.length);
    },
  });
}

Deno.test("a header's value is what stands between the blanks around it", async () => {
  const head = await reading("HTTP/1.1 200 OK\r\nA:\t x y \t\r\nB:\r\nC: \t \r\nD:z:z\r\n\r\n").head();
  assertEquals(["a", "b", "c", "d"].map((name) => head.values(name)), [["x y"], [""], [""], ["z:z"]]);
});

Deno.test("a header's line of blanks that can't be read is refused at once", async () => {
  // With a pattern that goes back over blanks it would take hours.
  const line = `a:${" ".repeat(30_000)}\rx`;
  await assertRejects(() => reading(`HTTP/1.1 200 OK\r\n${line}\r\n\r\n`).head(), AnswerError, "headers");
});

Deno.test("a header without a name, without a colon, or with U+0000 is refused", async () => {
  for (const line of [":x", "a b: c", " a: b", "abc", "a: b\0c", "\u00e9: a"]) {
    await assertRejects(() => reading(`HTTP/1.1 200 OK\r\n${line}\r\n\r\n`).head(), AnswerError, "headers");
  }
});
