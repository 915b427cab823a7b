/**
 * Sends one webhook. Wherever host processes can be started it runs in one that may reach the network, less what no
 * webhook goes to, and can do nothing else: it knows an address, a URL, headers and a body, and no database, secret or
 * file.
 *
 * @module
 */
import { AnswerError, type AnswerHead } from "./_http_answer.ts";
import { closeQuietly, type Connection, Connections, type Destination } from "./_http_connections.ts";

/** What is sent. */
export type PostInput = {
  /** The address that was checked. */
  readonly address: string;
  /** The endpoint's URL. */
  readonly url: string;
  /** Headers beside those that the connection needs. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body's text. */
  readonly body: string;
  /** The limit of the whole, in ms. */
  readonly timeoutMs: number;
};

/** What came of it. */
export type PostOutput =
  | {
    readonly type: "answered";
    /** The status. */
    readonly status: number;
    /** The Retry-After headers. */
    readonly retryAfter: readonly string[];
    /** The first part of the answer's body, as text. */
    readonly answer: string;
    /** How long it took, in ms. */
    readonly durationMs: number;
  }
  | {
    readonly type: "failed";
    /** What failed. */
    readonly reason: "connection" | "certificate" | "timeout" | "answer" | "denied" | "exhausted";
    /** For people. It names no address. */
    readonly message: string;
    /** How long it took, in ms. */
    readonly durationMs: number;
  };

/** How long an answer's body is waited for once its status is known, in ms: the status is what counts. */
const BODY_MS_MAX = 2000;
/** How much of an answer is kept. */
const ANSWER_LENGTH_MAX = 1000;

/** What sends, over connections that it keeps. Rejects only when the signal aborts: what fails is told. */
export type Post = (input: PostInput, options?: { readonly signal: AbortSignal }) => Promise<PostOutput>;

/** Sends over these connections. */
export function postOver(connections: Connections): Post {
  return (input, options) => post(connections, input, options?.signal);
}

const inHost: Post = postOver(new Connections());
export default inHost;

async function post(
  connections: Connections,
  input: PostInput,
  stop: AbortSignal | undefined,
): Promise<PostOutput> {
  const began = performance.now();
  const duration = () => Math.round((performance.now() - began) * 10) / 10;
  const controller = new AbortController();
  const abort = () => controller.abort();
  const timer = setTimeout(abort, input.timeoutMs);
  stop?.addEventListener("abort", abort, { once: true });
  try {
    stop?.throwIfAborted();
    const url = new URL(input.url);
    const isSecure = url.protocol === "https:";
    const destination: Destination = {
      address: input.address,
      port: url.port === "" ? (isSecure ? 443 : 80) : Number(url.port),
      serverName: isSecure ? url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "") : null,
    };
    const answer = await exchange(connections, destination, encodeRequest(url, input), controller.signal);
    return { type: "answered", ...answer, durationMs: duration() };
  } catch (error) {
    stop?.throwIfAborted();
    const durationMs = duration();
    if (controller.signal.aborted) {
      return {
        type: "failed",
        reason: "timeout",
        message: `no answer within ${input.timeoutMs} ms`,
        durationMs,
      };
    }
    return { type: "failed", ...describe(error), durationMs };
  } finally {
    clearTimeout(timer);
    stop?.removeEventListener("abort", abort);
  }
}

interface Answer {
  readonly status: number;
  readonly retryAfter: readonly string[];
  readonly answer: string;
}

async function exchange(
  connections: Connections,
  destination: Destination,
  request: Uint8Array<ArrayBuffer>,
  signal: AbortSignal,
): Promise<Answer> {
  const connection = await connections.open(destination, signal, false);
  try {
    return await exchangeOn(connections, connection, destination, request, signal);
  } catch (error) {
    // A kept connection that ends without a byte was closed while nobody used it. A new one tells how things are.
    if (!connection.isUsed || connection.reader.heard || signal.aborted) throw error;
    const fresh = await connections.open(destination, signal, true);
    return await exchangeOn(connections, fresh, destination, request, signal);
  }
}

