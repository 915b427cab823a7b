import type { NotifyQueue } from "../connection/notify_queue.ts";

/** How long an answer counts, in ms: less than the first pause of a process that begins to work, or that has withdrawn its mark. */
const KNOWN_MS = 20;

/** How long nothing is believed after this process has given jobs back, in ms: longer than its own mark lasts. */
const DISTRUST_MS = 1000;

interface Answer {
  readonly isSilent: boolean;
  readonly until: number;
}

/** For which queues nobody needed to be woken when the database was last asked, and for which somebody did. */
export class SilentQueues {
  readonly #answers: Map<string, Answer> = new Map();
  readonly #notifyQueue: Pick<NotifyQueue, "isFull">;
  #distrustedUntil = -Infinity;

  /** Nobody is woken while the server's queue of notifications is full. */
  constructor(notifyQueue: Pick<NotifyQueue, "isFull">) {
    this.#notifyQueue = notifyQueue;
  }

  /** Notes an answer. */
  note(queue: string, isSilent: boolean): void {
    this.#answers.set(queue, { isSilent, until: performance.now() + KNOWN_MS });
  }

  /** Whether nobody can or needs to be woken for a queue, without asking again. */
  has(queue: string): boolean {
    return this.isMute || (this.#answer(queue) === true && !this.distrusted);
  }

  /** Whether nobody can be woken at all. */
  get isMute(): boolean {
    return this.#notifyQueue.isFull;
  }

  /** Whether somebody must be woken for a queue, without asking again. One who need not be is woken in vain at worst. */
  hasNot(queue: string): boolean {
    return this.#answer(queue) === false;
  }

  /** Who gives jobs back, as a process does that stops, does not claim them again: its mark must not silence that. */
  distrust(): void {
    this.#distrustedUntil = performance.now() + DISTRUST_MS;
  }

  /** Whether queues are to be woken, whatever the marks say. */
  get distrusted(): boolean {
    return performance.now() < this.#distrustedUntil;
  }

  #answer(queue: string): boolean | undefined {
    const answer = this.#answers.get(queue);
    return answer !== undefined && performance.now() < answer.until ? answer.isSilent : undefined;
  }
}
