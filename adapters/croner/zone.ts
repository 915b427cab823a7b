import { InvalidOptionError } from "../../ports/errors.ts";

/** A moment at which the clocks of a zone change. Times are ms, offsets are local time less UTC. */
export interface ClockChange {
  /** When. */
  readonly atMs: number;
  /** The offset before it. */
  readonly beforeMs: number;
  /** The offset from it on. */
  readonly afterMs: number;
}

const EXPECTED = 'an IANA time zone, such as "Europe/Vienna" or "UTC"';
const SECOND_MS = 1000;
const DAY_MS = 24 * 60 * 60 * SECOND_MS;

/** Changes are looked for in stretches of so many ms, and so many stretches of a zone are remembered. */
const STRETCH_MS = 128 * DAY_MS;
const STRETCHES_MAX = 256;

const zones = new Map<string, Zone>();
const ZONES_MAX = 500;

/** The clocks of one time zone, as the platform knows them. */
export class Zone {
  readonly #format: Intl.DateTimeFormat;
  readonly #stretches = new Map<number, readonly ClockChange[]>();

  private constructor(name: string) {
    this.#format = new Intl.DateTimeFormat("en-US", {
      timeZone: name,
      hourCycle: "h23",
      era: "short",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  }

  /**
   * The zone of a name. An empty one, which some take for the host's zone, is none.
   *
   * @throws {InvalidOptionError} there is none.
   */
  static of(name: string): Zone {
    let zone = zones.get(name);
    if (zone !== undefined) return zone;
    try {
      if (typeof name !== "string" || !/^[A-Za-z]/.test(name)) throw new RangeError("no name");
      zone = new Zone(name);
    } catch {
      throw new InvalidOptionError("timezone", name, EXPECTED);
    }
    if (zones.size >= ZONES_MAX) zones.clear();
    zones.set(name, zone);
    return zone;
  }

  /** Local time less UTC at an instant, in ms. */
  offsetAt(ms: number): number {
    const second = Math.floor(ms / SECOND_MS) * SECOND_MS;
    const shown = this.#format.format(second);
    const [month, day, year, hour, minute, secondOf] = shown.match(/\d+/g)!.map(Number);
    const local = new Date(0);
    local.setUTCFullYear(shown.includes("B") ? 1 - year! : year!, month! - 1, day);
    local.setUTCHours(hour!, minute, secondOf);
    return local.getTime() - second;
  }

  /** The changes after one instant and not after another, in order. */
  *changes(afterMs: number, untilMs: number): Generator<ClockChange> {
    for (
      let stretch = Math.floor(afterMs / STRETCH_MS);
      stretch <= Math.floor(untilMs / STRETCH_MS);
      stretch++
    ) {
      for (const change of this.#changesIn(stretch)) {
        if (change.atMs > untilMs) return;
        if (change.atMs > afterMs) yield change;
      }
    }
  }

  #changesIn(stretch: number): readonly ClockChange[] {
    const known = this.#stretches.get(stretch);
    if (known !== undefined) return known;
    const found: ClockChange[] = [];
    let fromMs = stretch * STRETCH_MS;
    let beforeMs = this.offsetAt(fromMs);
    const endMs = fromMs + STRETCH_MS;
    for (; fromMs < endMs; fromMs += DAY_MS) {
      const afterMs = this.offsetAt(fromMs + DAY_MS);
      if (afterMs === beforeMs) continue;
      found.push({ atMs: this.#changeIn(fromMs, fromMs + DAY_MS, beforeMs), beforeMs, afterMs });
      beforeMs = afterMs;
    }
    if (this.#stretches.size >= STRETCHES_MAX) this.#stretches.clear();
    this.#stretches.set(stretch, found);
    return found;
  }

  /** The first second of the new offset, between an instant that has the old one and a later one that has not. */
  #changeIn(fromMs: number, toMs: number, beforeMs: number): number {
    let [last, first] = [fromMs, toMs];
    while (first - last > SECOND_MS) {
      const middle = Math.floor((last + first) / 2 / SECOND_MS) * SECOND_MS;
      if (this.offsetAt(middle) === beforeMs) last = middle;
      else first = middle;
    }
    return first;
  }
}
