import { Loop } from "./loop.ts";
import type { Tables } from "./tables.ts";

const SAMPLE_MS = 1500;

/** Looks again and again whether two jobs hold one key. */
export class Sampler extends Loop {
  /** What it found. */
  readonly found: string[] = [];
  readonly #tables: Tables;

  constructor(tables: Tables) {
    super();
    this.#tables = tables;
  }

  protected async turn(): Promise<number> {
    // The server may be away.
    this.found.push(...await this.#tables.sharedKeys().catch(() => []));
    return SAMPLE_MS;
  }
}
