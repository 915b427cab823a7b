import { JobNotFoundError, JobRunningError, UniqueConflictError } from "../../ports/errors.ts";
import { isFinal, type JobId } from "../../ports/job.ts";
import type { CancelResult } from "../../ports/jobs.ts";
import type { Purge } from "../../ports/store.ts";
import type { Tx } from "../../ports/tx.ts";
import { cancelledRow, liesAside, retriedRow, waits } from "./job_row.ts";
import type { PeriodicTable } from "./periodic_table.ts";
import type { Twins } from "./twins.ts";
import type { Versions } from "./versions.ts";

/** What people and programs do with single jobs, and what retention does with ended ones. */
export class Operations {
  readonly #versions: Versions;
  readonly #twins: Twins;
  readonly #periodics: PeriodicTable;
  readonly #clock: () => number;

  constructor(versions: Versions, twins: Twins, periodics: PeriodicTable, clock: () => number) {
    this.#versions = versions;
    this.#twins = twins;
    this.#periodics = periodics;
    this.#clock = clock;
  }

  /** Calls one job off. */
  async cancel(id: JobId, tx?: Tx): Promise<CancelResult> {
    const mine = this.#versions.staged(tx);
    return await this.#versions.unlocked(id, mine, () => {
      const row = this.#versions.row(id, mine);
      if (row === undefined) return { result: "gone", state: null };
      if (isFinal(row.state)) return { result: "final", state: row.state };
      const next = cancelledRow(row, this.#clock());
      this.#versions.write(next, mine);
      mine?.signals.push({ type: next.state === "running" ? "cancel" : "final", id });
      return { result: next.state === "running" ? "requested" : "cancelled", state: next.state };
    });
  }

  /**
   * Puts a job back in line. Resolves to its queue.
   *
   * @throws {JobNotFoundError} there is none.
   * @throws {JobRunningError} it runs.
   * @throws {UniqueConflictError} another one has its key, or is the run of its periodic.
   */
  async retry(id: JobId): Promise<string> {
    const { jobs } = this.#versions;
    return await this.#versions.unlockedWithKey(id, jobs.get(id)?.key ?? null, () => {
      const row = jobs.get(id);
      if (row === undefined) throw new JobNotFoundError(id);
      if (row.state === "running") throw new JobRunningError(id);
      const takesKey = row.key !== null && isFinal(row.state);
      if (takesKey) this.#twins.checkFree(row);
      const current = row.periodic === null ? null : this.#periodics.currentJobId(row.periodic);
      if (current !== null && current !== id) throw new UniqueConflictError(id, current);
      jobs.put(retriedRow(row, this.#clock()));
      if (takesKey) jobs.hold(row.key!, id);
      if (row.periodic !== null) this.#periodics.inLine(row.periodic, id, this.#clock());
      return row.queue;
    });
  }

  /** Makes jobs that wait due now. Returns their queues. */
  bringForward(ids: readonly JobId[]): string[] {
    const nowMs = this.#clock();
    const queues: string[] = [];
    for (const id of ids) {
      const row = this.#versions.jobs.get(id);
      if (row === undefined || !waits(row) || liesAside(row) || row.scheduledAtMs <= nowMs) continue;
      if (this.#versions.isLocked(id)) continue;
      this.#versions.jobs.put({ ...row, scheduledAtMs: nowMs });
      queues.push(row.queue);
    }
    return queues;
  }

  /** Deletes ended jobs whose retention is over. Returns how many. */
  purge({ limit, completedMs, othersMs }: Purge): number {
    const nowMs = this.#clock();
    let purged = 0;
    for (const row of this.#versions.jobs.all()) {
      if (purged >= limit) break;
      const keptMs = row.state === "completed" ? completedMs : othersMs;
      const isOver = isFinal(row.state) && nowMs - row.finishedAtMs! >= keptMs;
      if (!isOver || this.#versions.isLocked(row.id)) continue;
      this.#versions.jobs.delete(row);
      purged++;
    }
    return purged;
  }
}
