import { isFinal } from "../../ports/job.ts";
import type { Json } from "../../ports/json.ts";
import type { KeyRule } from "../../ports/key_rule.ts";
import type { NewJob } from "../../ports/store.ts";
import { keepsTwinsOut, memberAt } from "../../shared/key_rule.ts";
import { isNew, type JobRow, waits } from "./job_row.ts";

/**
 * The unique key of a job: its kind and what its rule names of the args, whatever the order of their keys. Null where the args
 * lack a member of it: their program doesn't know the rule.
 */
export function uniqueKey(job: NewJob, { by }: KeyRule): string | null {
  // A job without args is one with empty args: its handler sees no difference.
  const args: Json = JSON.parse(job.args) ?? {};
  if (by === null) return JSON.stringify([job.kind, sorted(args)]);
  const members = by.map((path) => memberAt(args, path));
  if (members.includes(undefined)) return null;
  return JSON.stringify([job.kind, "by", members.map((member) => sorted(member as Json))]);
}

/** Whether a job that holds a key keeps its twins out. */
export function keepsOut(holder: JobRow, rule: KeyRule, nowMs: number): boolean {
  if (!keepsTwinsOut(rule, holder.state)) return false;
  return holder.state !== "completed" || rule.withinMs === null ||
    nowMs - holder.finishedAtMs! < rule.withinMs;
}

/** When a job is due. */
export function dueMs({ runAt }: NewJob, rule: KeyRule | null, nowMs: number): number {
  if (rule !== null && rule.debounce !== null) return nowMs + rule.debounce.quietMs;
  return runAt === null ? nowMs : Math.max(Date.parse(runAt), nowMs);
}

/** What a job becomes when it keeps a twin out; itself when nothing changes. */
export function metRow(
  row: JobRow,
  twin: { readonly args: string; readonly dueMs: number; readonly queue: string },
  { debounce }: KeyRule,
  nowMs: number,
): JobRow {
  if (!waits(row)) return row;
  if (twin.queue !== row.queue) row = { ...row, queue: twin.queue };
  if (debounce === null) {
    return isNew(row) && twin.dueMs < row.scheduledAtMs ? { ...row, scheduledAtMs: twin.dueMs } : row;
  }
  // One that is due keeps its place in line: calls that never pause must not put it off for ever.
  const isPutOff = isNew(row) && row.scheduledAtMs > nowMs;
  const latestMs = Math.max(row.enqueuedAtMs + debounce.atMostMs, nowMs);
  return {
    ...row,
    args: twin.args,
    scheduledAtMs: isPutOff ? Math.min(twin.dueMs, latestMs) : row.scheduledAtMs,
  };
}

/** The live job that holds the key of another one; null when there is none. */
export function supersededBy(row: JobRow, holder: JobRow | undefined): JobRow | null {
  return holder === undefined || holder.id === row.id || isFinal(holder.state) ? null : holder;
}

/** Whether two kinds declare the same of their twins. */
export function isSameRule(one: KeyRule | undefined, other: KeyRule | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

// Entries instead of an object: an object would put keys that look like numbers first, and could not hold __proto__.
function sorted(value: Json): unknown {
  if (Array.isArray(value)) return ["array", ...value.map(sorted)];
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return ["object", ...entries.map(([key, inner]) => [key, sorted(inner)])];
}
