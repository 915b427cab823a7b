/** What of an answer is looked at. Whatever goes beyond ends the connection. */
const HEAD_BYTES_MAX = 32 * 1024;
const BODY_BYTES_MAX = 64 * 1024;
/** What stands around chunks may be as much as what is in them, and no more: a body of one byte a chunk is read as far. */
const CHUNK_LINES_BYTES_MAX = 64 * 1024;
const CHUNK_LINE_BYTES_MAX = 1024;
const BUFFER_BYTES = 16 * 1024;

/** An answer that is no HTTP/1.1, or larger than an answer may be. */
export class AnswerError extends Error {
  /** The name of the class. */
  override readonly name = "AnswerError";
}

/** The first lines of an answer. */
export interface AnswerHead {
  /** The status, 200 to 599. */
  readonly status: number;
  /** The values of a header, in order. The name in lower case. */
  values(name: string): string[];
  /** Whether the connection can take another request after the body. */
  readonly keepsAlive: boolean;
  /** How the body ends: after so many bytes, with its last chunk, or with the connection. */
  readonly framing: number | "chunked" | "close";
}

/**
 * Reads answers from one connection: just so much of HTTP/1.1 as a sender of webhooks needs, with a bound on everything.
 * Nothing is inflated, so what is compressed costs what was sent.
 *
 * Why not fetch or node:https: the address that was checked must be the one that is connected to, while the name is
 * what the certificate is verified against. fetch resolves by itself, and through a TCP proxy, which would pin the
 * address, Deno 2.9 speaks plain text to a TLS port. node:https there does not know the CAs that Deno was given, and
 * asks for permissions beyond the network's.
 */
export class AnswerReader {
  #source: { read(into: Uint8Array): Promise<number | null> };
  #buffer: Uint8Array<ArrayBuffer> = new Uint8Array(BUFFER_BYTES);
  #start = 0;
  #end = 0;
  #headBytes = 0;
  /** Whether anything has arrived since the last answer. */
  heard = false;

  /** Reads from this. */
  constructor(source: { read(into: Uint8Array): Promise<number | null> }) {
    this.#source = source;
  }

  /** Whether bytes are left over, which belong to no answer. */
  get hasMore(): boolean {
    return this.#end > this.#start;
  }

  /** Reads the head of the next answer; interim ones are passed over. */
  async head(): Promise<AnswerHead> {
    this.heard = false;
    this.#headBytes = 0;
    while (true) {
      const [statusLine, ...lines] = await this.#headLines();
      const match = /^HTTP\/1\.([01]) (\d{3})(?: |$)/.exec(statusLine ?? "");
      if (match === null) throw new AnswerError("the answer is no HTTP/1.1");
      const status = Number(match[2]);
      if (status === 101 || status < 100 || status > 599) {
        throw new AnswerError(`the answer has the status ${status}`);
      }
      // The bytes of interim heads count, so that there can't be one after the other for ever.
      if (status < 200) continue;
      return answerHead(status, match[1] === "1", lines);
    }
  }

  /** Reads the body, at most its first 64 KiB. The flag says whether that was all of it. */
  async body(framing: AnswerHead["framing"]): Promise<{ bytes: Uint8Array; isWhole: boolean }> {
    const body = new Gathered(BODY_BYTES_MAX);
    if (framing === "chunked") return { isWhole: await this.#chunks(body), bytes: body.bytes };
    let left = framing === "close" ? Infinity : framing;
    while (left > 0 && !body.isFull) {
      if (!this.hasMore && !await this.#fill()) {
        if (framing === "close") return { bytes: body.bytes, isWhole: true };
        throw new AnswerError("the connection ended within the answer");
      }
      left -= this.#take(body, left);
    }
    return { bytes: body.bytes, isWhole: left === 0 };
  }

  async #chunks(body: Gathered): Promise<boolean> {
    let lineBytes = 0;
    while (!body.isFull && lineBytes <= CHUNK_LINES_BYTES_MAX) {
      const line = await this.#line(CHUNK_LINE_BYTES_MAX);
      lineBytes += line.length;
      const size = /^([0-9a-fA-F]{1,8})\s*(?:;.*)?$/.exec(line)?.[1];
      if (size === undefined) throw new AnswerError("the answer's chunks can't be read");
      let left = parseInt(size, 16);
      if (left === 0) {
        // Trailers count as the head does.
        for (let line = await this.#headLine(); line !== ""; line = await this.#headLine());
        return true;
      }
      while (left > 0 && !body.isFull) {
        if (!this.hasMore && !await this.#fill()) {
          throw new AnswerError("the connection ended within the answer");
        }
        left -= this.#take(body, left);
      }
      if (left === 0 && await this.#line(2) !== "") {
        throw new AnswerError("the answer's chunks can't be read");
      }
    }
    return false;
  }

  #take(body: Gathered, most: number): number {
    const length = Math.min(this.#end - this.#start, most);
    body.add(this.#buffer.subarray(this.#start, this.#start + length));
    this.#start += length;
    return length;
  }

  async #headLines(): Promise<string[]> {
    const lines: string[] = [];
    while (true) {
      const line = await this.#headLine();
      if (line === "" && lines.length > 0) return lines;
      if (line !== "") lines.push(line);
    }
  }

  async #headLine(): Promise<string> {
    const line = await this.#line(HEAD_BYTES_MAX - this.#headBytes);
    this.#headBytes += line.length + 2;
    return line;
  }

