import { KeyRing } from "./key_ring.ts";
import { Signer } from "../../events/signing/signer.ts";

const KEPT_MAX = 1000;

/** Opens the sealed secrets of endpoints, and keeps what signs with them. */
export class SecretBox {
  readonly #ring: KeyRing;
  #signers = new Map<string, Promise<Signer>>();

  /** With these keys. */
  constructor(ring: KeyRing) {
    this.#ring = ring;
  }

  /** Seals a secret of one endpoint. */
  seal(endpointId: string, secret: string): Promise<string> {
    return this.#ring.seal(secret, placeOf(endpointId));
  }

  /** What signs with these secrets, kept under their sealed texts. */
  signer(endpointId: string, sealed: readonly string[]): Promise<Signer> {
    const name = `${endpointId} ${sealed.join(" ")}`;
    let signer = this.#signers.get(name);
    if (signer === undefined) {
      signer = this.#open(endpointId, sealed);
      if (this.#signers.size >= KEPT_MAX) this.#signers.clear();
      this.#signers.set(name, signer);
      signer.catch(() => this.#signers.delete(name));
    }
    return signer;
  }

  /**
   * Opens a secret and forgets it.
   *
   * @throws {SecretKeyError} it can't be opened.
   */
  async probe(endpointId: string, sealed: string): Promise<void> {
    await this.#ring.open(sealed, placeOf(endpointId));
  }

  /** The ids of the keys that some secrets were sealed with and that are not here. */
  missing(sealed: readonly string[]): string[] {
    return sealed.map((text) => KeyRing.sealedWith(text)).filter((id) => !this.#ring.has(id));
  }

  /** Seals again with the current key what another one has sealed; null when nothing is to be done. */
  async reseal(endpointId: string, sealed: string, sealedWith: string): Promise<string | null> {
    if (sealedWith === this.#ring.current) return null;
    return await this.seal(endpointId, await this.#ring.open(sealed, placeOf(endpointId)));
  }

  async #open(endpointId: string, sealed: readonly string[]): Promise<Signer> {
    const place = placeOf(endpointId);
    return await Signer.from(await Promise.all(sealed.map((text) => this.#ring.open(text, place))));
  }
}

function placeOf(endpointId: string): string {
  return `webhook endpoint ${endpointId}`;
}
