import type { Work } from "../work.ts";
import type { Thread, ThreadRole } from "./thread.ts";

/** How many threads one queue gets while all of the pool's are blocked. */
export const EXTRA_PER_QUEUE_MAX = 2;

/** Where work is to run. */
export interface Placement {
  /** A thread to start for it; null when `best` will do, or nothing can be had now. */
  readonly start: ThreadRole | null;
  /** The best thread there is. */
  readonly best: Thread | undefined;
}

/**
 * Finds the least loaded thread that moves, or says which one to start. While every thread that the work could use is
 * blocked, or full of other queues' work, its queue gets up to two threads of its own.
 */
export function placeWork(work: Work, threads: Iterable<Thread>, poolSize: number): Placement {
  if (work.ownThread) {
    for (const thread of threads) {
      if (thread.role.type === "own" && thread.hasRoom) return { start: null, best: thread };
    }
    return { start: { type: "own" }, best: undefined };
  }
  let best: Thread | undefined;
  let inPool = 0;
  let extras = 0;
  let willGoOn = false;
  for (const thread of threads) {
    const { role } = thread;
    if (role.type === "own" || role.type === "extra" && role.queue !== work.queue) continue;
    if (role.type === "extra") extras++;
    else if (!thread.retiring) inPool++;
    if (thread.blocked || thread.retiring) continue;
    willGoOn ||= thread.hasRoom || runsQueue(thread, work.queue);
    if (thread.hasRoom && (best === undefined || thread.held.size < best.held.size)) best = thread;
  }
  if (best !== undefined && best.held.size === 0) return { start: null, best };
  if (inPool < poolSize) return { start: { type: "pool" }, best };
  if (willGoOn || extras >= EXTRA_PER_QUEUE_MAX) return { start: null, best };
  return { start: { type: "extra", queue: work.queue }, best };
}

// A full thread that has work of the queue lets that queue go on as it ends; it needs no thread more.
function runsQueue(thread: Thread, queue: string): boolean {
  for (const held of thread.held.values()) if (held.work.queue === queue) return true;
  return false;
}
