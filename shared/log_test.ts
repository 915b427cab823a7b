import { assertEquals } from "@std/assert";
import { createLog } from "./log.ts";

Deno.test("nothing that acts on a terminal, breaks a line or turns the writing stands in a line as it is", () => {
  const lines: string[] = [];
  const log = createLog({ write: (line) => void lines.push(line) });
  const active = "\0\n\x1b[2J\x7f\x85\x9b31m\u061c\u200e\u2028\u2029\u202e\u2069";
  log.warn(`event ${active}`, { [`name ${active}`]: `value ${active}`, plain: "é 💥 \u200d" });
  const [line] = lines;
  // deno-lint-ignore no-control-regex -- they are what is looked for
  assertEquals(line!.match(/[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g), null);
  const { time: _, ...read } = JSON.parse(line!);
  assertEquals(read, {
    level: "warn",
    event: `event ${active}`,
    [`name ${active}`]: `value ${active}`,
    plain: "é 💥 \u200d",
  });
  assertEquals(line!.includes("é 💥"), true);
});
