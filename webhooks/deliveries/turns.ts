/** What an endpoint has under way in this process. */
interface Line {
  underWay: number;
  readonly waiting: ((goes: boolean) => void)[];
  /** Whether it has ever answered here, well or not, so that the times below are its own. */
  isKnown: boolean;
  /** How long a delivery takes, in ms, the last ones counting most, and long ones more: it tells who is slow. */
  typicalMs: number;
  /** The same, quick ones counting more: who is sent away by it comes back too early rather than to an idle endpoint. */
  quickMs: number;
  /** When the next one that is sent away may come back. */
  nextTurnAt: number;
  /** Since when nobody has been here. */
  idleSince: number;
}

/** A slot was taken, or there is none within so many ms. */
export type Turn =
  | {
    readonly type: "go";
    /** Gives it back, and tells how long a delivery took in it, in ms; null when none was made. */
    readonly leave: (tookMs: number | null) => void;
  }
  | { readonly type: "later"; readonly inMs: number };

/** What is under way. */
interface Going {
  readonly line: Line;
  readonly at: number;
  /** Whether the endpoint was known to be slow when it began. */
  readonly wasSlow: boolean;
}

/** Longer than this nobody waits in a slot of the queue: other endpoints have use for it. */
const WAIT_MS_MAX = 1000;
const LATER_MS_MIN = 250;
/** Of an endpoint that has not answered yet; it may never. */
const UNKNOWN_LATER_MS = 500;
const LATER_MS_MAX = 60_000;
const TYPICAL_MS_FIRST = 10;
const LINES_MAX = 1000;
/** What takes longer than this, in ms, is slow from that moment on. */
const SLOW_MS = 1000;
/** An endpoint that nobody has met yet has so many under way, until its first answer. */
const UNKNOWN_AT_ONCE = 2;
/** So much of the queue's slots is left to endpoints that are known to be quick, however many others there are. */
const QUICK_SHARE = 0.5;

/**
 * Bounds how many deliveries to one endpoint are under way in this process, and how many to all of those that take their
 * time, so that the others find a slot. A few wait for their turn; the rest is sent away and comes back one after the
 * other as the endpoint takes them, so that a large backlog fills no queue.
 *
 * Slow deliveries go on beside the queue's slots, so there are as many of them as have room there. A delivery counts as slow
 * as soon as it has taken long, and not only when it has ended.
 */
export class Turns {
  readonly #slots: () => number;
  readonly #slowMax: number;
  #lines = new Map<string, Line>();
  /** What is under way, the oldest first. */
  readonly #going = new Set<Going>();
  /** How many of these were given to endpoints that were known to be slow. */
  #wereSlow = 0;

  /** In a queue of so many slots, with room for so many beside it. */
  constructor(slots: () => number, beside: number) {
    this.#slots = slots;
    this.#slowMax = beside;
  }

