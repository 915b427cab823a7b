import type { Completion } from "../../ports/store.ts";
import type { Work, WorkObserver } from "../work.ts";
import { isReport } from "../report_shape.ts";
import type { AbortCause } from "../outcome.ts";
import { type Command, COUNTER, type Report, SLOT, SLOTS_AT, type ThreadSetup } from "./protocol.ts";

/** One attempt that a thread has. */
export interface Held {
  /** Unique in the pool. */
  readonly key: number;
  /** The work. */
  readonly work: Work;
  /** Told of it. */
  readonly observer: WorkObserver;
  /** The slot in the thread's shared memory; -1 while it waits for a thread. */
  slot: number;
  /** When its handler was first seen started, in ms of `performance.now()`; 0 before. */
  startedAt: number;
  /** When its module was first seen loading; 0 before. */
  loadingAt: number;
  /** Why its signal was aborted. */
  aborted: AbortCause | null;
  /** When it is ended by force. */
  graceEndsAt: number;
  /** The number of the message that carried the abort. */
  abortMessage: number;
  /** Aborted when its calls must end; null while it has made none. */
  calls: AbortController | null;
}

/** What a thread is for: the pool, one queue while the pool's threads are blocked, or one job at a time. */
export type ThreadRole = { readonly type: "pool" } | { readonly type: "extra"; readonly queue: string } | {
  readonly type: "own";
};

/** Told of a thread. */
export interface ThreadObserver {
  /** It has something to tell. */
  reports(thread: Thread, reports: readonly Report[]): void;
  /** It died of an error. */
  died(thread: Thread, message: string): void;
}

/** How long a thread may stand still before it counts as blocked, in ms. */
export const BLOCKED_MS = 50;
const STARTING_BLOCKED_MS = 5000;

/** The main side of one worker thread. It keeps the slots, and knows what the thread has really started. */
export class Thread {
  /** What it is for. */
  readonly role: ThreadRole;
  /** The attempts in it, by key. */
  readonly held: Map<number, Held> = new Map();
  /** How many attempts it takes at once. */
  readonly capacity: number;
  /** Whether it answered once. */
  ready = false;
  /** Whether it takes no more attempts, and ends when it has none. */
  retiring = false;
  /** Whether it has ended, or is given up. */
  dead = false;
  /** Whether it stood still at the last look. */
  blocked = false;
  /** Since when it has had no attempt. */
  idleSince: number = performance.now();
  #worker: Worker;
  #shared: Int32Array;
  #freeSlots: number[] = [];
  #kinds = new Map<string, number>();
  #outbox: Command[] = [];
  #sent = 0;
  #progress = 0;
  #progressAt = performance.now();

