import type { UpkeepReport, UpkeepRow } from "../ports/upkeep.ts";

/** What is stored of a task once a report is added: a failure adds to those before, a success before it ends them. */
export function withReport(stored: UpkeepRow | undefined, report: UpkeepReport, nowMs: number): UpkeepRow {
  const { task, owner, process, failed, successAgoMs } = report;
  const failing = successAgoMs === null ? stored : undefined;
  return {
    task,
    owner,
    lastSuccessMs: successAgoMs === null ? stored?.lastSuccessMs ?? null : nowMs - successAgoMs,
    lastErrorMs: failed === null ? stored?.lastErrorMs ?? null : nowMs - failed.lastAgoMs,
    lastError: failed?.error ?? stored?.lastError ?? null,
    lastErrorIn: failed === null ? stored?.lastErrorIn ?? null : process,
    failingSinceMs: failing?.failingSinceMs ?? (failed === null ? null : nowMs - failed.firstAgoMs),
    failuresInARow: (failing?.failuresInARow ?? 0) + (failed?.count ?? 0),
  };
}
