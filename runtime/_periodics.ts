import {
  type Composition,
  MAINTENANCE_QUEUE,
  type NewJob,
  type Periodic,
  PERIODIC_PREFIX,
  type PeriodicRow,
  type PeriodicStatus,
  type Schedule,
  type Store,
} from "../ports/mod.ts";
import { dueTick, nextDueAt } from "./_ticks.ts";

/** Enqueues the periodics that are due, and tells of them. */
export class Periodics {
  readonly #store: Store;
  readonly #schedule: Schedule;
  readonly #periodics: Composition["periodics"];

  constructor(store: Store, schedule: Schedule, periodics: Composition["periodics"]) {
    this.#store = store;
    this.#schedule = schedule;
    this.#periodics = periodics;
  }

  /** Takes every tick that is due. Resolves to how many were taken, and in how many ms the next falls due. */
  async takeDue(): Promise<{ taken: number; nextMs: number | null }> {
    let taken = 0;
    let nextMs: number | null = null;
    for (const [periodic, row] of await this.#rows()) {
      const tickMs = row.currentJobId === null ? dueTick(periodic, this.#schedule, row) : null;
      if (tickMs !== null) {
        const request = {
          periodic: periodic.name,
          expectedMs: row.lastTickMs,
          tickMs,
          job: periodicJob(periodic),
        };
        if (await this.#store.takeTick(request) !== null) taken++;
      }
      const dueAt = nextDueAt(
        periodic,
        this.#schedule,
        tickMs === null ? row : { ...row, lastTickMs: tickMs },
      );
      if (dueAt !== null && dueAt > row.nowMs) nextMs = Math.min(nextMs ?? Infinity, dueAt - row.nowMs);
    }
    return { taken, nextMs };
  }

  /** What is known of each. */
  async status(): Promise<PeriodicStatus[]> {
    const rows = await this.#rows();
    return rows.map(([periodic, row]) => {
      const nextAt = nextDueAt(periodic, this.#schedule, row);
      return {
        name: periodic.name,
        schedule: "every" in periodic
          ? `every ${periodic.every} ms`
          : `${periodic.cron} ${periodic.timezone}`,
        nextRunAt: iso(nextAt),
        lastTickAt: iso(row.lastTickMs),
        currentJobId: row.currentJobId,
        lastRun: row.runs[0] ?? null,
        runs: row.runs,
      };
    });
  }

  async #rows(): Promise<[Periodic, PeriodicRow][]> {
    if (this.#periodics.size === 0) return [];
    const names = [...this.#periodics.keys()].sort();
    const rows = new Map((await this.#store.periodics(names)).map((row) => [row.name, row]));
    return names.map((name) => [this.#periodics.get(name)!, rows.get(name)!]);
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

function iso(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
