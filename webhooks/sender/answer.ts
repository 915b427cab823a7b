import { codeOf } from "./error_code.ts";
import { plainText } from "./plain_text.ts";
import type { Dispatcher } from "./undici.ts";

/** How much of an answer's head is read, in bytes; interim answers before it count. */
export const HEAD_BYTES_MAX: number = 32 * 1024;
/** How much of an answer's body is read, in bytes. What goes beyond ends the connection; the status counts. */
const BODY_BYTES_MAX = 64 * 1024;
/** Head, body, and what stands around chunks, in bytes. */
const ANSWER_BYTES_MAX = 256 * 1024;
/** How long an answer's body is waited for once its status is known, in ms. */
const BODY_MS_MAX = 2000;
const WHY_LENGTH_MAX = 100;

/** An answer that can't be read, or is larger than an answer may be. */
export class AnswerError extends Error {
  /** The name of the class. */
  override readonly name = "AnswerError";
}

/** What was read of an answer. */
export interface Answer {
  /** The status, 200 to 999. */
  readonly status: number;
  /** The values of a header, in order. The name in lower case. */
  values(name: string): readonly string[];
  /** The first bytes of the body, as they came: nothing is decompressed. */
  readonly body: Uint8Array;
  /** Whether that is all of it, so that the connection can take another request. */
  readonly isWhole: boolean;
}

/** Takes one answer from undici within bounds. Once the status is known, whatever breaks off changes nothing about it. */
export class AnswerReading implements Dispatcher.DispatchHandler {
  readonly #signal: AbortSignal;
  readonly #settled: PromiseWithResolvers<Answer> = Promise.withResolvers();
  readonly #abort = (): void => this.#cut(this.#signal.reason);
  #controller: Dispatcher.DispatchController | null = null;
  #isSettled = false;
  #head: { readonly status: number; readonly headers: Record<string, string | string[] | undefined> } | null =
    null;
  #chunks: Uint8Array[] = [];
  #length = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Reads until the signal aborts. */
  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", this.#abort, { once: true });
  }

  /** The answer. Rejects with what came instead of one. */
  get answer(): Promise<Answer> {
    return this.#settled.promise;
  }

  /** Whether its head is still to come. */
  get isAwaited(): boolean {
    return this.#head === null && !this.#isSettled;
  }

  /** Told how many bytes have arrived for this answer by now, and were read. Beyond the bound it is cut. */
  received(bytes: number): void {
    if (this.#isSettled) return;
    if (bytes > (this.#head === null ? HEAD_BYTES_MAX : ANSWER_BYTES_MAX)) return this.#cut(headTooLarge());
    if (this.#head !== null) this.#timer ??= setTimeout(() => this.#cut(null), BODY_MS_MAX);
  }

  /** The request goes out. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isSettled) controller.abort(new AnswerError("nobody waits for the answer"));
  }

  /** The head of an answer, or of an interim one. */
  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) return;
    this.#head = { status, headers };
  }

  /** A part of the body. */
  onResponseData(_controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    const kept = chunk.slice(0, BODY_BYTES_MAX - this.#length);
    this.#chunks.push(kept);
    this.#length += kept.length;
    if (this.#length >= BODY_BYTES_MAX) this.#cut(null);
  }

  /** The end of the body. */
  onResponseEnd(): void {
    this.#settle(true, null);
  }

  /** The connection broke, or what came is no answer. */
  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#settle(false, inWords(error));
  }

  #cut(reason: unknown): void {
    this.#settle(false, reason);
    this.#controller?.abort(new AnswerError("the answer was cut"));
  }

  #settle(isWhole: boolean, error: unknown): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    clearTimeout(this.#timer);
    this.#signal.removeEventListener("abort", this.#abort);
    if (this.#head === null) return this.#settled.reject(error);
    const { status, headers } = this.#head;
    const body = new Uint8Array(this.#length);
    let at = 0;
    for (const chunk of this.#chunks) {
      body.set(chunk, at);
      at += chunk.length;
    }
    const values = (name: string): readonly string[] => [headers[name] ?? []].flat().map((one) => one.trim());
    this.#settled.resolve({ status, values, body, isWhole });
  }
}

function headTooLarge(): AnswerError {
  return new AnswerError(`the answer's head is larger than ${HEAD_BYTES_MAX} bytes`);
}

/** What undici found wrong, in our words. What is wrong with the connection, or the request, is left as it is. */
function inWords(error: Error): Error {
  const code = codeOf(error);
  if (error.name === "HTTPParserError") {
    // The parser's own words: none of them are the receiver's.
    const why = /\(([^()]*)\)$/.exec(error.message)?.[1] ?? "it is none";
    return new AnswerError(`the answer can't be read as HTTP/1.1: ${plainText(why, WHY_LENGTH_MAX)}`);
  }
  if (code === "UND_ERR_HEADERS_OVERFLOW") return headTooLarge();
  if (code === "UND_ERR_RES_CONTENT_LENGTH_MISMATCH") {
    return new AnswerError("the answer's length can't be read");
  }
  if (code === "ERR_ASSERTION" || /^bad (response|upgrade)$/.test(error.message)) {
    return new AnswerError("the answer has a status that nobody asked for");
  }
  if (code === "UND_ERR_SOCKET") return new AnswerError("the connection ended before the answer did");
  return error;
}
