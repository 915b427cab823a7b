import { toBase64 } from "./base64.ts";
import { parseSecret, signingKey } from "./secret.ts";
import { isMessageId, signedContent } from "./signed_content.ts";

/** The headers of one signed message. */
export interface SignedHeaders {
  /** The id: the same on every attempt. */
  readonly "webhook-id": string;
  /** The attempt's time, in seconds since the epoch. */
  readonly "webhook-timestamp": string;
  /** One signature for each secret, separated by spaces. */
  readonly "webhook-signature": string;
}

interface Key {
  readonly version: "v1" | "v1a";
  readonly key: CryptoKey;
}

/** Signs messages by the Standard Webhooks specification, with one secret or, during a rotation, with several. */
export class Signer {
  #keys: readonly Key[];

  private constructor(keys: readonly Key[]) {
    this.#keys = keys;
  }

  /** Reads the secrets: `whsec_` signs as `v1`, `whsk_` as `v1a`. */
  static async from(secrets: readonly string[]): Promise<Signer> {
    return new Signer(
      await Promise.all(secrets.map(async (text) => {
        const secret = parseSecret(text);
        return { version: secret.type === "symmetric" ? "v1" : "v1a", key: await signingKey(secret) };
      })),
    );
  }

  /**
   * Signs one message.
   *
   * @throws {TypeError} the id could be mistaken for more than an id.
   */
  async sign(id: string, timestampS: number, body: Uint8Array): Promise<SignedHeaders> {
    if (!isMessageId(id)) {
      throw new TypeError(
        `Cannot sign a message of id ${
          JSON.stringify(id)
        }: expected 1 to 256 visible ASCII characters and no full stop`,
      );
    }
    const content = signedContent(id, timestampS, body);
    const signatures = await Promise.all(this.#keys.map(async ({ version, key }) => {
      const signature = await crypto.subtle.sign(key.algorithm.name, key, content);
      return `${version},${toBase64(new Uint8Array(signature))}`;
    }));
    return {
      "webhook-id": id,
      "webhook-timestamp": String(timestampS),
      "webhook-signature": signatures.join(" "),
    };
  }
}