async function exchangeOn(
  connections: Connections,
  connection: Connection,
  destination: Destination,
  request: Uint8Array<ArrayBuffer>,
  signal: AbortSignal,
): Promise<Answer> {
  const { stream, reader } = connection;
  const close = () => closeQuietly(stream);
  signal.addEventListener("abort", close, { once: true });
  let isKept = false;
  try {
    let isWritten = false;
    // An answer may come before all is sent, and then it is what counts.
    const writing = writeAll(stream, request).then(() => void (isWritten = true));
    writing.catch(() => {});
    const head = await reader.head();
    const { bytes, isWhole } = await bodyInTime(connection, head);
    isKept = isWhole && isWritten && head.keepsAlive && !signal.aborted;
    return { status: head.status, retryAfter: head.values("retry-after"), answer: shown(head, bytes) };
  } finally {
    signal.removeEventListener("abort", close);
    if (isKept) connections.keep(destination, connection);
    else close();
  }
}

/** What breaks off after the status changes nothing about it. */
async function bodyInTime(
  { stream, reader }: Connection,
  { framing }: AnswerHead,
): Promise<{ bytes: Uint8Array; isWhole: boolean }> {
  if (framing === 0) return { bytes: new Uint8Array(), isWhole: true };
  const timer = setTimeout(() => closeQuietly(stream), BODY_MS_MAX);
  try {
    return await reader.body(framing);
  } catch {
    return { bytes: new Uint8Array(), isWhole: false };
  } finally {
    clearTimeout(timer);
  }
}

function shown(head: AnswerHead, bytes: Uint8Array): string {
  const encoding = head.values("content-encoding").join(", ").slice(0, 50);
  if (encoding !== "" && encoding !== "identity") return `(${bytes.length} bytes, ${encoding})`;
  return new TextDecoder().decode(bytes.subarray(0, ANSWER_LENGTH_MAX * 4)).replaceAll("\0", "\ufffd")
    .slice(0, ANSWER_LENGTH_MAX).toWellFormed();
}

const encoder = new TextEncoder();

/** One write for all of it. The URL's parts are escaped already, so no line can be smuggled in. */
function encodeRequest(url: URL, { headers, body }: PostInput): Uint8Array<ArrayBuffer> {
  const bytes = encoder.encode(body);
  let head = `POST ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\n`;
  for (const [name, value] of Object.entries(headers)) {
    if (/[^\t\x20-\x7e]/.test(name + value)) {
      throw new TypeError(`the header ${JSON.stringify(name)} can't be sent`);
    }
    head += `${name}: ${value}\r\n`;
  }
  const start = encoder.encode(`${head}content-length: ${bytes.length}\r\n\r\n`);
  const request = new Uint8Array(start.length + bytes.length);
  request.set(start);
  request.set(bytes, start.length);
  return request;
}

async function writeAll(stream: Connection["stream"], bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await stream.write(bytes.subarray(at));
}

type Failure = Omit<Extract<PostOutput, { type: "failed" }>, "type" | "durationMs">;

/** What the system says is not passed on: it may tell what is at an address. */
function describe(error: unknown): Failure {
  if (error instanceof AnswerError) return { reason: "answer", message: error.message };
  const message = error instanceof Error ? error.message : "";
  if (error instanceof Deno.errors.NotCapable) {
    return { reason: "denied", message: "its address is one that no webhook may be sent to" };
  }
  if (/certificate|UnknownIssuer|BadSignature/i.test(message)) {
    return {
      reason: "certificate",
      message: "its certificate is not valid for its name, or its issuer not known",
    };
  }
  if (/too many open files|no buffer space/i.test(message)) {
    return { reason: "exhausted", message: "this machine has no more connections to give" };
  }
  if (error instanceof Deno.errors.ConnectionRefused) {
    return { reason: "connection", message: "the connection was refused" };
  }
  if (/reset|broken pipe|unexpected|eof/i.test(message)) {
    return { reason: "connection", message: "the connection was reset" };
  }
  return { reason: "connection", message: "no connection could be made" };
}
