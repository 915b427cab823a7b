import { createHash } from "node:crypto";

/** What is known of a file. */
export interface FileFacts {
  /** SHA-256 in hexadecimal. */
  readonly sha256: string;
  /** Its size in bytes. */
  readonly bytes: number;
  /** How many newlines it has, as `wc -l` counts. */
  readonly lines: number;
}

const CHUNK = 64 * 1024;
const NEWLINE = 10;

/** Reads a file piece by piece, so that a large one needs no more memory than a small one. */
export async function describe(path: string, signal: AbortSignal): Promise<FileFacts> {
  using file = await Deno.open(path);
  const hash = createHash("sha256");
  const buffer = new Uint8Array(CHUNK);
  let bytes = 0;
  let lines = 0;
  for (let read = await file.read(buffer); read !== null; read = await file.read(buffer)) {
    signal.throwIfAborted();
    const chunk = buffer.subarray(0, read);
    hash.update(chunk);
    bytes += read;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) lines++;
  }
  return { sha256: hash.digest("hex"), bytes, lines };
}
