import type { JobRow } from "./job_row.ts";

/** The jobs of one queue that wait, in the order in which they are claimed. */
export class WaitingLine {
  // One list per priority, by due time, then id: what is due is then always a list's beginning.
  readonly #lists = new Map<number, JobRow[]>();

  add(row: JobRow): void {
    const list = this.#lists.get(row.priority) ?? [];
    this.#lists.set(row.priority, list);
    list.splice(position(list, row.scheduledAtMs, row.seq), 0, row);
  }

  remove(row: JobRow): void {
    const list = this.#lists.get(row.priority) ?? [];
    const index = position(list, row.scheduledAtMs, row.seq);
    if (list[index]?.id === row.id) list.splice(index, 1);
  }

  /** The first `limit` due jobs that are free to take, first priority first, oldest first. */
  due(nowMs: number, limit: number, isFree: (row: JobRow) => boolean): JobRow[] {
    const taken: JobRow[] = [];
    for (const [, list] of this.#byPriority()) {
      for (const row of list) {
        if (taken.length >= limit || row.scheduledAtMs > nowMs) break;
        if (isFree(row)) taken.push(row);
      }
    }
    return taken;
  }

  /** When the next job falls due that is not due yet; null when there is none. */
  nextDueMs(nowMs: number): number | null {
    let next: number | null = null;
    for (const list of this.#lists.values()) {
      const row = list[position(list, nowMs, Infinity)];
      if (row !== undefined && (next === null || row.scheduledAtMs < next)) next = row.scheduledAtMs;
    }
    return next;
  }

  /** The oldest due job of each priority, of those that count. */
  oldest(nowMs: number, counts: (row: JobRow) => boolean): { priority: number; sinceMs: number }[] {
    const found: { priority: number; sinceMs: number }[] = [];
    for (const [priority, list] of this.#byPriority()) {
      const row = list.find(counts);
      if (row !== undefined && row.scheduledAtMs <= nowMs) {
        found.push({ priority, sinceMs: row.scheduledAtMs });
      }
    }
    return found;
  }

  #byPriority(): [number, JobRow[]][] {
    return [...this.#lists].sort(([one], [other]) => one - other);
  }
}

/** The index of the first row that is not before (dueMs, seq). */
function position(list: readonly JobRow[], dueMs: number, seq: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const row = list[middle]!;
    const before = row.scheduledAtMs < dueMs || (row.scheduledAtMs === dueMs && row.seq < seq);
    if (before) low = middle + 1;
    else high = middle;
  }
  return low;
}
