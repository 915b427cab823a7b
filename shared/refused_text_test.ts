import { assertEquals, assertRejects } from "@std/assert";
import { RefusedValueError } from "../ports/errors.ts";
import { writeText } from "./refused_text.ts";

Deno.test("writeText() writes in ASCII what the store can't hold, and leaves any other refusal as it is", async () => {
  const written: unknown[] = [];
  const store = (sqlState: string) => (value: { text: string; n: number | null }) => {
    written.push(value);
    if (value.text.includes("\u00e9")) return Promise.reject(new RefusedValueError(sqlState, "refused", {}));
    return Promise.resolve(value.text);
  };
  assertEquals(await writeText({ text: "\u00e9", n: null }, store("22P05")), "?");
  assertEquals(written.at(-1), { text: "?", n: null });
  await assertRejects(() => writeText({ text: "\u00e9", n: 1 }, store("23514")), RefusedValueError);
});
