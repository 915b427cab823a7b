import { assert, assertEquals } from "@std/assert";
import { arrayLiteral, isJobId, storableText } from "./sql_text.ts";

Deno.test("an array literal escapes quotes and backslashes and knows null", () => {
  assertEquals(
    arrayLiteral(['a"b', "c\\d", "NULL", "", null, 1, true]),
    '{"a\\"b","c\\\\d","NULL","",NULL,1,true}',
  );
  assertEquals(arrayLiteral([]), "{}");
});

Deno.test("only a positive bigint names a job", () => {
  for (const id of ["1", "9223372036854775807"]) assert(isJobId(id), id);
  for (const id of ["", "0", "01", "-1", "1.0", "9223372036854775808", "1; drop", "abc", "1".repeat(20)]) {
    assert(!isJobId(id), id);
  }
});

Deno.test("text that PostgreSQL can't hold is mended", () => {
  assertEquals(storableText("a\0b\ud800c"), "a\ufffdb\ufffdc");
});
