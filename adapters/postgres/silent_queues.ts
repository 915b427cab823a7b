/** How long an answer counts, in ms: less than the first pause of a process that begins to work, or that has withdrawn its mark. */
const KNOWN_MS = 20;

/** How long nothing is believed after this process has given jobs back, in ms: longer than its own mark lasts. */
const DISTRUST_MS = 1000;

/** For which queues nobody needed to be woken when the database was last asked. */
export class SilentQueues {
  readonly #until: Map<string, number> = new Map();
  #distrustedUntil = -Infinity;

  /** Notes an answer. */
  note(queue: string, isSilent: boolean): void {
    if (isSilent) this.#until.set(queue, performance.now() + KNOWN_MS);
    else this.#until.delete(queue);
  }

  /** Whether nobody needs to be woken for a queue, without asking again. */
  has(queue: string): boolean {
    const until = this.#until.get(queue);
    return until !== undefined && performance.now() < until && !this.distrusted;
  }

  /** Who gives jobs back, as a process does that stops, does not claim them again: its mark must not silence that. */
  distrust(): void {
    this.#distrustedUntil = performance.now() + DISTRUST_MS;
  }

  /** Whether queues are to be woken, whatever the marks say. */
  get distrusted(): boolean {
    return performance.now() < this.#distrustedUntil;
  }
}
