import type { StoredUpkeep, UpkeepReport, UpkeepRow } from "../../ports/upkeep.ts";
import { withReport } from "../../shared/upkeep_report.ts";

/** After how long without a report a process's own tasks are left out. */
const SILENT_MS = 5 * 60_000;

/** After how long without a report a task of the whole fleet is left out: no process has it any more. */
const FORGOTTEN_MS = 30 * 24 * 60 * 60_000;

interface Stored extends UpkeepRow {
  readonly renewedMs: number;
}

/** How the upkeep tasks of all runtimes on one store go. */
export class UpkeepTable {
  readonly #rows = new Map<string, Stored>();

  report(reports: readonly UpkeepReport[], nowMs: number): void {
    for (const report of reports) {
      const key = JSON.stringify([report.task, report.owner]);
      this.#rows.set(key, { ...withReport(this.#rows.get(key), report, nowMs), renewedMs: nowMs });
    }
  }

  read(nowMs: number): StoredUpkeep {
    for (const [key, { owner, renewedMs }] of this.#rows) {
      if (nowMs - renewedMs > (owner === null ? FORGOTTEN_MS : SILENT_MS)) this.#rows.delete(key);
    }
    return { nowMs, rows: [...this.#rows.values()].map(({ renewedMs: _, ...row }) => row) };
  }
}
