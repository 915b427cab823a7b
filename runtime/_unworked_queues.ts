import { errorText } from "../ports/error_text.ts";
import type { Log } from "../ports/log.ts";
import type { Store } from "../ports/store.ts";

/** Says once that jobs wait in a queue that no process of the fleet works, and again when that comes back. */
export class UnworkedQueues {
  readonly #store: Store;
  readonly #log: Log;
  /** The queues of the last look, and whether that was said. */
  #known = new Map<string, boolean>();

  /** Has not looked yet. */
  constructor(store: Store, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  /** Looks. What only one look finds may be between the end of a process and the start of the next. */
  async look(): Promise<void> {
    try {
      const queues = await this.#store.unworked();
      const known = new Map<string, boolean>();
      for (const queue of queues) {
        const said = this.#known.get(queue);
        if (said === false) {
          this.#log.warn("jobs wait in a queue that no process works: start one that works it", { queue });
        }
        known.set(queue, said !== undefined);
      }
      this.#known = known;
    } catch (error) {
      this.#log.debug("queues that no process works not looked for, trying again", {
        error: errorText(error),
      });
    }
  }
}
