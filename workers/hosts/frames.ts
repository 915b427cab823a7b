/**
 * Frames over a host process's standard streams. A frame is one line of JSON. On the way back it begins with a random
 * token, for handlers may print to the same stream: every other line is their output. A newline goes before each
 * frame, so that a half line that a handler left standing does not swallow it.
 */

const encoder = new TextEncoder();

/** Encodes frames for a stream that nobody else writes to. */
export function encodeFrames(frames: readonly unknown[]): Uint8Array<ArrayBuffer> {
  return encoder.encode(frames.map((frame) => JSON.stringify(frame) + "\n").join(""));
}

/** Encodes frames for a stream that handlers may print to. */
export function encodeMarkedFrames(token: string, frames: readonly unknown[]): Uint8Array<ArrayBuffer> {
  return encoder.encode(frames.map((frame) => `\n${token}${JSON.stringify(frame)}\n`).join(""));
}

/** Reads lines until the stream ends or its reader is cancelled. Empty lines are left out. */
export async function* readLines(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<string[]> {
  const decoder = new TextDecoder();
  // What is gathered of an unfinished line is joined only when it ends: a long line comes in many chunks.
  let parts: string[] = [];
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const pieces = decoder.decode(read.value, { stream: true }).split("\n");
    if (pieces.length === 1) {
      parts.push(pieces[0]!);
      continue;
    }
    pieces[0] = parts.join("") + pieces[0];
    parts = [pieces.pop()!];
    yield pieces.filter((line) => line !== "");
  }
  const rest = parts.join("");
  if (rest !== "") yield [rest];
}