  /** Starts the thread. */
  constructor(role: ThreadRole, capacity: number, completion: Completion | null, observer: ThreadObserver) {
    this.role = role;
    this.capacity = capacity;
    // Withdrawn slots come back only when the thread looks at them, so there are more slots than attempts.
    const slots = capacity * 2;
    const shared = new SharedArrayBuffer((SLOTS_AT + slots) * Int32Array.BYTES_PER_ELEMENT);
    this.#shared = new Int32Array(shared);
    for (let slot = slots - 1; slot >= 0; slot--) this.#freeSlots.push(slot);
    this.#worker = new Worker(new URL("./thread_main.ts", import.meta.url), { type: "module" });
    this.#worker.onmessage = (event: MessageEvent<Report[]>) => {
      if (Array.isArray(event.data) && event.data.every(isReport)) observer.reports(this, event.data);
      else observer.died(this, "it told what is no report");
    };
    this.#worker.onerror = (event) => {
      // Without it the error would end the whole process.
      event.preventDefault();
      observer.died(this, event.message);
    };
    this.#worker.onmessageerror = () => observer.died(this, "a message of it could not be read");
    this.#worker.postMessage({ shared, completion } satisfies ThreadSetup);
  }

  /** Whether a handler was ever called in it. */
  get everStarted(): boolean {
    return Atomics.load(this.#shared, COUNTER.everStarted) === 1;
  }

  /** Whether one more attempt fits. */
  get hasRoom(): boolean {
    return !this.retiring && !this.dead && this.held.size < this.capacity && this.#freeSlots.length > 0;
  }

  /** Gives it an attempt; it goes out with the next {@linkcode Thread.flush}. */
  give(held: Held): void {
    const { work } = held;
    const slot = this.#freeSlots.pop()!;
    held.slot = slot;
    this.held.set(held.key, held);
    Atomics.store(this.#shared, SLOTS_AT + slot, SLOT.queued);
    const kindKey = `${work.module}\n${work.kind}`;
    let kind = this.#kinds.get(kindKey);
    if (kind === undefined) {
      kind = this.#kinds.size;
      this.#kinds.set(kindKey, kind);
      this.#outbox.push(["kind", kind, work.kind, work.module]);
    }
    this.#outbox.push([
      "run",
      slot,
      held.key,
      kind,
      work.id,
      work.run,
      work.queue,
      work.attempt,
      work.maxAttempts,
      work.timeoutMs,
      work.args,
      work.plain,
    ]);
  }

  /** Adds a command to the next message. */
  tell(command: Command): void {
    this.#outbox.push(command);
  }

  /** Sends what has gathered as one message. Returns its number. */
  flush(): number {
    if (this.#outbox.length === 0) return this.#sent;
    if (this.#sent === this.#consumed()) this.#progressAt = performance.now();
    this.#worker.postMessage(this.#outbox);
    this.#outbox = [];
    return ++this.#sent;
  }

  /** Takes an attempt off its books: it has ended. */
  release(held: Held): void {
    if (this.#forget(held)) this.freeSlot(held.slot);
  }

  /** The slot may be used again. */
  freeSlot(slot: number): void {
    if (slot >= this.capacity * 2) return;
    Atomics.store(this.#shared, SLOTS_AT + slot, SLOT.free);
    this.#freeSlots.push(slot);
  }

  /** The state of an attempt's slot. */
  stateOf(held: Held): number {
    return Atomics.load(this.#shared, SLOTS_AT + held.slot);
  }

  /** Whether it has an attempt that waits for the thread's turn: {@linkcode Thread.withdraw} could take it back. */
  isWaiting(held: Held): boolean {
    const state = this.stateOf(held);
    return state === SLOT.queued || state === SLOT.loading && this.#inHandler;
  }

  /** Takes back an attempt that has not been started. False when it has. */
  withdraw(held: Held): boolean {
    const at = SLOTS_AT + held.slot;
    const state = this.#inHandler && this.stateOf(held) === SLOT.loading ? SLOT.loading : SLOT.queued;
    if (Atomics.compareExchange(this.#shared, at, state, SLOT.withdrawn) !== state) return false;
    return this.#forget(held);
  }

  /** Takes back an attempt that is not to run at all, also while its module is being loaded. False when it has started. */
  cancel(held: Held): boolean {
    if (this.withdraw(held)) return true;
    const at = SLOTS_AT + held.slot;
    if (Atomics.compareExchange(this.#shared, at, SLOT.loading, SLOT.withdrawn) !== SLOT.loading) {
      // The module may have come in between.
      return this.withdraw(held);
    }
    return this.#forget(held);
  }

  /** Whether the message of this number was taken. */
  hasConsumed(message: number): boolean {
    return this.#consumed() >= message;
  }

  /** The attempt whose handler's first, synchronous part runs now. */
  current(): Held | undefined {
    const slot = Atomics.load(this.#shared, COUNTER.current) - 1;
    if (slot < 0) return undefined;
    for (const held of this.held.values()) if (held.slot === slot) return held;
    return undefined;
  }

  /** Looks whether it stands still although there is something for it to do. */
  look(now: number): void {
    const progress = Atomics.load(this.#shared, COUNTER.progress);
    if (progress !== this.#progress) {
      this.#progress = progress;
      this.#progressAt = now;
      this.blocked = false;
    } else if (this.#consumed() === this.#sent && !this.#hasWaiting()) {
      // With nothing left that it could do, standing still proves nothing new; what was found stays.
      this.#progressAt = now;
    } else if (now - this.#progressAt > (this.ready ? BLOCKED_MS : STARTING_BLOCKED_MS)) {
      this.blocked = true;
    }
  }

  /** Ends it. Code that is in a synchronous loop goes on for as long as the process lives. */
  terminate(): void {
    this.dead = true;
    this.#worker.onmessage = null;
    this.#worker.terminate();
  }

  /** False when it was not here. */
  #forget(held: Held): boolean {
    if (!this.held.delete(held.key)) return false;
    if (this.held.size === 0) this.idleSince = performance.now();
    return true;
  }

  #consumed(): number {
    return Atomics.load(this.#shared, COUNTER.consumed);
  }

  // A module that is loading waits for its turn while a handler computes. Otherwise it may be the module itself that
  // does, and would block the next thread as well.
  get #inHandler(): boolean {
    return Atomics.load(this.#shared, COUNTER.current) !== 0;
  }

  #hasWaiting(): boolean {
    for (const held of this.held.values()) if (this.isWaiting(held)) return true;
    return false;
  }
}
