/** What waits in line: its key rises with the order in which it came. */
export interface Waiting {
  /** Unique, and higher than that of whoever came before. */
  readonly key: number;
}

/** Attempts that wait for a host process, in the order in which they came. */
export class TaskLine<Task extends Waiting> {
  #tasks: Task[] = [];

  /** How many wait. */
  get size(): number {
    return this.#tasks.length;
  }

  /** Those that wait, in order. */
  [Symbol.iterator](): IterableIterator<Task> {
    return this.#tasks.values();
  }

  /** Puts one in line where it came: one that was tried in vain keeps its turn. */
  add(task: Task): void {
    const before = this.#tasks.findLastIndex(({ key }) => key < task.key);
    this.#tasks.splice(before + 1, 0, task);
  }

  /** Takes out, in order, those that `wants` says yes to. */
  take(wants: (task: Task) => boolean): Task[] {
    const taken: Task[] = [];
    this.#tasks = this.#tasks.filter((task) => {
      if (!wants(task)) return true;
      taken.push(task);
      return false;
    });
    return taken;
  }

  /** Takes out all. */
  clear(): void {
    this.#tasks = [];
  }
}
