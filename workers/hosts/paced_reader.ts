import { pause } from "../../shared/pause.ts";
import type { ByteReader } from "./frames.ts";

/** How much is read of one stream in a window, in bytes, and how long a window lasts, in ms: 100 MiB a second. */
const WINDOW_BYTES = 4 * 1024 * 1024;
const WINDOW_MS = 40;

/** What a line counts for beside its bytes: short ones cost by their number. 400,000 a second. */
const LINE_BYTES = 256;
const NEWLINE = 10;

const CHUNK_BYTES = 64 * 1024;

/** Reads at a bounded rate: a process that writes faster waits at its pipe, and nothing else waits for it. */
export class PacedReader implements ByteReader {
  #reader: ReadableStreamBYOBReader;
  /** One for all reads: new ones would be garbage faster than it is collected. */
  #buffer = new Uint8Array(CHUNK_BYTES);
  #left = WINDOW_BYTES;
  #since = performance.now();

  /** Paces this reader. */
  constructor(reader: ReadableStreamBYOBReader) {
    this.#reader = reader;
  }

  /** The next bytes, when it is time for them. They hold until the next read. */
  async read(): Promise<ReadableStreamReadResult<Uint8Array>> {
    if (this.#left <= 0) {
      // A chunk of short lines may be more than a window takes.
      const windows = 1 + Math.floor(-this.#left / WINDOW_BYTES);
      const rest = this.#since + windows * WINDOW_MS - performance.now();
      if (rest > 0) await pause(rest);
      this.#left += windows * WINDOW_BYTES;
      this.#since = performance.now();
    }
    const read = await this.#reader.read(this.#buffer);
    if (read.done) return { done: true };
    this.#left -= read.value.length + LINE_BYTES * linesIn(read.value);
    this.#buffer = new Uint8Array(read.value.buffer);
    return read;
  }

  /** Ends a read that is under way. */
  cancel(): void {
    this.#reader.cancel().catch(() => {});
  }
}

function linesIn(bytes: Uint8Array): number {
  let lines = 0;
  for (let at = 0; at < bytes.length; at++) if (bytes[at] === NEWLINE) lines++;
  return lines;
}
