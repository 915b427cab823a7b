import type { Claimed } from "../ports/store.ts";
import { MeanDuration } from "./_mean_duration.ts";

/** How many suspects that are modules run at once in a process, each alone in a host process. */
const MODULES_MAX = 4;
/** One at first, and one more for each so many ms that some wait: to start host processes for few would disturb others. */
const WIDEN_MS = 1000;
/** Which part of a queue's width its suspects may take. */
const WIDTH_SHARE = 0.1;
/** The line of a queue is as long as what starts within so many ms, within these bounds. */
const LINE_MS = 1000;
const LINE_MIN = 16;
const LINE_MAX = 200;
/** When one that found the line full is due again: in as long as the line takes, in ms, within these bounds. */
const PAUSE_MS_MIN = 500;
const PAUSE_MS_MAX = 10_000;
/** Until one has ended it is taken to last so long, in ms. */
const DURATION_MS_FIRST = 100;
/** A line in which nothing has moved for so long goes back, in ms: other processes may have room. */
const HOLD_MS = 2000;

/** A job that was running when a process died. */
export interface Suspect {
  /** The job. */
  readonly job: Claimed;
  /** Whether its handler is a function: it can have no host process. */
  readonly isFunction: boolean;
}

/** Whose suspects stand in line: a queue. */
export interface SuspectsOwner {
  /** Whether one of its suspects may begin now. */
  mayBeginSuspect(): boolean;
  /** Begins one. Tells {@linkcode SuspectLine.ended} when its end is written, or it came to nothing. */
  beginSuspect(suspect: Suspect): void;
}

/**
 * Suspects of all queues of a process: jobs that were running when a process died. One of them did it, perhaps, and must
 * not take others down again and again until they are out of attempts. They stand beside their queues and hold no slot
 * until they begin.
 *
 *     claimed, alone --> line of its queue --> begun, 1 to 4 modules or 1 function --> ended
 *                   \--- line is full --> back in line of the queue, due when there should be room
 *
 * A module runs alone in a host process. A function can't, so no other suspect runs beside it in this process: whom it
 * takes down with it was never taken down by it before.
 */
export class Suspects {
  readonly #lines: SuspectLine[] = [];
  #modules = 0;
  #functions = 0;
  #busySince = -Infinity;
  /** The time in ms. */
  readonly now: () => number;

  /** Has no lines yet. */
  constructor(now: () => number = () => performance.now()) {
    this.now = now;
  }

  /** Makes the line of one queue. */
  line(owner: SuspectsOwner, concurrency: number): SuspectLine {
    const width = Math.min(Math.max(1, Math.floor(concurrency * WIDTH_SHARE)), MODULES_MAX);
    const line = new SuspectLine(this, owner, width);
    this.#lines.push(line);
    return line;
  }

  /** Begins what may begin, one of each queue in turn. Nobody overtakes one that waits for others to end. */
  look(): void {
    for (;;) {
      const index = this.#lines.findIndex((line) => line.isReady);
      const line = this.#lines[index];
      if (line === undefined || !line.isDue) return;
      this.#lines.push(...this.#lines.splice(index, 1));
      line.beginNext();
    }
  }

  /** Whether one may begin beside those that run. */
  hasRoom(isFunction: boolean): boolean {
    if (isFunction) return this.#modules + this.#functions === 0;
    const width = 1 + Math.floor((this.now() - this.#busySince) / WIDEN_MS);
    return this.#functions === 0 && this.#modules < Math.min(width, MODULES_MAX);
  }

  /** One comes to a line. */
  noteAdded(): void {
    const isIdle = this.#modules + this.#functions === 0 && this.#lines.every(({ waiting }) => waiting === 0);
    if (isIdle) this.#busySince = this.now();
  }

  /** One has begun, or ended. */
  count(isFunction: boolean, by: 1 | -1): void {
    if (isFunction) this.#functions += by;
    else this.#modules += by;
  }
}

/** The suspects of one queue. */
export class SuspectLine {
  readonly #all: Suspects;
  readonly #owner: SuspectsOwner;
  readonly #width: number;
  readonly #duration = new MeanDuration();
  #waiting: Suspect[] = [];
  #begun = 0;
  #movedAt = -Infinity;

  /** Use {@linkcode Suspects.line}. */
  constructor(all: Suspects, owner: SuspectsOwner, width: number) {
    this.#all = all;
    this.#owner = owner;
    this.#width = width;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Whether one would begin if its queue had a free slot. */
  get isDue(): boolean {
    const next = this.#waiting[0];
    return next !== undefined && this.#begun < this.#width && this.#all.hasRoom(next.isFunction);
  }

  /** Whether one would begin if there was room beside the suspects that run. */
  get isReady(): boolean {
    return this.#waiting.length > 0 && this.#begun < this.#width && this.#owner.mayBeginSuspect();
  }

  /** Puts one in line; not when the line is full. */
  add(suspect: Suspect): boolean {
    if (this.#waiting.length >= this.#length) return false;
    if (this.#waiting.length === 0 && this.#begun === 0) this.#movedAt = this.#all.now();
    this.#all.noteAdded();
    this.#waiting.push(suspect);
    return true;
  }

  /** Whether it stands still. */
  get isStuck(): boolean {
    return this.#waiting.length > 0 && this.#all.now() - this.#movedAt >= HOLD_MS;
  }

  /** In how many ms there should be room in the line. */
  get pauseMs(): number {
    const ms = this.#waiting.length * this.#durationMs / this.#width;
    return Math.min(Math.max(ms, PAUSE_MS_MIN), PAUSE_MS_MAX);
  }

  /** The jobs that wait. */
  ids(): string[] {
    return this.#waiting.map(({ job }) => job.id);
  }

  /** Takes out those that wait: all, or one job. */
  take(id?: string): Claimed[] {
    const taken = this.#waiting.filter(({ job }) => id === undefined || job.id === id);
    this.#waiting = this.#waiting.filter((one) => !taken.includes(one));
    return taken.map(({ job }) => job);
  }

  /** Begins the first that waits. */
  beginNext(): void {
    const next = this.#waiting.shift()!;
    this.#movedAt = this.#all.now();
    this.#begun++;
    this.#all.count(next.isFunction, 1);
    this.#owner.beginSuspect(next);
  }

  /** One has ended after so many ms; null when it came to nothing. */
  ended(suspect: Suspect, ms: number | null): void {
    this.#begun--;
    this.#all.count(suspect.isFunction, -1);
    if (ms !== null) this.#duration.note(ms);
    this.#all.look();
  }

  get #length(): number {
    return Math.min(Math.max(Math.floor(LINE_MS * this.#width / this.#durationMs), LINE_MIN), LINE_MAX);
  }

  /** Those that run now may take longer than any before. */
  get #durationMs(): number {
    const ms = Number.isFinite(this.#duration.ms) ? this.#duration.ms : DURATION_MS_FIRST;
    return this.#begun === 0 ? ms : Math.max(ms, this.#all.now() - this.#movedAt);
  }
}
