import type { Held } from "./thread.ts";

/** Attempts that wait for a thread, by queue. The queues take turns, so that a long line holds up no other queue. */
export class WaitingLine {
  #queues = new Map<string, Held[]>();
  #size = 0;

  /** How many wait. */
  get size(): number {
    return this.#size;
  }

  /** Adds one at the end of its queue. */
  push(held: Held): void {
    const line = this.#queues.get(held.work.queue);
    if (line === undefined) this.#queues.set(held.work.queue, [held]);
    else line.push(held);
    this.#size++;
  }

  /** Offers the queues' first attempts in turns; `take` says whether it took one. Ends when no queue's is taken. */
  drain(take: (held: Held) => boolean): void {
    const open = [...this.#queues.entries()].map(([queue, line]) => ({ queue, line, at: 0, stuck: false }));
    let left = open;
    while (left.length > 0) {
      for (const turn of left) {
        const held = turn.line[turn.at];
        if (held === undefined || !take(held)) turn.stuck = true;
        else turn.at++;
      }
      left = left.filter((turn) => !turn.stuck);
    }
    for (const { queue, line, at } of open) {
      this.#size -= at;
      if (at === line.length) this.#queues.delete(queue);
      else if (at > 0) line.splice(0, at);
    }
  }

  /** Takes out one attempt. False when it does not wait here. */
  remove(held: Held): boolean {
    const line = this.#queues.get(held.work.queue);
    const at = line?.indexOf(held) ?? -1;
    if (line === undefined || at < 0) return false;
    line.splice(at, 1);
    if (line.length === 0) this.#queues.delete(held.work.queue);
    this.#size--;
    return true;
  }

  /** Takes out all. */
  clear(): void {
    this.#queues.clear();
    this.#size = 0;
  }
}
