import type { Claimed, ClaimRequest, Store } from "../ports/store.ts";

/** The kinds of a queue of which jobs may lie aside. */
export class AsideKinds {
  readonly #kinds = new Set<string>();

  /** How many there are. */
  get size(): number {
    return this.#kinds.size;
  }

  /** Jobs of a kind may lie aside. */
  add(kind: string): void {
    this.#kinds.add(kind);
  }

  /** Claims from the line, and from what lies aside of one kind: each claim of another kind, until it finds no more. */
  async claim(store: Store, request: ClaimRequest): Promise<Claimed[]> {
    const [aside] = this.#kinds;
    if (aside === undefined) return await store.claim(request);
    // Removed before the claim, so that a signal that comes during it counts.
    this.#kinds.delete(aside);
    let jobs: Claimed[] | undefined;
    try {
      return jobs = await store.claim({ ...request, aside });
    } finally {
      if (jobs === undefined || jobs.length >= request.limit) this.#kinds.add(aside);
    }
  }
}
