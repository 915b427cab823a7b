import type { JobFilter } from "../../ports/inspector.ts";
import { isFinal, type JobDetail, type JobId, type JobSummary } from "../../ports/job.ts";
import type { Aside, Final, Finals } from "../../ports/store.ts";
import { contains } from "./containment.ts";
import { type JobRow, liesAside, waits } from "./job_row.ts";
import { detail, summary } from "./job_view.ts";
import type { Versions } from "./versions.ts";

/** Looks at jobs and changes nothing. */
export class Inspection {
  readonly #versions: Versions;

  constructor(versions: Versions) {
    this.#versions = versions;
  }

  /** Jobs, newest first. */
  list({ limit, before, ...filter }: JobFilter & { readonly limit: number }): JobSummary[] {
    const beforeSeq = before === undefined ? Infinity : Number(before);
    const rows: JobRow[] = [];
    // Ids rise in the order of commit only nearly, so the order of the map is not the order of the ids.
    for (const row of [...this.#versions.jobs.all()].sort((one, other) => other.seq - one.seq)) {
      if (rows.length >= limit) break;
      if (row.seq < beforeSeq && matches(row, filter)) rows.push(row);
    }
    return rows.map(summary);
  }

  /** One job whole. */
  get(id: JobId): JobDetail | null {
    const row = this.#versions.jobs.get(id);
    return row === undefined ? null : detail(row);
  }

  /** Which of these jobs have ended, and which are not there. */
  finals(ids: readonly JobId[]): Finals {
    const ended: Final[] = [];
    const missing: JobId[] = [];
    for (const id of ids) {
      const row = this.#versions.jobs.get(id);
      // What an open transaction has staged is known here, so there is nothing to wait for.
      if (row === undefined && !this.#versions.isLocked(id)) missing.push(id);
      if (row === undefined || !isFinal(row.state)) continue;
      ended.push({ id, state: row.state, output: row.output, error: row.errors.at(-1)?.message ?? null });
    }
    return { ended, missing: missing.map((id) => ({ id, oldest: 0, next: 0 })) };
  }

  /** Where jobs of these kinds lie aside. */
  aside(kinds: readonly string[]): Aside[] {
    const found = new Map<string, Aside>();
    for (const row of this.#versions.jobs.all()) {
      if (!liesAside(row) || !kinds.includes(row.kind)) continue;
      found.set(JSON.stringify([row.queue, row.kind]), { queue: row.queue, kind: row.kind });
    }
    return [...found.values()];
  }

  /** The queues in which due jobs wait, in the order of their names. */
  queuesWithDue(nowMs: number): string[] {
    const due = [...this.#versions.jobs.all()].filter((row) =>
      waits(row) && !row.putAside && row.scheduledAtMs <= nowMs
    );
    return [...new Set(due.map(({ queue }) => queue))].sort();
  }
}

function matches(row: JobRow, { kind, queue, state, args }: JobFilter): boolean {
  return (kind === undefined || row.kind === kind) &&
    (queue === undefined || row.queue === queue) &&
    (state === undefined || row.state === state) &&
    (args === undefined || contains(JSON.parse(row.args), args));
}
