import { OffTheRecordError } from "../../ports/errors.ts";
import type { JobId } from "../../ports/job.ts";
import type {
  Aside,
  Claimed,
  ClaimRequest,
  Rescued,
  RescueError,
  RunRef,
  Settled,
  Settlement,
} from "../../ports/store.ts";
import type { Tx } from "../../ports/tx.ts";
import {
  claimedRow,
  endedRow,
  isRun,
  type JobRow,
  liesAside,
  rescuedRow,
  settledRow,
  waits,
} from "./job_row.ts";
import type { OwnerTable } from "./owner_table.ts";
import type { Twins } from "./twins.ts";
import type { Versions } from "./versions.ts";

/**
 * The runs of jobs:
 *
 *     waiting --take()--> running --settle(), complete(), rescue()--> ended, or waiting
 */
export class Runs {
  readonly #versions: Versions;
  readonly #twins: Twins;
  readonly #owners: OwnerTable;
  readonly #clock: () => number;

  constructor(versions: Versions, twins: Twins, owners: OwnerTable, clock: () => number) {
    this.#versions = versions;
    this.#twins = twins;
    this.#owners = owners;
    this.#clock = clock;
  }

  /** Takes due jobs. A process that is not registered gets none: no one would rescue them. Nor does one that is rescued. */
  claim({ owner, queue, limit, free, aside }: ClaimRequest): Claimed[] {
    if (!this.#owners.isAlive(owner)) return [];
    const nowMs = this.#clock();
    const due = this.#versions.jobs.line(queue).due(nowMs, limit, ({ id }) => !this.#versions.isLocked(id));
    const rows = aside === undefined ? due : this.#withAside(due, { queue, kind: aside }).slice(0, limit);
    return rows.map((row, index) => this.#take(row, owner, index < free && !row.alone, nowMs));
  }

  /** Takes one job that waits, whatever else does and when it is due. Null when it does not wait. */
  claimOne(owner: string, id: JobId): Claimed | null {
    const row = this.#versions.jobs.get(id);
    if (row === undefined || !waits(row) || this.#versions.isLocked(id)) return null;
    return this.#take(row, owner, true, this.#clock());
  }

  /**
   * Records that claimed jobs start now.
   *
   * @throws {OffTheRecordError} the process is not on the record.
   */
  started(owner: string, runs: readonly RunRef[]): void {
    if (!this.#owners.isAlive(owner)) throw new OffTheRecordError(owner);
    for (const ref of runs) this.#versions.amend(ref, { started: true });
  }

  /** Ends a run. */
  settle(settlement: Settlement): Settled {
    const row = this.#versions.jobs.get(settlement.id);
    if (row === undefined || !isRun(row, settlement)) return "fenced";
    if (this.#versions.isLocked(settlement.id)) return "locked";
    const delayMs = "delayMs" in settlement ? settlement.delayMs : 0;
    return this.#twins.endRun(row, (twin) => settledRow(row, settlement, this.#clock(), twin), delayMs).state;
  }

  /** Completes a job in a transaction. False when its run is not the current one, or was cancelled before. */
  async complete(tx: Tx, id: JobId, run: number, output: string | null): Promise<boolean> {
    const mine = this.#versions.staged(tx);
    return await this.#versions.unlocked(id, mine, () => {
      const row = this.#versions.row(id, mine);
      // A cancel that came first stands.
      if (row === undefined || !isRun(row, { id, run }) || row.cancelRequested) return false;
      this.#versions.write(endedRow(row, "completed", output, this.#clock()), mine);
      this.#versions.signal({ type: "final", id }, mine);
      return true;
    });
  }

  /** Puts back the jobs of a process that is gone. */
  rescue(owner: string, beat: string, error: RescueError): Rescued {
    const retried: JobId[] = [];
    const discarded: JobId[] = [];
    const released: JobId[] = [];
    const cancelled: JobId[] = [];
    const queues = new Set<string>();
    let complete = true;
    const isLost = this.#owners.isLost(owner, beat);
    for (const row of isLost ? this.runningOn(owner) : []) {
      if (this.#versions.isLocked(row.id)) {
        complete = false;
        continue;
      }
      this.#owners.giveUp(owner);
      const next = this.#twins.endRun(row, (twin) => rescuedRow(row, error.message, this.#clock(), twin), 0);
      if (next.state === "cancelled") cancelled.push(row.id);
      else if (next.state === "discarded") discarded.push(row.id);
      else (row.started ? retried : released).push(row.id);
      if (waits(next)) queues.add(row.queue);
    }
    if (complete && isLost) this.#owners.forget(owner);
    return { retried, discarded, released, cancelled, complete, queues: [...queues] };
  }

  /** The jobs that run on a process. */
  runningOn(owner: string): JobRow[] {
    return [...this.#versions.jobs.all()].filter((row) => row.state === "running" && row.owner === owner);
  }

  #take(row: JobRow, owner: string, started: boolean, nowMs: number): Claimed {
    const next = claimedRow(row, owner, started, nowMs);
    this.#versions.jobs.put(next);
    const { id, run, kind, attempt, maxAttempts, args, alone } = next;
    return { id, run, kind, attempt, maxAttempts, args, alone };
  }

  /** Due jobs and those that lie aside, by priority; of one priority, those that lie aside first. */
  #withAside(due: readonly JobRow[], { queue, kind }: Aside): JobRow[] {
    const aside = [...this.#versions.jobs.all()]
      .filter((row) =>
        liesAside(row) && row.queue === queue && row.kind === kind && !this.#versions.isLocked(row.id)
      )
      .sort((one, other) => one.scheduledAtMs - other.scheduledAtMs || one.seq - other.seq);
    return [...aside, ...due].sort((one, other) => one.priority - other.priority);
  }
}
