import { assert, assertEquals, assertRejects } from "@std/assert";
import { encodeFrames, encodeMarkedFrames, type LineBounds, readLines } from "./frames.ts";

async function linesOf(
  bytes: Uint8Array<ArrayBuffer>,
  chunk: number,
  bounds?: LineBounds,
): Promise<string[]> {
  const lines: string[] = [];
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < bytes.length; at += chunk) controller.enqueue(bytes.subarray(at, at + chunk));
      controller.close();
    },
  });
  for await (const some of readLines(stream.getReader(), bounds)) lines.push(...some);
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

Deno.test("readLines() cuts long lines and says so, keeps frames whole, and refuses frames beyond their bound", async () => {
  const token = "token-of-36-characters--------------";
  const frame = `${token}${JSON.stringify(["x".repeat(500)])}`;
  const text = `${"a".repeat(300)}\nshort\n${frame}\n${"b".repeat(101)}`;
  const bytes = new TextEncoder().encode(text);
  const bounds = { lineBytesMax: 100, token, frameBytesMax: 600 };
  for (const chunk of [1, 7, 64, 1000, 5000]) {
    assertEquals(await linesOf(bytes, chunk, bounds), [
      `${"a".repeat(100)}... (cut, 300 bytes)`,
      "short",
      frame,
      `${"b".repeat(100)}... (cut, 101 bytes)`,
    ]);
    const small = { ...bounds, frameBytesMax: 200 };
    const error = await assertRejects(() => linesOf(bytes, chunk, small), RangeError);
    assert(error.message.includes("longer than 200 bytes"));
  }
});

Deno.test("readLines() splits characters of several bytes where it cuts, and is not confused by it", async () => {
  const bytes = new TextEncoder().encode(`${"\u{1f600}".repeat(30)}\nnext`);
  for (const chunk of [1, 5, 1000]) {
    const [cut, next] = await linesOf(bytes, chunk, { lineBytesMax: 101 });
    assert(cut!.endsWith("... (cut, 120 bytes)"));
    assertEquals(next, "next");
  }
});
