import {
  type Composition,
  errorText,
  type Log,
  MAINTENANCE_QUEUE,
  type NewJob,
  type Periodic,
  PERIODIC_PREFIX,
  type PeriodicRow,
  type PeriodicStatus,
  type Schedule,
  type Store,
} from "../ports/mod.ts";
import { isOutage } from "./_outage.ts";
import { correctedTick, dueTick, nextDueAt } from "./_ticks.ts";

/** What {@linkcode Periodics} needs. */
export interface PeriodicsOptions {
  /** Where they are. */
  readonly store: Store;
  /** Knows cron expressions. */
  readonly schedule: Schedule;
  /** Those that are declared. */
  readonly periodics: Composition["periodics"];
  /** For people. */
  readonly log: Log;
}

/** What a look at the periodics brought. */
export interface Ticks {
  /** How many ticks were taken. */
  readonly taken: number;
  /** In how many ms the next falls due; null when none does. */
  readonly nextMs: number | null;
  /** What went wrong with some of them; null when all went well. */
  readonly fault: Error | null;
}

/** Enqueues the periodics that are due, each for itself, and tells of them. */
export class Periodics {
  readonly #options: PeriodicsOptions;

  constructor(options: PeriodicsOptions) {
    this.#options = options;
  }

  /**
   * Takes every tick that is due. One that fails holds up no other.
   *
   * @throws the store can't be reached: then none of them is to blame.
   */
  async takeDue(): Promise<Ticks> {
    let taken = 0;
    let nextMs: number | null = null;
    const faults: string[] = [];
    for (const [periodic, row] of await this.#rows(false)) {
      try {
        const tick = await this.#takeOne(periodic, row);
        if (tick.isTaken) taken++;
        if (tick.dueAt !== null && tick.dueAt > row.nowMs) {
          nextMs = Math.min(nextMs ?? Infinity, tick.dueAt - row.nowMs);
        }
      } catch (error) {
        if (isOutage(error)) throw error;
        faults.push(`${periodic.name}: ${errorText(error)}`);
      }
    }
    return { taken, nextMs, fault: faults.length === 0 ? null : new Error(faults.join("; ")) };
  }

  /** What is known of each. */
  async status(): Promise<PeriodicStatus[]> {
    return (await this.#rows(true)).map(([periodic, row]) => ({
      name: periodic.name,
      schedule: "every" in periodic ? `every ${periodic.every} ms` : `${periodic.cron} ${periodic.timezone}`,
      nextRunAt: iso(nextDueAt(periodic, this.#options.schedule, this.#corrected(periodic, row))),
      lastTickAt: iso(row.lastTickMs),
      currentJobId: row.currentJobId,
      lastRun: row.runs[0] ?? null,
      runs: row.runs,
    }));
  }

  async #takeOne(
    periodic: Periodic,
    stored: PeriodicRow,
  ): Promise<{ isTaken: boolean; dueAt: number | null }> {
    const { store, schedule, log } = this.#options;
    const row = this.#corrected(periodic, stored);
    if (row.lastTickMs !== stored.lastTickMs) {
      log.warn("the last tick of a periodic is none that can have been, counting from now", {
        periodic: periodic.name,
        lastTick: iso(stored.lastTickMs) ?? String(stored.lastTickMs),
      });
      await store.resetTick(periodic.name, stored.lastTickMs, row.lastTickMs!);
    }
    const tickMs = row.currentJobId === null ? dueTick(periodic, schedule, row) : null;
    if (tickMs === null) return { isTaken: false, dueAt: nextDueAt(periodic, schedule, row) };
    const request = {
      periodic: periodic.name,
      expectedMs: row.lastTickMs,
      tickMs,
      job: periodicJob(periodic),
    };
    const isTaken = await store.takeTick(request) !== null;
    return { isTaken, dueAt: nextDueAt(periodic, schedule, { ...row, lastTickMs: tickMs }) };
  }

  #corrected(periodic: Periodic, row: PeriodicRow): PeriodicRow {
    const tickMs = correctedTick(periodic, this.#options.schedule, row);
    return tickMs === null ? row : { ...row, lastTickMs: tickMs };
  }

  async #rows(runs: boolean): Promise<[Periodic, PeriodicRow][]> {
    const { store, periodics } = this.#options;
    if (periodics.size === 0) return [];
    const names = [...periodics.keys()].sort();
    const rows = new Map((await store.periodics(names, { runs })).map((row) => [row.name, row]));
    return names.flatMap((name) => {
      const row = rows.get(name);
      // Somebody who deletes rows by hand deletes this one between two statements: the next look makes it again.
      return row === undefined ? [] : [[periodics.get(name)!, row]];
    });
  }
}

/** One run of a periodic as a job. */
export function periodicJob(periodic: Periodic): NewJob {
  return {
    kind: PERIODIC_PREFIX + periodic.name,
    queue: MAINTENANCE_QUEUE,
    args: "null",
    priority: 2,
    maxAttempts: 1,
    runAt: null,
    unique: false,
  };
}

/** Null for what is no instant. */
function iso(ms: number | null): string | null {
  return ms === null || !(Math.abs(ms) <= 8.64e15) ? null : new Date(ms).toISOString();
}