  /** Takes a turn of an endpoint that may have so many at once. */
  async take(endpointId: string, most: number): Promise<Turn> {
    const line = this.#line(endpointId);
    const now = performance.now();
    line.idleSince = now;
    const slow = this.#slowNow(now);
    const isSlow = line.typicalMs > SLOW_MS || slow.lines.has(line);
    const atOnce = this.#atOnce(line, most, isSlow, slow.lines.size);
    if (line.underWay < atOnce && this.#hasRoom(line, isSlow, slow.count, now)) {
      return this.#go(line, isSlow);
    }
    if (
      !isSlow && line.underWay >= atOnce &&
      line.waiting.length < (line.isKnown ? 2 * most : UNKNOWN_AT_ONCE) &&
      (line.waiting.length + 1) * line.typicalMs / atOnce <= WAIT_MS_MAX
    ) {
      if (await this.#wait(line)) return this.#went(line, false);
    }
    // Whoever comes back too early is sent away again, which costs little.
    const laterMs = isSlow ? SLOW_MS : line.isKnown ? LATER_MS_MIN : UNKNOWN_LATER_MS;
    const earliest = performance.now() + laterMs;
    line.nextTurnAt = Math.max(line.nextTurnAt, earliest) + line.quickMs / atOnce;
    const latest = performance.now() + LATER_MS_MAX;
    if (line.nextTurnAt > latest) line.nextTurnAt = latest;
    return { type: "later", inMs: line.nextTurnAt - performance.now() };
  }

  /** What is slow by now: how many, and of which endpoints. */
  #slowNow(now: number): { readonly count: number; readonly lines: ReadonlySet<Line> } {
    const lines = new Set<Line>();
    let count = this.#wereSlow;
    for (const { line, at, wasSlow } of this.#going) {
      const isLong = now - at > SLOW_MS;
      if (!isLong && this.#wereSlow === 0) break;
      if (isLong && !wasSlow) count++;
      if (isLong || wasSlow) lines.add(line);
    }
    return { count, lines };
  }

  /** The slow ones leave each other a share, and one for whoever comes. */
  #atOnce(line: Line, most: number, isSlow: boolean, slowLines: number): number {
    if (isSlow) return Math.min(most, Math.max(1, Math.floor(this.#slowMax / (slowLines + 1))));
    return line.isKnown ? most : Math.min(most, UNKNOWN_AT_ONCE);
  }

  #hasRoom({ isKnown }: Line, isSlow: boolean, slow: number, now: number): boolean {
    if (isSlow) return slow < this.#slowMax;
    if (isKnown) return true;
    // Whoever is not known yet may turn out to be slow, and finds no room beside the queue then.
    let unknown = slow;
    for (const { line, at } of this.#going) if (!line.isKnown && now - at <= SLOW_MS) unknown++;
    return unknown < this.#slowMax + Math.max(1, Math.floor(this.#slots() * QUICK_SHARE));
  }

  #wait(line: Line): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        line.waiting.splice(line.waiting.indexOf(tell), 1);
        resolve(false);
      }, WAIT_MS_MAX);
      const tell = (goes: boolean): void => {
        clearTimeout(timer);
        resolve(goes);
      };
      line.waiting.push(tell);
    });
  }

  #go(line: Line, isSlow: boolean): Turn {
    line.underWay++;
    return this.#went(line, isSlow);
  }

  #went(line: Line, wasSlow: boolean): Turn {
    const going: Going = { line, at: performance.now(), wasSlow };
    this.#going.add(going);
    if (wasSlow) this.#wereSlow++;
    return {
      type: "go",
      leave: (tookMs) => {
        this.#going.delete(going);
        if (wasSlow) this.#wereSlow--;
        if (tookMs !== null) {
          line.isKnown = true;
          line.typicalMs += (tookMs > line.typicalMs ? 0.5 : 0.2) * (tookMs - line.typicalMs);
          line.quickMs += (tookMs > line.quickMs ? 0.05 : 0.5) * (tookMs - line.quickMs);
        }
        const next = line.waiting.shift();
        // The slot is handed on.
        if (next !== undefined) return next(true);
        line.underWay--;
        line.idleSince = performance.now();
      },
    };
  }

  #line(endpointId: string): Line {
    let line = this.#lines.get(endpointId);
    if (line === undefined) {
      if (this.#lines.size >= LINES_MAX) this.#forgetIdle();
      line = {
        underWay: 0,
        waiting: [],
        isKnown: false,
        typicalMs: TYPICAL_MS_FIRST,
        quickMs: TYPICAL_MS_FIRST,
        nextTurnAt: 0,
        idleSince: performance.now(),
      };
      this.#lines.set(endpointId, line);
    }
    return line;
  }

  #forgetIdle(): void {
    const oldest = performance.now() - LATER_MS_MAX;
    for (const [id, line] of this.#lines) {
      if (line.underWay === 0 && line.idleSince < oldest) this.#lines.delete(id);
    }
  }
}
