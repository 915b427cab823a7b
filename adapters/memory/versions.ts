import type { JobId } from "../../ports/job.ts";
import type { RunRef, Signal } from "../../ports/store.ts";
import type { Tx } from "../../ports/tx.ts";
import { holdsKey, isRun, type JobRow } from "./job_row.ts";
import type { JobTable } from "./job_table.ts";
import type { MemoryTx, TxHost } from "./memory_tx.ts";
import type { SignalBoard } from "./signal_board.ts";
import { type Staged, Transactions } from "./transactions.ts";

/**
 * The versions of jobs and keys: those that everyone sees, and those of open transactions, which become everyone's at the
 * commit. `mine` is a transaction's; without it, what is read and written is everyone's.
 */
export class Versions {
  /** Everyone's. */
  readonly jobs: JobTable;
  readonly #signals: SignalBoard;
  readonly #transactions = new Transactions();

  constructor(jobs: JobTable, signals: SignalBoard) {
    this.jobs = jobs;
    this.#signals = signals;
  }

  begin(complete: TxHost["complete"]): MemoryTx {
    return this.#transactions.begin({
      complete,
      commit: (tx) => this.#commit(tx),
      rollback: (tx) => void this.#transactions.end(tx),
    });
  }

  /**
   * What a transaction has staged; undefined without one.
   *
   * @throws {TypeError} the transaction is not an open one of this store.
   */
  staged(tx: Tx | undefined): Staged | undefined {
    return tx === undefined ? undefined : this.#transactions.staged(tx);
  }

  /** The version of a job. */
  row(id: JobId, mine?: Staged): JobRow | undefined {
    return mine?.rows.get(id) ?? this.jobs.get(id);
  }

  /** The job that holds a key. */
  holder(key: string, mine?: Staged): JobId | undefined {
    const staged = mine?.keys.get(key);
    return staged === undefined ? this.jobs.holder(key) : staged ?? undefined;
  }

  write(row: JobRow, mine?: Staged): void {
    if (mine === undefined) {
      this.jobs.put(row);
      return;
    }
    mine.rows.set(row.id, row);
    if (row.key === null || holdsKey(row)) return;
    if (this.holder(row.key, mine) === row.id) mine.keys.set(row.key, null);
  }

  /** Makes a job the holder of a key. */
  hold(key: string, id: JobId, mine?: Staged): void {
    if (mine === undefined) this.jobs.hold(key, id);
    else mine.keys.set(key, id);
  }

  /** Sends a signal: now, or with the commit. */
  signal(signal: Signal, mine?: Staged): void {
    if (mine === undefined) this.#signals.send([signal]);
    else mine.signals.push(signal);
  }

  /** Changes what does not decide a job's fate, also while a transaction holds its row. */
  amend(ref: RunRef, change: Partial<Pick<JobRow, "started" | "progress">>): void {
    const row = this.jobs.get(ref.id);
    if (row === undefined || !isRun(row, ref)) return;
    this.jobs.put({ ...row, ...change });
    const staged = this.#transactions.writerOfRow(ref.id);
    const version = staged?.rows.get(ref.id);
    if (version !== undefined) staged?.rows.set(ref.id, { ...version, ...change });
  }

  /** Whether an open transaction holds a job. */
  isLocked(id: JobId): boolean {
    return this.#transactions.lockerOfRow(id) !== undefined;
  }

  /** Does some work once no other transaction holds a job. */
  unlocked<T>(id: JobId, mine: Staged | undefined, work: () => T): Promise<T> {
    return this.#transactions.unlocked(() => this.#transactions.lockerOfRow(id, mine), work);
  }

  /** The same, of a job and the key that it may take. */
  unlockedWithKey<T>(id: JobId, key: string | null, work: () => T): Promise<T> {
    const transactions = this.#transactions;
    return transactions.unlocked(
      () => transactions.lockerOfRow(id) ?? (key === null ? undefined : transactions.lockerOfKey(key)),
      work,
    );
  }

  /** Does some work once no other transaction has one of these keys, or changes the job that holds one. */
  withFreeKeys<T>(keys: readonly string[], mine: Staged | undefined, work: () => T): Promise<T> {
    return this.#transactions.unlocked(() => {
      for (const key of keys) {
        const blocking = this.#blocking(key, mine);
        if (blocking !== undefined) return blocking;
      }
      return undefined;
    }, work);
  }

  #blocking(key: string, mine: Staged | undefined): Staged | undefined {
    const holder = this.holder(key, mine);
    return this.#transactions.lockerOfKey(key, mine) ??
      (holder === undefined ? undefined : this.#transactions.writerOfRow(holder, mine));
  }

  #commit(tx: MemoryTx): void {
    const staged = this.#transactions.end(tx);
    for (const row of staged.rows.values()) this.jobs.put(row);
    for (const [key, id] of staged.keys) if (id !== null) this.jobs.hold(key, id);
    this.#signals.send(staged.signals);
  }
}
