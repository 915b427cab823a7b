import { assert } from "@std/assert";
import { PacedReader } from "./paced_reader.ts";

/** How long it takes to read so many chunks of 64 KiB, in ms. */
async function readMs(fill: string, chunks: number): Promise<number> {
  const bytes = new TextEncoder().encode(fill.repeat(64 * 1024 / fill.length));
  const stream = new ReadableStream({
    type: "bytes",
    pull: (controller) => controller.enqueue(bytes.slice()),
  });
  const reader = new PacedReader(stream.getReader({ mode: "byob" }));
  const began = performance.now();
  for (let read = 0; read < chunks * bytes.length;) {
    const { value } = await reader.read();
    read += value!.length;
  }
  reader.cancel();
  return performance.now() - began;
}

Deno.test("short lines are read by their number: no more than about 400,000 a second", async () => {
  // 65,536 and 32,768 lines a chunk; a pause goes before each chunk but the first.
  assert(await readMs("\n", 4) >= 3 * 150);
  assert(await readMs("a\n", 6) >= 5 * 70);
});

Deno.test("a line that does not end is read by its bytes: a pause goes behind 4 MiB", async () => {
  assert(await readMs("a", 65) >= 25);
});
