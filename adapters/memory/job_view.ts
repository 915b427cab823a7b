import type { JobDetail, JobSummary } from "../../ports/job.ts";
import { ARGS_PREVIEW_LENGTH } from "../../ports/limits.ts";
import { unsafeNumbers } from "../../shared/json_text.ts";
import type { JobRow } from "./job_row.ts";

/** A job as a list shows it. */
export function summary(row: JobRow): JobSummary {
  return {
    id: row.id,
    kind: row.kind,
    queue: row.queue,
    state: row.state,
    priority: row.priority,
    attempt: row.attempt,
    maxAttempts: row.maxAttempts,
    snoozes: row.snoozes,
    enqueuedAt: iso(row.enqueuedAtMs),
    scheduledAt: iso(row.scheduledAtMs),
    claimedAt: row.claimedAtMs === null ? null : iso(row.claimedAtMs),
    finishedAt: row.finishedAtMs === null ? null : iso(row.finishedAtMs),
    argsPreview: firstCharacters(row.args, ARGS_PREVIEW_LENGTH),
  };
}

/** A job whole. */
export function detail(row: JobRow): JobDetail {
  return {
    ...summary(row),
    run: row.run,
    args: JSON.parse(row.args),
    argsText: row.args,
    unsafeNumbers: unsafeNumbers(row.args, "args"),
    output: row.output === null ? null : JSON.parse(row.output),
    errors: row.errors,
    progress: row.progress,
    cancelRequested: row.cancelRequested,
    alone: row.alone,
    unique: row.key !== null,
  };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

// By code points, so that no pair of surrogates is cut in half. A code point is at most two units.
function firstCharacters(text: string, count: number): string {
  return text.length <= count ? text : [...text.slice(0, 2 * count)].slice(0, count).join("");
}
