import type { StoredUpkeep, UpkeepReport, UpkeepRow } from "../../ports/upkeep.ts";

/** After how long without a report a process's own tasks are left out. */
const SILENT_MS = 5 * 60_000;

interface Stored extends UpkeepRow {
  readonly renewedMs: number;
}

/** How the upkeep tasks of all runtimes on one store go. */
export class UpkeepTable {
  readonly #rows = new Map<string, Stored>();

  report(reports: readonly UpkeepReport[], nowMs: number): void {
    for (const { task, owner, process, successAgoMs, failed } of reports) {
      const key = JSON.stringify([task, owner]);
      const stored = this.#rows.get(key);
      // What was before the success counts no more.
      const row = successAgoMs === null ? stored : undefined;
      this.#rows.set(key, {
        task,
        owner,
        lastSuccessMs: successAgoMs === null ? stored?.lastSuccessMs ?? null : nowMs - successAgoMs,
        lastErrorMs: failed === null ? stored?.lastErrorMs ?? null : nowMs - failed.lastAgoMs,
        lastError: failed?.error ?? stored?.lastError ?? null,
        lastErrorIn: failed === null ? stored?.lastErrorIn ?? null : process,
        failingSinceMs: row?.failingSinceMs ?? (failed === null ? null : nowMs - failed.firstAgoMs),
        failuresInARow: (row?.failuresInARow ?? 0) + (failed?.count ?? 0),
        renewedMs: nowMs,
      });
    }
  }

  read(nowMs: number): StoredUpkeep {
    for (const [key, { owner, renewedMs }] of this.#rows) {
      if (owner !== null && nowMs - renewedMs > SILENT_MS) this.#rows.delete(key);
    }
    return { nowMs, rows: [...this.#rows.values()].map(({ renewedMs: _, ...row }) => row) };
  }
}
