import { type Depth, DEPTH_COUNTED_MAX, type DepthFilter } from "../../ports/inspector.ts";
import type { JobState } from "../../ports/job.ts";
import type { Counts } from "../../ports/store.ts";
import { type JobRow, liesAside, waits } from "./job_row.ts";
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

/** Counts what has not ended. */
export function depthOf(table: JobTable, { kind, queue }: DepthFilter, nowMs: number): Depth {
  const depth = { pending: 0, retryable: 0, running: 0, due: 0 };
  let counted = 0;
  for (const row of table.all()) {
    if (kind !== undefined && row.kind !== kind || queue !== undefined && row.queue !== queue) continue;
    if (row.state !== "running" && !waits(row)) continue;
    if (++counted > DEPTH_COUNTED_MAX) break;
    depth[row.state as "pending" | "retryable" | "running"]++;
    if (waits(row) && !liesAside(row) && row.scheduledAtMs <= nowMs) depth.due++;
  }
  const ages = overviewCounts(table, kind, nowMs).waiting
    .filter((each) => queue === undefined || each.queue === queue)
    .map(({ oldestMs }) => oldestMs);
  return { ...depth, oldestDueMs: ages.length === 0 ? null : Math.max(...ages) };
}
