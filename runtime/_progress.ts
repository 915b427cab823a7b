import { errorText } from "../ports/error_text.ts";
import type { Log } from "../ports/log.ts";
import type { ProgressEntry, RunRef, Store } from "../ports/store.ts";
import { writeText } from "../shared/refused_text.ts";
import type { Timer } from "./_timer.ts";

/** The shortest time between two writes, in ms. */
const INTERVAL_MS = 250;

/** Writes what handlers tell of their progress: the first word at once, later ones together and not too often. */
export class Progress {
  readonly #store: Store;
  readonly #log: Log;
  #pending = new Map<string, ProgressEntry>();
  readonly #flying = new Set<ReadonlyMap<string, ProgressEntry>>();
  #lastAt = -Infinity;
  #timer: Timer | undefined;
  #flight: Promise<void> = Promise.resolve();

  constructor(store: Store, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  /** Notes how far a run is; the newest word wins. */
  tell(entry: ProgressEntry): void {
    this.#pending.set(`${entry.id}/${entry.run}`, entry);
    this.#timer ??= setTimeout(
      () => this.flush(),
      Math.max(0, this.#lastAt + INTERVAL_MS - performance.now()),
    );
  }

  /** Whether something that a run has told is not written yet. The end of the run would overtake it. */
  isPending({ id, run }: RunRef): boolean {
    if (this.#pending.size === 0 && this.#flying.size === 0) return false;
    const key = `${id}/${run}`;
    return this.#pending.has(key) || [...this.#flying].some((batch) => batch.has(key));
  }

  /** Writes what is pending. Resolves when it is written, or has failed to be. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#lastAt = performance.now();
    const batch = this.#pending;
    if (batch.size === 0) return this.#flight;
    this.#pending = new Map();
    this.#flying.add(batch);
    // One after the other, or an older word could overwrite a newer one.
    this.#flight = this.#flight.then(() =>
      writeText([...batch.values()], (entries) => this.#store.progress(entries))
    ).catch((error) => {
      this.#log.warn("progress not written, the next word of it will be", { error: errorText(error) });
    }).finally(() => this.#flying.delete(batch));
    return this.#flight;
  }
}
