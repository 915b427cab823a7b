import { assertEquals } from "@std/assert";
import { encodeFrames, encodeMarkedFrames, readLines } from "./frames.ts";

async function linesOf(bytes: Uint8Array<ArrayBuffer>, chunk: number): Promise<string[]> {
  const lines: string[] = [];
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < bytes.length; at += chunk) controller.enqueue(bytes.subarray(at, at + chunk));
      controller.close();
    },
  });
  for await (const some of readLines(stream.getReader())) lines.push(...some);
  return lines;
}

Deno.test("readLines() finds the frames again, however they are cut into chunks", async () => {
  const frames = [["run", 1, { text: "a\nb \u{1f600}" }], ["ping"]];
  for (const chunk of [1, 3, 7, 1000]) {
    const lines = await linesOf(encodeFrames(frames), chunk);
    assertEquals(lines.map((line) => JSON.parse(line)), frames);
  }
});

Deno.test("a marked frame is a line of its own behind a half line", async () => {
  const half = new TextEncoder().encode("printed without an end");
  const frame = encodeMarkedFrames("token", [["pong"]]);
  const lines = await linesOf(new Uint8Array([...half, ...frame]), 5);
  assertEquals(lines, ["printed without an end", 'token["pong"]']);
});

Deno.test("readLines() yields a last line without its newline", async () => {
  assertEquals(await linesOf(new TextEncoder().encode("one\n\ntwo"), 100), ["one", "two"]);
});
