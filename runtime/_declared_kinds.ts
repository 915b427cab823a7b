import type { Log } from "../ports/log.ts";
import type { Store } from "../ports/store.ts";

/** So many kinds are named in a line of the log. */
const NAMED_MAX = 10;

/**
 * Keeps what is stored of kinds what a living process declares. At its start each process stores what it declares itself; it
 * may leave before the others, also between two looks at who is on the record, so nothing but a comparison finds it out.
 */
export class DeclaredKinds {
  readonly #store: Store;
  readonly #log: Log;
  #hasCompared = false;

  /** Does nothing yet. */
  constructor(store: Store, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  /** Whether it has compared since the start: what this process declared may have been taken for that of one that is gone. */
  get hasCompared(): boolean {
    return this.#hasCompared;
  }

  /** Compares what is stored with what living processes declare, and stores that. */
  async renew(): Promise<void> {
    const kinds = await this.#store.renewKinds();
    this.#hasCompared = true;
    if (kinds.length === 0) return;
    this.#log.info(
      "kinds were stored as no living process declares them, now as the newest that lives does",
      {
        kinds: kinds.slice(0, NAMED_MAX).join(", "),
        count: kinds.length,
      },
    );
  }
}
