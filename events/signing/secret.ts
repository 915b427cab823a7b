import { fromBase64, toBase64 } from "./base64.ts";
import { weaknessOf } from "./ed25519.ts";

/** What a secret or a key of an endpoint is written with. */
export const SYMMETRIC_PREFIX = "whsec_";
/** A private ed25519 key: base64 of the 32 bytes of the seed and the 32 bytes of the public key. */
export const PRIVATE_PREFIX = "whsk_";
/** A public ed25519 key: base64 of its 32 bytes. */
export const PUBLIC_PREFIX = "whpk_";

const ED25519_BYTES = 32;
/** What the specification allows a symmetric secret to have. Shorter ones can be guessed. */
const SYMMETRIC_BYTES_MIN = 24;
const SYMMETRIC_BYTES_MAX = 64;
const GENERATED_BYTES = 32;
/** What stands before the seed when a private ed25519 key is told as PKCS #8 (RFC 8410). */
const PKCS8_HEAD = [0x30, 0x2e, 0x02, 0x01, 0, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];

/** A secret or key, taken apart. */
export type Secret =
  | { readonly type: "symmetric"; readonly key: Uint8Array<ArrayBuffer> }
  | {
    readonly type: "private";
    readonly seed: Uint8Array<ArrayBuffer>;
    readonly publicKey: Uint8Array<ArrayBuffer>;
  }
  | { readonly type: "public"; readonly publicKey: Uint8Array<ArrayBuffer> };

/**
 * Takes a secret or key apart. As with the reference, padding may be missing, and base64 without a prefix is a symmetric
 * secret. The messages name what is wrong, and never the text.
 *
 * @throws {TypeError} it is none.
 */
export function parseSecret(text: string): Secret {
  if (typeof text !== "string") {
    throw new TypeError(`Cannot use a secret of type ${typeof text}: expected text`);
  }
  const given = [SYMMETRIC_PREFIX, PRIVATE_PREFIX, PUBLIC_PREFIX].find((prefix) => text.startsWith(prefix));
  const prefix = given ?? SYMMETRIC_PREFIX;
  const bytes = fromBase64(padded(text.slice(given?.length ?? 0)));
  if (bytes === null && given === undefined) {
    throw new TypeError("Cannot use a secret: expected base64, after whsec_, whpk_ or whsk_ or by itself");
  }
  if (bytes === null) throw new TypeError(`Cannot use a ${prefix} secret: what follows is not base64`);
  if (bytes.length > 0 && bytes.every((byte) => byte === 0)) {
    throw new TypeError(`Cannot use a ${prefix} secret: it is nothing but zeros`);
  }
  if (prefix === SYMMETRIC_PREFIX) {
    wantBytes(
      prefix,
      bytes.length >= SYMMETRIC_BYTES_MIN && bytes.length <= SYMMETRIC_BYTES_MAX,
      bytes,
      "24 to 64",
    );
    return { type: "symmetric", key: bytes };
  }
  if (prefix === PUBLIC_PREFIX) {
    wantBytes(prefix, bytes.length === ED25519_BYTES, bytes, "32");
    return { type: "public", publicKey: trusted(prefix, bytes) };
  }
  wantBytes(prefix, bytes.length === 2 * ED25519_BYTES, bytes, "64");
  const publicKey = trusted(prefix, bytes.slice(ED25519_BYTES));
  return { type: "private", seed: bytes.slice(0, ED25519_BYTES), publicKey };
}

/** The key that signs. */
export function signingKey(secret: Secret): Promise<CryptoKey> {
  switch (secret.type) {
    case "symmetric":
      return importHmac(secret.key, "sign");
    case "private":
      return crypto.subtle.importKey("pkcs8", pkcs8(secret.seed), "Ed25519", false, ["sign"]);
    case "public":
      throw new TypeError("Cannot sign with a whpk_ key: it only verifies");
  }
}

/** The key that verifies. */
export function verifyingKey(secret: Secret): Promise<CryptoKey> {
  return secret.type === "symmetric"
    ? importHmac(secret.key, "verify")
    : crypto.subtle.importKey("raw", secret.publicKey, "Ed25519", false, ["verify"]);
}

/** A new symmetric secret of 32 random bytes. */
export function generateSecret(): string {
  return SYMMETRIC_PREFIX + toBase64(crypto.getRandomValues(new Uint8Array(GENERATED_BYTES)));
}

/** A new ed25519 key pair: what signs, and what the receiver is given. */
export async function generateKeyPair(): Promise<{ privateKey: string; publicKey: string }> {
  const pair = await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]) as CryptoKeyPair;
  const publicKey = new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey));
  const seed = new Uint8Array(await crypto.subtle.exportKey("pkcs8", pair.privateKey)).slice(-ED25519_BYTES);
  return {
    privateKey: PRIVATE_PREFIX + toBase64(new Uint8Array([...seed, ...publicKey])),
    publicKey: PUBLIC_PREFIX + toBase64(publicKey),
  };
}

function padded(base64: string): string {
  return base64.includes("=") ? base64 : base64.padEnd(Math.ceil(base64.length / 4) * 4, "=");
}

function importHmac(key: Uint8Array<ArrayBuffer>, use: "sign" | "verify"): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, [use]);
}

function pkcs8(seed: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array([...PKCS8_HEAD, ...seed]);
}

function trusted(prefix: string, publicKey: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const weakness = weaknessOf(publicKey);
  if (weakness === null) return publicKey;
  throw new TypeError(`Cannot use a ${prefix} key, ${weakness}: expected one that a sender generated`);
}

function wantBytes(prefix: string, isRight: boolean, bytes: Uint8Array, expected: string): void {
  if (!isRight) {
    throw new TypeError(`Cannot use a ${prefix} secret of ${bytes.length} bytes: expected ${expected} bytes`);
  }
}
