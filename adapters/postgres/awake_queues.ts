/**
 * How long an answer counts, in ms. A process that withdraws its mark looks once more after 25 ms, so what was written
 * on the strength of an answer is found then.
 */
const KNOWN_MS = 20;

/** Which queues somebody was claiming from without a pause when the database was last asked. */
export class AwakeQueues {
  readonly #until: Map<string, number> = new Map();

  /** Notes an answer. */
  note(queue: string, isAwake: boolean): void {
    if (isAwake) this.#until.set(queue, performance.now() + KNOWN_MS);
    else this.#until.delete(queue);
  }

  /** Whether nobody needs to be woken for a queue, without asking again. */
  has(queue: string): boolean {
    const until = this.#until.get(queue);
    return until !== undefined && performance.now() < until;
  }
}
