import { TransactionConflictError, UndeclaredPeriodicError } from "../ports/errors.ts";
import type { PeriodicStatus } from "../ports/inspector.ts";
import type { JobId } from "../ports/job.ts";
import type { Schedule } from "../ports/schedule.ts";
import type { DeclaredPeriodic, PeriodicRow, PeriodicSchedule, Store } from "../ports/store.ts";
import { isInstant, nextTick } from "./_ticks.ts";

/** What {@linkcode Periodics} needs. */
export interface PeriodicsOptions {
  /** Where they are. */
  readonly store: Store;
  /** Knows cron expressions. */
  readonly schedule: Schedule;
  /** Those that this process declares, by name. */
  readonly declared: ReadonlyMap<string, DeclaredPeriodic>;
}

const TRIES = 5;

/** Tells of the periodics that a process declares, and does with them what a person asks for. */
export class Periodics {
  readonly #options: PeriodicsOptions;

  constructor(options: PeriodicsOptions) {
    this.#options = options;
  }

  /** What is known of each, by name. */
  async status(): Promise<PeriodicStatus[]> {
    const { store, declared } = this.#options;
    if (declared.size === 0) return [];
    const names = [...declared.keys()].sort();
    const { nowMs, rows } = await store.periodics(names);
    const stored = new Map(rows.map((row) => [row.name, row]));
    return names.map((name) => this.#statusOf(declared.get(name)!, stored.get(name), nowMs));
  }

  /** Makes one run beside the schedule. Returns its id and its queue. */
  async run(name: string): Promise<{ id: JobId; queue: string }> {
    const { job } = this.#declared(name);
    return { id: await this.#options.store.runPeriodic(name, job), queue: job.queue };
  }

  /** Takes its ticks away. */
  async pause(name: string): Promise<void> {
    await this.#options.store.pausePeriodic(this.#declared(name).name);
  }

  /** Gives it ticks again, from now on. */
  async resume(name: string): Promise<void> {
    const { store, schedule } = this.#options;
    this.#declared(name);
    for (let tries = 0; tries < TRIES; tries++) {
      const { nowMs, rows: [row] } = await store.periodics([name], { runs: false });
      if (row === undefined || row.pausedMs === null) return;
      const hasTicks = row.spec !== null && row.undeclaredMs === null;
      const nextMs = hasTicks ? nextTick(row.spec.schedule, schedule, nowMs) : null;
      if (await store.resumePeriodic(name, row.version, nextMs)) return;
    }
    throw new TransactionConflictError("40001", { cause: new Error("The periodic changed each time") });
  }

  #declared(name: string): DeclaredPeriodic {
    const { declared } = this.#options;
    const found = declared.get(name);
    if (found === undefined) throw new UndeclaredPeriodicError(name, declared.keys());
    return found;
  }

  #statusOf(declared: DeclaredPeriodic, row: PeriodicRow | undefined, nowMs: number): PeriodicStatus {
    const { schedule, job } = row?.spec ?? declared;
    return {
      name: declared.name,
      kind: job.kind,
      schedule: described(schedule),
      nextRunAt: iso(this.#nextMs(declared, row, nowMs)),
      pausedAt: iso(row?.pausedMs ?? null),
      lastTickAt: iso(row?.lastTickMs ?? null),
      currentJobId: row?.currentJobId ?? null,
      lastRun: row?.runs[0] ?? null,
      runs: row?.runs ?? [],
    };
  }

  #nextMs(declared: DeclaredPeriodic, row: PeriodicRow | undefined, nowMs: number): number | null {
    if (row !== undefined && (row.spec !== null || row.pausedMs !== null)) return row.nextTickMs;
    // Nobody who ticks has declared it so far.
    const isFirst = row === undefined || row.lastTickMs === null;
    return isFirst && declared.runAtStart
      ? nowMs
      : nextTick(declared.schedule, this.#options.schedule, nowMs);
  }
}

function described(schedule: PeriodicSchedule): string {
  return "every" in schedule ? `every ${schedule.every} ms` : `${schedule.cron} ${schedule.timezone}`;
}

/** Null for what is no instant. */
function iso(ms: number | null): string | null {
  return isInstant(ms) ? new Date(ms).toISOString() : null;
}
