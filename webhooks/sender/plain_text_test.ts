import { assertEquals } from "@std/assert";
import { plainText } from "./plain_text.ts";
import { hasControlCharacter } from "./testdata/control_characters.ts";

Deno.test("plainText(): no control character of a receiver is left, and what can be read stays", () => {
  const controls = Array.from({ length: 0xa0 }, (_, code) => String.fromCharCode(code)).join("");
  const text = plainText(`${controls}\u2028\u202e\u2066`, 1000);
  assertEquals(hasControlCharacter(text), false);
  assertEquals(plainText("\u001b[31mred\u0007\0", 1000), "\ufffd[31mred\ufffd\ufffd");
  assertEquals(
    plainText('{\r\n\t"error": "Zo\u00eb \u{1f389}"\n}', 1000),
    '{  "error": "Zo\u00eb \u{1f389}" }',
  );
  assertEquals(plainText("abc\u{1f389}", 4), "abc\ufffd");
  assertEquals(plainText("\ud800", 10), "\ufffd");
});
