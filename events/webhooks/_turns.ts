/** What an endpoint has under way in this process. */
interface Line {
  underWay: number;
  readonly waiting: ((goes: boolean) => void)[];
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

/** Longer than this nobody waits in a slot of the queue: other endpoints have use for it. */
const WAIT_MS_MAX = 1000;
const LATER_MS_MIN = 250;
const LATER_MS_MAX = 60_000;
const TYPICAL_MS_FIRST = 10;
const LINES_MAX = 1000;
/** Whoever takes longer than this, in ms, is slow: the slow ones together have this share of the slots at most. */
const SLOW_MS = 1000;
const SLOW_SHARE = 0.5;

/**
 * Bounds how many deliveries to one endpoint are under way in this process, and how many to all of those that take their
 * time, so that the others find a slot. A few wait for their turn; the rest is sent away and comes back one after the
 * other as the endpoint takes them, so that a large backlog fills no queue.
 */
export class Turns {
  readonly #slots: () => number;
  #lines = new Map<string, Line>();
  /** Turns of slow endpoints that are under way, by their lines. */
  #slow = new Map<Line, number>();

  /** In a queue of so many slots. */
  constructor(slots: () => number) {
    this.#slots = slots;
  }

  /** Takes a turn of an endpoint that may have so many at once. */
  async take(endpointId: string, most: number): Promise<Turn> {
    const line = this.#line(endpointId);
    line.idleSince = performance.now();
    const isSlow = line.typicalMs > SLOW_MS;
    const atOnce = isSlow ? this.#slowShare(line, most) : most;
    if (line.underWay < atOnce && !(isSlow && this.#slowAreMany)) return this.#go(line);
    if (
      !isSlow && (line.waiting.length + 1) * line.typicalMs / most <= WAIT_MS_MAX &&
      line.waiting.length < 2 * most
    ) {
      if (await this.#wait(line)) return this.#going(line);
    }
    // Whoever comes back too early is sent away again, which costs little.
    const now = performance.now();
    line.nextTurnAt = Math.max(line.nextTurnAt, now + LATER_MS_MIN) + line.quickMs / atOnce;
    if (line.nextTurnAt > now + LATER_MS_MAX) line.nextTurnAt = now + LATER_MS_MAX;
    return { type: "later", inMs: line.nextTurnAt - now };
  }

  get #slowMax(): number {
    return Math.max(1, Math.floor(this.#slots() * SLOW_SHARE));
  }

  /** The slow ones leave each other a share, and one for whoever comes. */
  #slowShare(line: Line, most: number): number {
    const lines = this.#slow.size + (this.#slow.has(line) ? 0 : 1);
    return Math.min(most, Math.max(1, Math.floor(this.#slowMax / (lines + 1))));
  }

  get #slowAreMany(): boolean {
    let slow = 0;
    for (const count of this.#slow.values()) slow += count;
    return slow >= this.#slowMax;
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

  #go(line: Line): Turn {
    line.underWay++;
    return this.#going(line);
  }

  #going(line: Line): Turn {
    const isSlow = line.typicalMs > SLOW_MS;
    if (isSlow) this.#slow.set(line, (this.#slow.get(line) ?? 0) + 1);
    return {
      type: "go",
      leave: (tookMs) => {
        if (tookMs !== null) {
          line.typicalMs += (tookMs > line.typicalMs ? 0.5 : 0.2) * (tookMs - line.typicalMs);
          line.quickMs += (tookMs > line.quickMs ? 0.05 : 0.5) * (tookMs - line.quickMs);
        }
        if (isSlow) this.#leaveSlow(line);
        const next = line.waiting.shift();
        // The slot is handed on.
        if (next !== undefined) return next(true);
        line.underWay--;
        line.idleSince = performance.now();
      },
    };
  }

  #leaveSlow(line: Line): void {
    const left = this.#slow.get(line)! - 1;
    if (left === 0) this.#slow.delete(line);
    else this.#slow.set(line, left);
  }

  #line(endpointId: string): Line {
    let line = this.#lines.get(endpointId);
    if (line === undefined) {
      if (this.#lines.size >= LINES_MAX) this.#forgetIdle();
      line = {
        underWay: 0,
        waiting: [],
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
