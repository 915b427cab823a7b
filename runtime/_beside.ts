import type { Running } from "./_running.ts";
import type { Timer } from "./_timer.ts";

/** The runs of one kind. */
interface Place {
  /** Those that would leave their slots, the oldest first, and find no room. */
  readonly due: Set<Running>;
  /** How many have left. */
  left: number;
}

/** Runs of one queue that have left their slots: each kind says after how long, and how many may at once. */
export class Beside {
  readonly #places = new Map<string, Place>();
  readonly #timers = new Map<Running, Timer>();
  readonly #left = new Set<Running>();
  readonly #onLeft: () => void;

  /** Tells when slots have become free. */
  constructor(onLeft: () => void) {
    this.#onLeft = onLeft;
  }

  /** How many runs hold no slot. */
  get size(): number {
    return this.#left.size;
  }

  /** A run has begun. */
  began(running: Running): void {
    const { beside } = running.kind;
    if (beside === undefined) return;
    this.#timers.set(
      running,
      setTimeout(() => {
        this.#place(running).due.add(running);
        this.#move(running);
      }, beside.afterMs),
    );
  }

  /** A run has ended. */
  ended(running: Running): void {
    if (running.kind.beside === undefined) return;
    clearTimeout(this.#timers.get(running));
    this.#timers.delete(running);
    const place = this.#place(running);
    place.due.delete(running);
    if (!this.#left.delete(running)) return;
    place.left--;
    this.#move(running);
  }

  /** Lets the oldest of a kind leave, for as long as there is room. */
  #move({ kind }: Running): void {
    const place = this.#places.get(kind.name)!;
    const before = place.left;
    for (const running of place.due) {
      if (place.left >= kind.beside!.most) break;
      place.due.delete(running);
      place.left++;
      this.#left.add(running);
    }
    if (place.left > before) this.#onLeft();
  }

  #place({ kind }: Running): Place {
    let place = this.#places.get(kind.name);
    if (place === undefined) {
      place = { due: new Set(), left: 0 };
      this.#places.set(kind.name, place);
    }
    return place;
  }
}
