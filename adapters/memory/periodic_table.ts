import type { PeriodicRun } from "../../ports/inspector.ts";
import type { JobId } from "../../ports/job.ts";
import type { JobRow } from "./job_row.ts";

const RUNS_KEPT = 20;

/** What is stored of one periodic. */
export interface PeriodicRecord {
  lastTickMs: number | null;
  currentJobId: JobId | null;
  readonly sinceMs: number;
  /** Newest first. */
  runs: PeriodicRun[];
}

/** The periodics' own rows: retention of jobs does not touch them. */
export class PeriodicTable {
  readonly #records = new Map<string, PeriodicRecord>();

  /** The record of a periodic, made if it was never seen. */
  record(name: string, nowMs: number): PeriodicRecord {
    let record = this.#records.get(name);
    if (record === undefined) {
      record = { lastTickMs: null, currentJobId: null, sinceMs: nowMs, runs: [] };
      this.#records.set(name, record);
    }
    return record;
  }

  /** Notes that a run is in line, unless another one waits or runs. */
  inLine(name: string, id: JobId): void {
    const record = this.#records.get(name);
    if (record !== undefined) record.currentJobId ??= id;
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
}
