import type { JobId } from "../../ports/job.ts";
import type { PeriodicJob, PeriodicTick, TakenTick } from "../../ports/store.ts";
import { supersededRun, waitsForLater } from "./job_row.ts";
import type { PeriodicTable } from "./periodic_table.ts";
import type { Twins } from "./twins.ts";
import type { Versions } from "./versions.ts";

/** Makes the runs of periodics: no run while another one is due or runs. */
export class PeriodicRuns {
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

  /** Takes ticks and enqueues their jobs. */
  takeTicks(ticks: readonly PeriodicTick[]): TakenTick[] {
    const taken: TakenTick[] = [];
    for (const { name, version, tickMs, nextTickMs } of ticks) {
      const [row] = this.#periodics.rows([name]);
      if (row?.version !== version || row.spec === null || row.pausedMs !== null) continue;
      if (this.#unlessSuperseded(name) !== null) continue;
      this.#periodics.ticked(name, tickMs, nextTickMs);
      taken.push({ name, jobId: this.#insert(name, row.spec.job), queue: row.spec.job.queue });
    }
    return taken;
  }

  /** Makes one run beside the schedule, or finds the one that is in its way. */
  run(name: string, job: PeriodicJob): JobId {
    return this.#unlessSuperseded(name) ?? this.#insert(name, job);
  }

  #insert(periodic: string, job: PeriodicJob): JobId {
    const { id, existed } = this.#twins.add({ ...job, runAt: null, unique: false }, periodic);
    if (!existed) this.#periodics.inLine(periodic, id, this.#clock());
    return id;
  }

  /** The run of a periodic that is in the way of another one. One that waits for a later attempt is not: it ends. */
  #unlessSuperseded(periodic: string): JobId | null {
    const id = this.#periodics.currentJobId(periodic);
    const row = id === null ? undefined : this.#versions.jobs.get(id);
    const nowMs = this.#clock();
    if (row === undefined || this.#versions.isLocked(row.id) || !waitsForLater(row, nowMs)) return id;
    this.#versions.jobs.put(supersededRun(row, nowMs));
    return null;
  }
}
