/**
 * Sends one webhook. Wherever host processes can be started it runs in one that may reach the network, less what no
 * webhook goes to, and can do nothing else: it knows an address, a URL, headers and a body, and no database, secret or
 * file.
 *
 * @module
 */
import { type Answer, AnswerError } from "./answer.ts";
import { type Request, StaleConnectionError } from "./connection.ts";
import { Connections, type Destination } from "./connections.ts";
import { isDenied, isExhausted } from "./dial.ts";
import { codeOf } from "./error_code.ts";
import { plainText } from "./plain_text.ts";
import type { Post, Poster, PostInput, PostOutput } from "./poster.ts";

export type { Post, Poster, PostInput, PostOutput } from "./poster.ts";

/** How much of an answer is kept, in characters. */
const ANSWER_LENGTH_MAX = 1000;
const ENCODING_LENGTH_MAX = 50;
const RETRY_AFTER_LENGTH_MAX = 100;

/** Makes a sender with connections of its own. */
export function createPoster(): Poster {
  const connections = new Connections();
  return {
    post: (input, options) => post(connections, input, options?.signal),
    close: () => connections.close(),
  };
}

/** What a host process sends with. */
const inHost: Post = createPoster().post;
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
      origin: url.origin,
      addresses: input.addresses,
      port: url.port === "" ? (isSecure ? 443 : 80) : Number(url.port),
      serverName: isSecure ? url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "") : null,
    };
    const answer = await exchange(connections, destination, requestOf(url, input), controller.signal);
    if (answer.status > 599) throw new AnswerError(`the answer has the status ${answer.status}`);
    return {
      type: "answered",
      status: answer.status,
      retryAfter: answer.values("retry-after").map((value) => plainText(value, RETRY_AFTER_LENGTH_MAX)),
      answer: shown(answer),
      durationMs: duration(),
    };
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

async function exchange(
  connections: Connections,
  destination: Destination,
  request: Request,
  signal: AbortSignal,
): Promise<Answer> {
  while (true) {
    const idle = await connections.takeIdle(destination);
    const connection = idle ?? await connections.open(destination, signal);
    try {
      const answer = await connection.send(request, signal);
      if (answer.isWhole) connections.keep(connection);
      else connection.close();
      return answer;
    } catch (error) {
      connection.close();
      // Nothing was sent. Whatever may have been sent is not sent again: that is another attempt, and has its own entry.
      if (idle !== null && error instanceof StaleConnectionError) continue;
      throw error;
    }
  }
}

function shown(answer: Answer): string {
  const encoding = plainText(answer.values("content-encoding").join(", "), ENCODING_LENGTH_MAX);
  if (encoding !== "" && encoding !== "identity") return `(${answer.body.length} bytes, ${encoding})`;
  const text = new TextDecoder().decode(answer.body.subarray(0, ANSWER_LENGTH_MAX * 4));
  return plainText(text, ANSWER_LENGTH_MAX);
}

const encoder = new TextEncoder();

/** Headers that say how a request is framed, or what becomes of its connection. */
const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** A header can't be sent: this side's fault, and no endpoint's. */
class UnsendableError extends Error {}

/** The URL's parts are escaped already, so no line can be smuggled in. */
function requestOf(url: URL, { headers, body }: PostInput): Request {
  for (const [name, value] of Object.entries(headers)) {
    const isHeader = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) && !/[^\t\x20-\x7e]/.test(value);
    if (isHeader && !CONNECTION_HEADERS.has(name.toLowerCase())) continue;
    throw new UnsendableError(
      `the header ${JSON.stringify(name)} can't be sent: expected ${
        isHeader
          ? "one that says nothing of the connection"
          : "a token and a value of visible ASCII characters"
      }`,
    );
  }
  return { path: url.pathname + url.search, headers, body: encoder.encode(body) };
}

type Failure = Omit<Extract<PostOutput, { type: "failed" }>, "type" | "durationMs">;

/** What the system says is not passed on: it may tell what is at an address. */
function describe(error: unknown): Failure {
  if (error instanceof StaleConnectionError && error.cause) return describe(error.cause);
  if (error instanceof AnswerError) return { reason: "answer", message: error.message };
  const code = codeOf(error);
  const message = error instanceof Error ? error.message : "";
  if (error instanceof UnsendableError) return { reason: "unsendable", message };
  if (isDenied(error)) {
    return { reason: "denied", message: "its address is one that no webhook may be sent to" };
  }
  if (/certificate.?required/i.test(message)) {
    return { reason: "certificate", message: "it demands a certificate of the sender, and there is none" };
  }
  if (/CERT|UNABLE_TO_|SIGNATURE|ISSUER/.test(code) || /certificate|issuer/i.test(message)) {
    return {
      reason: "certificate",
      message: "its certificate is not valid for its name, or its issuer not known",
    };
  }
  if (code.startsWith("ERR_SSL_")) {
    return { reason: "connection", message: "the TLS handshake failed" };
  }
  if (isExhausted(error)) {
    return { reason: "exhausted", message: "this machine has no more connections to give" };
  }
  if (code === "ECONNREFUSED") return { reason: "connection", message: "the connection was refused" };
  if (
    error instanceof StaleConnectionError || /^(ECONNRESET|EPIPE|ECONNABORTED)$/.test(code) ||
    /reset|broken pipe|eof/i.test(message)
  ) {
    return { reason: "connection", message: "the connection was reset" };
  }
  return { reason: "connection", message: "no connection could be made" };
}
