/**
 * Frames over a host process's standard streams. A frame is one line of JSON. On the way back it begins with a random
 * token, for handlers may print to the same stream: every other line is their output. A newline goes before each
 * frame, so that a half line that a handler left standing does not swallow it.
 */

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const NEWLINE = 10;

/** Encodes frames for a stream that nobody else writes to. */
export function encodeFrames(frames: readonly unknown[]): Uint8Array<ArrayBuffer> {
  return encoder.encode(frames.map((frame) => JSON.stringify(frame) + "\n").join(""));
}

/** Encodes frames for a stream that handlers may print to. */
export function encodeMarkedFrames(token: string, frames: readonly unknown[]): Uint8Array<ArrayBuffer> {
  return encoder.encode(frames.map((frame) => `\n${token}${JSON.stringify(frame)}\n`).join(""));
}

/** How much of a line is kept. */
export interface LineBounds {
  /** The longest line, in bytes. What is longer is cut, and says so. */
  readonly lineBytesMax: number;
  /** Asked before a line of this many bytes is read: false drops it. Default all are read. Frames always are. */
  readonly takes?: (bytes: number) => boolean;
  /** What frames begin with; none where absent. */
  readonly token?: string;
  /** The longest frame, in bytes. One that is longer is an error. */
  readonly frameBytesMax?: number;
}

/** Where lines come from. */
export interface ByteReader {
  /** The next bytes. */
  read(): Promise<ReadableStreamReadResult<Uint8Array>>;
}

/**
 * Reads lines until the stream ends or its reader is cancelled. Empty lines are left out. However long a line is, no
 * more than the bounds say is held.
 *
 * @throws {RangeError} a frame is longer than its bound.
 */
export async function* readLines(
  reader: ByteReader,
  bounds: LineBounds = { lineBytesMax: Infinity },
): AsyncGenerator<string[]> {
  const splitter = new LineSplitter(bounds);
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const lines = splitter.push(read.value);
    if (lines.length > 0) yield lines;
  }
  const rest = splitter.end();
  if (rest !== "") yield [rest];
}

class LineSplitter {
  #bounds: LineBounds;
  #token: Uint8Array | null;
  /** What is kept of an unfinished line. It is joined only when it ends: a long line comes in many chunks. */
  #parts: Uint8Array[] = [];
  #kept = 0;
  /** How long it is. */
  #size = 0;

  constructor(bounds: LineBounds) {
    this.#bounds = bounds;
    this.#token = bounds.token === undefined ? null : encoder.encode(bounds.token);
  }

  /** The lines that end in these bytes. */
  push(bytes: Uint8Array): string[] {
    const lines: string[] = [];
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      this.#add(bytes.subarray(start, end), false);
      const line = this.end();
      if (line !== "") lines.push(line);
      start = end + 1;
    }
    this.#add(bytes.subarray(start), true);
    return lines;
  }

  /** The line that has been begun. */
  end(): string {
    if (this.#size === 0) return "";
    const line = this.#isTaken() ? this.#line() : "";
    this.#parts = [];
    this.#kept = this.#size = 0;
    return line;
  }

  #isTaken(): boolean {
    const { takes } = this.#bounds;
    return takes === undefined || this.#isFrame(joinedHead(this.#parts)) || takes(this.#kept);
  }

  #line(): string {
    const text = decoder.decode(this.#parts.length === 1 ? this.#parts[0] : joined(this.#parts, this.#kept));
    return this.#size === this.#kept ? text : `${text}... (cut, ${this.#size} bytes)`;
  }

  /** What is kept beyond this call is copied: a few bytes would hold the whole chunk that they came in. */
  #add(bytes: Uint8Array, copies: boolean): void {
    if (bytes.length === 0) return;
    this.#size += bytes.length;
    const room = this.#max(bytes) - this.#kept;
    if (room <= 0) return;
    const kept = bytes.length <= room ? bytes : bytes.subarray(0, room);
    this.#parts.push(copies ? kept.slice() : kept);
    this.#kept += kept.length;
  }

  #max(bytes: Uint8Array): number {
    const { lineBytesMax, frameBytesMax = Infinity } = this.#bounds;
    if (this.#size <= lineBytesMax) return lineBytesMax;
    const head = joinedHead([...this.#parts.slice(0, HEAD_BYTES), bytes]);
    if (!this.#isFrame(head)) return lineBytesMax;
    if (this.#size > frameBytesMax) throw new RangeError(`a frame is longer than ${frameBytesMax} bytes`);
    return frameBytesMax;
  }

  #isFrame(head: Uint8Array): boolean {
    return this.#token !== null && this.#token.every((byte, at) => head[at] === byte);
  }
}

/** As much as any token needs. */
const HEAD_BYTES = 64;

function joinedHead(parts: readonly Uint8Array[]): Uint8Array {
  return parts.length === 1 ? parts[0]! : joined(parts, HEAD_BYTES);
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    if (at >= length) break;
    bytes.set(part.subarray(0, length - at), at);
    at += part.length;
  }
  return bytes;
}
