/**
 * Verifies webhooks at their receiver, by the Standard Webhooks specification: whoever signs so, Millrace or another.
 * Nothing but web standards is used, so it runs on Deno, Node 20, Bun, Cloudflare Workers and in browsers.
 *
 * @example A receiver
 * ```ts
 * import { WebhookVerificationError, WebhookVerifier } from "@millrace/millrace/webhooks/verify";
 *
 * const verifier = new WebhookVerifier(secret); // whsec_... or whpk_..., as the sender showed it
 *
 * Deno.serve(async (request) => {
 *   try {
 *     const { id, json } = await verifier.verify(request);
 *     // The same id can come again: the sender retries until it has read a 2xx.
 *     await handleOnce(id, json());
 *     return new Response(null, { status: 204 });
 *   } catch (error) {
 *     if (error instanceof WebhookVerificationError) return new Response(error.reason, { status: 400 });
 *     throw error;
 *   }
 * });
 * ```
 *
 * @module
 */
import { fromBase64 } from "./base64.ts";
import { parseSecret, verifyingKey } from "./secret.ts";
import { isMessageId, signedContent } from "./signed_content.ts";

/**
 * Why a message was refused.
 *
 * - `missing header`: one of webhook-id, webhook-timestamp, webhook-signature is not there
 * - `malformed header`: one of them can't be read
 * - `too old`, `too new`: the time is further away than the tolerance
 * - `unsupported signature`: none of the signatures is of a version that the secrets can verify
 * - `wrong signature`: signed with another secret, or changed on its way
 * - `body too large`: longer than `maxBytes`
 * - `malformed body`: neither bytes nor text; JSON that was read already can't be verified
 */
export type RefusalReason =
  | "missing header"
  | "malformed header"
  | "too old"
  | "too new"
  | "unsupported signature"
  | "wrong signature"
  | "body too large"
  | "malformed body";

/** A message was refused. */
export class WebhookVerificationError extends Error {
  /** The name of the class. */
  override readonly name = "WebhookVerificationError";
  /** Why, in words that don't change. */
  readonly reason: RefusalReason;

  /** Names the reason and what was seen. */
  constructor(reason: RefusalReason, detail: string) {
    super(`Cannot verify this webhook, ${reason}: ${detail}`);
    this.reason = reason;
  }
}

/** How {@linkcode WebhookVerifier} verifies. */
export interface WebhookVerifierOptions {
  /** How far the message's time may be from this clock, in seconds. Default 300. */
  readonly toleranceS?: number;
  /** The longest body that is read, in bytes. Default 4 MiB. */
  readonly maxBytes?: number;
  /** This clock, in ms since the epoch: a finite number, else `verify` throws a TypeError. Default `Date.now`. */
  readonly now?: () => number;
}

/** A message as it arrived: for servers that do not have a `Request`. */
export interface ReceivedWebhook {
  /** Its headers. Names in any case; of repeated ones the first counts. */
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The body's bytes as they were received, or their text. Never JSON that was read and written again. */
  readonly body: Uint8Array | string;
}

/** A message whose signature is right. */
export interface VerifiedWebhook {
  /** The message's id. The same on every attempt, so it tells whether this one was handled already. */
  readonly id: string;
  /** When this attempt was signed. */
  readonly timestamp: Date;
  /** The bytes that were signed. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** Reads the body as JSON. */
  // deno-lint-ignore no-explicit-any -- as Response.json() does: the caller says what it is
  json(): any;
}

const TOLERANCE_S = 300;
const BODY_BYTES_MAX = 4 * 1024 * 1024;
/** So many signatures are looked at. */
const SIGNATURES_MAX = 32;

interface Key {
  readonly version: "v1" | "v1a";
  readonly key: Promise<CryptoKey>;
}

/** Verifies messages of one sender. Made once; its keys are read once. */
export class WebhookVerifier {
  #keys: readonly Key[];
  #toleranceS: number;
  #maxBytes: number;
  #now: () => number;

