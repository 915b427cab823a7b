import type { JobState } from "../../ports/job.ts";
import type { Counts } from "../../ports/store.ts";
import { type JobRow, liesAside } from "./job_row.ts";
import type { JobTable } from "./job_table.ts";

/** Counts and ages, over all kinds or one. */
export function overviewCounts(
  table: JobTable,
  kind: string | undefined,
  nowMs: number,
): Omit<Counts, "paused"> {
  const counted = (row: JobRow) => kind === undefined || row.kind === kind;
  const states = new Map<string, { kind: string; state: JobState; count: number }>();
  let undeclared = 0;
  for (const row of table.all()) {
    if (!counted(row)) continue;
    const key = JSON.stringify([row.kind, row.state]);
    const entry = states.get(key) ?? { kind: row.kind, state: row.state, count: 0 };
    entry.count++;
    states.set(key, entry);
    if (liesAside(row)) undeclared++;
  }
  const waiting = [];
  for (const [queue, line] of table.lines()) {
    for (const { priority, sinceMs } of line.oldest(nowMs, counted)) {
      waiting.push({ queue, priority, oldestMs: nowMs - sinceMs });
    }
  }
  return { states: [...states.values()], waiting, undeclared, bytes: 0 };
}
