import type { PeriodicRun } from "../../ports/inspector.ts";
import type { JobId } from "../../ports/job.ts";
import type { DueRequest, PeriodicPlan, PeriodicRow, PeriodicSpec } from "../../ports/store.ts";
import type { JobRow } from "./job_row.ts";

const RUNS_KEPT = 20;

/** What is stored of one periodic. */
interface PeriodicRecord {
  version: number;
  spec: PeriodicSpec | null;
  declaredMs: number | null;
  undeclaredMs: number | null;
  pausedMs: number | null;
  nextTickMs: number | null;
  lastTickMs: number | null;
  currentJobId: JobId | null;
  sinceMs: number;
  /** Newest first. */
  runs: PeriodicRun[];
}

/** The periodics' own rows: retention of jobs does not touch them. */
export class PeriodicTable {
  readonly #records = new Map<string, PeriodicRecord>();

  /** The rows, all or those that are named, by name. */
  rows(names?: readonly string[]): PeriodicRow[] {
    return (names ?? [...this.#records.keys()]).toSorted().flatMap((name) => {
      const record = this.#records.get(name);
      return record === undefined
        ? []
        : [{ ...record, name, version: String(record.version), runs: [...record.runs] }];
    });
  }

  /** Those that are due at a time, those of the earliest tick first. */
  due({ after, limit }: DueRequest, nowMs: number): PeriodicRow[] {
    return this.rows()
      .filter(({ spec, nextTickMs, name }) =>
        spec !== null && nextTickMs !== null && nextTickMs <= nowMs &&
        (after === null || nextTickMs > after.tickMs || (nextTickMs === after.tickMs && name > after.name))
      )
      .sort((one, other) => one.nextTickMs! - other.nextTickMs! || (one.name < other.name ? -1 : 1))
      .slice(0, limit);
  }

  /** The earliest next tick after a time. */
  comingMs(nowMs: number): number | null {
    const coming = this.rows().map(({ nextTickMs }) => nextTickMs ?? -Infinity).filter((ms) => ms > nowMs);
    return coming.length === 0 ? null : Math.min(...coming);
  }

  /** Stores what a periodic is to be. False when it is of another version by now. */
  plan(plan: PeriodicPlan, nowMs: number): boolean {
    const { name, spec, declaredMs, isDeclared, nextTickMs, countsAnew } = plan;
    if (this.#versionOf(name) !== plan.version) return false;
    this.#change(name, nowMs, (record) => {
      Object.assign(record, { spec, declaredMs, nextTickMs });
      record.undeclaredMs = isDeclared ? null : record.undeclaredMs ?? nowMs;
      if (countsAnew) record.sinceMs = nowMs;
    });
    return true;
  }

  /** Notes that a tick was taken. */
  ticked(name: string, tickMs: number, nextTickMs: number | null): void {
    this.#change(name, tickMs, (record) => Object.assign(record, { lastTickMs: tickMs, nextTickMs }));
  }

  /** Takes its ticks away. */
  pause(name: string, nowMs: number): void {
    this.#change(name, nowMs, (record) => {
      record.pausedMs ??= nowMs;
      record.nextTickMs = null;
    });
  }

  /** Gives it ticks again. False when it is of another version by now. */
  resume(name: string, version: string, nextTickMs: number | null, nowMs: number): boolean {
    if (this.#versionOf(name) !== version) return false;
    this.#change(
      name,
      nowMs,
      (record) => Object.assign(record, { pausedMs: null, nextTickMs, sinceMs: nowMs }),
    );
    return true;
  }

  /** The run that waits or runs. */
  currentJobId(name: string): JobId | null {
    return this.#records.get(name)?.currentJobId ?? null;
  }

  /** Notes that a run is in line, unless another one waits or runs. */
  inLine(name: string, id: JobId, nowMs: number): void {
    this.#change(name, nowMs, (record) => record.currentJobId ??= id);
  }

  /** Notes that a run has ended. */
  ended(name: string, row: JobRow): void {
    const record = this.#records.get(name);
    if (record === undefined) return;
    if (record.currentJobId === row.id) record.currentJobId = null;
    const state = row.state;
    record.runs.unshift({
      jobId: row.id,
      finishedAt: new Date(row.finishedAtMs!).toISOString(),
      state,
      output: row.output === null ? null : JSON.parse(row.output),
      error: state === "completed" ? null : row.errors.at(-1)?.message ?? null,
    });
    record.runs.splice(RUNS_KEPT);
  }

  #versionOf(name: string): string | null {
    const record = this.#records.get(name);
    return record === undefined ? null : String(record.version);
  }

  /** Changes a record, which is made if it is not there. */
  #change(name: string, nowMs: number, change: (record: PeriodicRecord) => void): void {
    let record = this.#records.get(name);
    if (record === undefined) {
      record = {
        version: 0,
        spec: null,
        declaredMs: null,
        undeclaredMs: null,
        pausedMs: null,
        nextTickMs: null,
        lastTickMs: null,
        currentJobId: null,
        sinceMs: nowMs,
        runs: [],
      };
      this.#records.set(name, record);
    }
    record.version++;
    change(record);
  }
}