  /**
   * Takes one secret, or several while one is being replaced: any of them is enough. `whsec_` verifies `v1`
   * signatures, `whpk_` (and `whsk_`) verifies `v1a`. As with the reference library, base64 without a prefix is taken for
   * `whsec_`, and its padding may be missing.
   *
   * @throws {TypeError} a secret can't be read, or there is none.
   * @throws {RangeError} an option is out of its range.
   */
  constructor(secrets: string | readonly string[], options: WebhookVerifierOptions = {}) {
    const texts = typeof secrets === "string" ? [secrets] : secrets;
    if (!Array.isArray(texts)) {
      throw new TypeError(`Cannot use secrets of type ${typeof secrets}: expected a text or a list of texts`);
    }
    if (texts.length === 0) throw new TypeError("Cannot verify without a secret: none was given");
    checkOptions(options);
    this.#keys = texts.map((text) => {
      const secret = parseSecret(text);
      const key = verifyingKey(secret);
      key.catch(() => {}); // Told when it is first needed.
      return { version: secret.type === "symmetric" ? "v1" : "v1a", key };
    });
    this.#toleranceS = inRange("toleranceS", options.toleranceS ?? TOLERANCE_S);
    this.#maxBytes = inRange("maxBytes", options.maxBytes ?? BODY_BYTES_MAX);
    this.#now = options.now ?? Date.now;
  }

  /**
   * Verifies a request. Its body is read. Of the signatures in its header the first 32 are looked at: anyone may send it, and
   * each that can be read is verified.
   *
   * @throws {WebhookVerificationError} with the reason.
   * @throws {TypeError} `now` did not return a finite number: nothing was verified.
   */
  async verify(request: Request | ReceivedWebhook): Promise<VerifiedWebhook> {
    const id = header(request, "webhook-id");
    const timestamp = header(request, "webhook-timestamp");
    const signatures = header(request, "webhook-signature");
    if (!isMessageId(id)) {
      throw new WebhookVerificationError("malformed header", "webhook-id is no id, or holds a full stop");
    }
    if (!/^[1-9]\d{0,11}$/.test(timestamp)) {
      throw new WebhookVerificationError("malformed header", "webhook-timestamp is no number of seconds");
    }
    const aheadS = Number(timestamp) - Math.floor(readClock(this.#now) / 1000);
    if (Math.abs(aheadS) > this.#toleranceS) {
      throw new WebhookVerificationError(
        aheadS < 0 ? "too old" : "too new",
        `webhook-timestamp is ${Math.abs(aheadS)} s ${aheadS < 0 ? "behind" : "ahead of"} this clock, ` +
          `the tolerance is ${this.#toleranceS} s`,
      );
    }
    const given = parseSignatures(signatures);
    if (!given.some(({ version }) => this.#keys.some((key) => key.version === version))) {
      const wanted = [...new Set(this.#keys.map(({ version }) => version))].join(" or ");
      throw new WebhookVerificationError("unsupported signature", `there is none of version ${wanted}`);
    }
    const body = await this.#bodyOf(request);
    const content = signedContent(id, timestamp, body);
    for (const { version, signature } of given) {
      for (const { version: able, key } of this.#keys) {
        if (able !== version) continue;
        const imported = await key;
        // verify() of Web Crypto compares in constant time.
        if (await crypto.subtle.verify(imported.algorithm.name, imported, signature, content)) {
          return {
            id,
            timestamp: new Date(Number(timestamp) * 1000),
            body,
            json: () => JSON.parse(new TextDecoder().decode(body)),
          };
        }
      }
    }
    throw new WebhookVerificationError(
      "wrong signature",
      "it was signed with another secret, or its id, time or body was changed",
    );
  }

  async #bodyOf(request: Request | ReceivedWebhook): Promise<Uint8Array<ArrayBuffer>> {
    const { body } = request;
    if (typeof body === "string") return this.#bounded(new TextEncoder().encode(body));
    if (body instanceof Uint8Array) return this.#bounded(new Uint8Array(body));
    if (body === null || body === undefined) return new Uint8Array();
    if (typeof Reflect.get(Object(body), Symbol.asyncIterator) !== "function") {
      const type = typeof body;
      throw new WebhookVerificationError(
        "malformed body",
        `it is a value of type ${type}, expected bytes or text`,
      );
    }
    const chunks: Uint8Array[] = [];
    let length = 0;
    for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > this.#maxBytes) throw tooLarge(this.#maxBytes);
    }
    const whole = new Uint8Array(length);
    let at = 0;
    for (const chunk of chunks) {
      whole.set(chunk, at);
      at += chunk.length;
    }
    return whole;
  }

  #bounded(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    if (bytes.length > this.#maxBytes) throw tooLarge(this.#maxBytes);
    return bytes;
  }
}

/** Without a time every comparison with it would be false, and no message too old. */
function readClock(now: () => number): number {
  const ms: unknown = now();
  if (typeof ms === "number" && Number.isFinite(ms)) return ms;
  const shown = typeof ms === "number" ? ms : `a value of type ${typeof ms}`;
  throw new TypeError(`Cannot verify webhooks: now() returned ${shown}, expected ms since the epoch`);
}

function tooLarge(maxBytes: number): WebhookVerificationError {
  return new WebhookVerificationError("body too large", `the most is ${maxBytes} bytes`);
}

function header(request: Request | ReceivedWebhook, name: string): string {
  const value = headerOf(request?.headers, name);
  if (value === null || value === undefined || value === "") {
    throw new WebhookVerificationError("missing header", `${name} is not there`);
  }
  if (typeof value === "string") return value;
  throw new WebhookVerificationError("malformed header", `${name} is a value of type ${typeof value}`);
}

/** Whoever writes no types may hand over anything. */
function headerOf(headers: unknown, name: string): unknown {
  if (headers instanceof Headers) return headers.get(name);
  if (typeof headers !== "object" || headers === null) return undefined;
  const found: unknown = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return Array.isArray(found) ? found[0] : found;
}

/** The signatures that can be read: `v1,<base64> v1a,<base64>`. Others are for other versions of the specification. */
function parseSignatures(text: string): { version: string; signature: Uint8Array<ArrayBuffer> }[] {
  return text.split(" ", SIGNATURES_MAX).flatMap((entry) => {
    const [version, base64, ...more] = entry.split(",");
    const signature = more.length > 0 || base64 === undefined ? null : fromBase64(base64);
    return signature === null ? [] : [{ version: version!, signature }];
  });
}

const OPTION_KEYS = ["toleranceS", "maxBytes", "now"];

function checkOptions(options: WebhookVerifierOptions): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new TypeError(`Cannot use options of type ${typeof options}: expected an object`);
  }
  const unknown = Object.keys(options).find((key) => !OPTION_KEYS.includes(key));
  if (unknown !== undefined) {
    throw new TypeError(
      `Cannot use options with ${JSON.stringify(unknown)}: expected ${OPTION_KEYS.join(", ")}`,
    );
  }
  if (options.now === undefined || typeof options.now === "function") return;
  throw new TypeError(`Cannot use now of type ${typeof options.now}: expected a function that returns ms`);
}

function inRange(option: string, value: number): number {
  if (Number.isFinite(value) && value >= 0) return value;
  const shown = typeof value === "number" ? value : `of type ${typeof value}`;
  throw new RangeError(`Cannot use ${option} ${shown}: expected a number from 0`);
}
