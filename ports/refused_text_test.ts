import { assertEquals, assertRejects } from "@std/assert";
import { RefusedValueError } from "./errors.ts";
import { writeText } from "./refused_text.ts";
import { asciiText } from "./text.ts";

Deno.test("asciiText() writes what ASCII lacks as its code, and keeps lines", () => {
  assertEquals(asciiText("caf\u00e9\n\t\u{1f4a5} \u0000 ok"), "caf\\u{e9}\n\t\\u{1f4a5} \\u{0} ok");
});

Deno.test("writeText() writes in ASCII what the store can't hold, and leaves any other refusal as it is", async () => {
  const written: unknown[] = [];
  const store = (sqlState: string) => (value: { text: string; n: number | null }) => {
    written.push(value);
    if (value.text.includes("\u00e9")) return Promise.reject(new RefusedValueError(sqlState, "refused", {}));
    return Promise.resolve(value.text);
  };
  assertEquals(await writeText({ text: "\u00e9", n: null }, store("22P05")), "\\u{e9}");
  assertEquals(written.at(-1), { text: "\\u{e9}", n: null });
  await assertRejects(() => writeText({ text: "\u00e9", n: 1 }, store("23514")), RefusedValueError);
});