  async #line(bytesMax: number): Promise<string> {
    let line = "";
    while (true) {
      const at = this.#buffer.subarray(this.#start, this.#end).indexOf(0x0a);
      const until = at === -1 ? this.#end : this.#start + at;
      line += latin1(this.#buffer.subarray(this.#start, until));
      if (line.length > bytesMax) {
        throw new AnswerError(`the answer's head is larger than ${HEAD_BYTES_MAX} bytes`);
      }
      this.#start = until;
      if (at !== -1) {
        this.#start++;
        return line.endsWith("\r") ? line.slice(0, -1) : line;
      }
      if (!await this.#fill()) {
        throw new AnswerError(
          this.heard ? "the connection ended within the answer" : "the connection ended without an answer",
        );
      }
    }
  }

  async #fill(): Promise<boolean> {
    this.#start = 0;
    this.#end = 0;
    const read = await this.#source.read(this.#buffer);
    if (read === null) return false;
    this.heard = true;
    this.#end = read;
    return true;
  }
}

function answerHead(status: number, isHttp11: boolean, lines: readonly string[]): AnswerHead {
  const headers = lines.map(headerOf);
  const values = (name: string) => headers.filter(([key]) => key === name).map(([, value]) => value);
  const connection = values("connection").join(",").toLowerCase();
  const encodings = values("transfer-encoding");
  const lengths = [...new Set(values("content-length"))];
  let framing: AnswerHead["framing"] = "close";
  const isBodiless = status === 204 || status === 304;
  if (isBodiless) framing = 0;
  else if (encodings.length > 0) framing = encodings.join().toLowerCase() === "chunked" ? "chunked" : "close";
  else if (lengths.length === 1 && /^\d{1,15}$/.test(lengths[0]!)) framing = Number(lengths[0]);
  else if (lengths.length > 0) throw new AnswerError("the answer's length can't be read");
  return {
    status,
    values,
    framing,
    // Two ways to frame one body, or one for a body that can't be, are how answers get mixed up: not used again.
    keepsAlive: isHttp11 && framing !== "close" && !connection.includes("close") &&
      (encodings.length === 0 || (lengths.length === 0 && !isBodiless)) &&
      (!isBodiless || lengths.every((length) => length === "0")),
  };
}

/** By hand: a pattern with blanks on both sides of the value would go back over them, for hours in a line of blanks. */
function headerOf(line: string): [name: string, value: string] {
  const colon = line.indexOf(":");
  const name = line.slice(0, Math.max(colon, 0));
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) || /[\0\r]/.test(line)) {
    throw new AnswerError("the answer's headers can't be read");
  }
  let start = colon + 1;
  let end = line.length;
  while (start < end && isBlank(line[start])) start++;
  while (end > start && isBlank(line[end - 1])) end--;
  return [name.toLowerCase(), line.slice(start, end)];
}

function isBlank(character: string | undefined): boolean {
  return character === " " || character === "\t";
}

/** The first bytes of something. */
class Gathered {
  #max: number;
  #chunks: Uint8Array[] = [];
  #length = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get isFull(): boolean {
    return this.#length >= this.#max;
  }

  get bytes(): Uint8Array {
    const whole = new Uint8Array(this.#length);
    let at = 0;
    for (const chunk of this.#chunks) {
      whole.set(chunk, at);
      at += chunk.length;
    }
    return whole;
  }

  add(bytes: Uint8Array): void {
    const kept = bytes.slice(0, this.#max - this.#length);
    this.#chunks.push(kept);
    this.#length += kept.length;
  }
}

function latin1(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}
