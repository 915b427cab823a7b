import { createHash } from "node:crypto";
import { fromBase64, toBase64 } from "../../events/signing/base64.ts";

/** The environment variable that holds the keys. */
export const KEY_VARIABLE = "MILLRACE_SECRET_KEY";

/** How to make a key, for messages and docs. */
export const KEY_RECIPE: string = `${KEY_VARIABLE}=$(openssl rand -base64 32)`;

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const VERSION = "s1";

/** There is no key to seal secrets with, or one can't be read. */
export class SecretKeyError extends Error {
  /** The name of the class. */
  override readonly name = "SecretKeyError";
}

/**
 * The keys that secrets are sealed with at rest, AES-256-GCM. The first one seals; every one opens what it has sealed,
 * so a new key is put before the old one, everything is sealed again, and the old one is taken away.
 */
export class KeyRing {
  #ids: readonly string[];
  #bytes: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
  #keys = new Map<string, Promise<CryptoKey>>();

  private constructor(bytes: ReadonlyMap<string, Uint8Array<ArrayBuffer>>) {
    this.#bytes = bytes;
    this.#ids = [...bytes.keys()];
  }

  /**
   * Reads keys: each is base64 of 32 bytes, with an id before it if wanted (`2026:...`), separated by commas. Without an
   * id it is named by its fingerprint. The messages never hold a key.
   *
   * @throws {SecretKeyError} there is none, or one can't be read.
   */
  static read(text: string | undefined): KeyRing {
    const entries = (text ?? "").split(",").map((entry) => entry.trim()).filter((entry) => entry !== "");
    if (entries.length === 0) {
      throw new SecretKeyError(
        `Cannot keep webhook secrets without a key: set ${KEY_VARIABLE} to 32 random bytes as base64, the same for ` +
          `every process. To make one: ${KEY_RECIPE}`,
      );
    }
    const keys = new Map<string, Uint8Array<ArrayBuffer>>();
    for (const [index, entry] of entries.entries()) {
      const colon = entry.indexOf(":");
      const bytes = fromBase64(entry.slice(colon + 1));
      if (bytes === null || bytes.length !== KEY_BYTES) {
        throw new SecretKeyError(
          `Cannot use key ${index + 1} of ${KEY_VARIABLE}: expected base64 of 32 bytes, found ${
            bytes === null ? "what is no base64" : `${bytes.length} bytes`
          }. To make one: ${KEY_RECIPE}`,
        );
      }
      if (bytes.every((byte) => byte === 0)) {
        throw new SecretKeyError(
          `Cannot use key ${
            index + 1
          } of ${KEY_VARIABLE}: it is nothing but zeros. To make one: ${KEY_RECIPE}`,
        );
      }
      const id = colon === -1 ? fingerprint(bytes) : entry.slice(0, colon);
      if (!/^[A-Za-z0-9_-]{1,32}$/.test(id)) {
        throw new SecretKeyError(
          `Cannot use key ${index + 1} of ${KEY_VARIABLE}: its id is not 1 to 32 letters, digits, "_" or "-"`,
        );
      }
      if (keys.has(id)) throw new SecretKeyError(`Cannot use ${KEY_VARIABLE}: two keys have the id ${id}`);
      keys.set(id, bytes);
    }
    return new KeyRing(keys);
  }

  /** The id of the key that seals. */
  get current(): string {
    return this.#ids[0]!;
  }

  /** Seals a text for one place: what was sealed for one row can't be opened in another. */
  async seal(text: string, place: string): Promise<string> {
    const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
    const sealed = await crypto.subtle.encrypt(
      { name: "AES-GCM", iv: nonce, additionalData: new TextEncoder().encode(place) },
      (await this.#key(this.current))!,
      new TextEncoder().encode(text),
    );
    return [VERSION, this.current, toBase64(nonce), toBase64(new Uint8Array(sealed))].join(":");
  }

  /**
   * Opens what was sealed for this place.
   *
   * @throws {SecretKeyError} no key of that id is at hand, or the text is not what was sealed.
   */
  async open(sealed: string, place: string): Promise<string> {
    const parts = sealed.split(":");
    const [version, id, nonce, bytes] = parts;
    const iv = fromBase64(nonce ?? "");
    const data = fromBase64(bytes ?? "");
    if (version !== VERSION || id === undefined || iv === null || data === null || parts.length !== 4) {
      throw new SecretKeyError(
        `Cannot open a sealed secret of ${place}: it is not in the form of a sealed one`,
      );
    }
    const key = await this.#key(id);
    if (key === undefined) {
      throw new SecretKeyError(
        `Cannot open a sealed secret of ${place}: it was sealed with the key ${id}, which is not in ${KEY_VARIABLE}`,
      );
    }
    try {
      const additionalData = new TextEncoder().encode(place);
      const opened = await crypto.subtle.decrypt({ name: "AES-GCM", iv, additionalData }, key, data);
      // What was sealed, a byte order mark at its beginning included.
      return new TextDecoder("utf-8", { ignoreBOM: true }).decode(opened);
    } catch {
      throw new SecretKeyError(
        `Cannot open a sealed secret of ${place}: the key ${id} is another one than that which sealed it, or the ` +
          `stored text was changed`,
      );
    }
  }

  #key(id: string): Promise<CryptoKey> | undefined {
    const bytes = this.#bytes.get(id);
    if (bytes === undefined) return undefined;
    let key = this.#keys.get(id);
    if (key === undefined) {
      key = crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]);
      this.#keys.set(id, key);
    }
    return key;
  }

  /** Whether there is a key of this id. */
  has(id: string): boolean {
    return this.#bytes.has(id);
  }

  /** The id of the key that sealed a text. */
  static sealedWith(sealed: string): string {
    return sealed.split(":")[1] ?? "";
  }
}

function fingerprint(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex").slice(0, 8);
}
