import { TransactionConflictError } from "../../ports/errors.ts";
import type { JobId } from "../../ports/job.ts";
import type { Signal } from "../../ports/store.ts";
import type { Tx } from "../../ports/tx.ts";
import type { JobRow } from "./job_row.ts";
import { MemoryTx, type TxHost } from "./memory_tx.ts";

/** How long whoever needs what an open transaction holds waits for it, in ms. As long as on PostgreSQL. */
export const LOCK_WAIT_MS: number = 10_000;

/** What one open transaction has staged. */
export interface Staged {
  /** Its versions of the jobs that it touched. Each is locked for everyone else. */
  readonly rows: Map<JobId, JobRow>;
  /** The jobs that kept a twin of its out: what was judged of them stays so until its end. Any number may judge one. */
  readonly judged: Set<JobId>;
  /** The unique keys that it took or released. Whoever else needs one waits for the transaction's end. */
  readonly keys: Map<string, JobId | null>;
  /** What is signalled when it commits. */
  readonly signals: Signal[];
  /** Settles when it has ended. */
  readonly ended: PromiseWithResolvers<void>;
}

/** The open transactions of one store, and who waits for whom. */
export class Transactions {
  readonly #open = new Map<MemoryTx, Staged>();

  begin(host: TxHost): MemoryTx {
    const tx = new MemoryTx(host);
    this.#open.set(tx, {
      rows: new Map(),
      judged: new Set(),
      keys: new Map(),
      signals: [],
      ended: Promise.withResolvers(),
    });
    return tx;
  }

  /** What a transaction has staged. */
  staged(tx: Tx): Staged {
    const staged = this.#open.get(tx as MemoryTx);
    if (staged !== undefined) return staged;
    if (!(tx instanceof MemoryTx)) {
      throw new TypeError(
        "Cannot join the transaction: a store in memory joins only what its own begin() returned",
      );
    }
    throw new TypeError(
      tx.open
        ? "Cannot join the transaction: it belongs to another MemoryStore"
        : "Cannot join the transaction: it has been committed or rolled back",
    );
  }

  /** Takes an ended transaction off the list and lets those go who waited for it. */
  end(tx: MemoryTx): Staged {
    const staged = this.staged(tx);
    this.#open.delete(tx);
    staged.ended.resolve();
    return staged;
  }

  /** The open transaction that holds a row, other than `mine`. */
  lockerOfRow(id: JobId, mine?: Staged): Staged | undefined {
    return this.#find((staged) => staged !== mine && (staged.rows.has(id) || staged.judged.has(id)));
  }

  /** The open transaction that has written a row, other than `mine`. */
  writerOfRow(id: JobId, mine?: Staged): Staged | undefined {
    return this.#find((staged) => staged !== mine && staged.rows.has(id));
  }

  /** The open transaction that took or released a key, other than `mine`. */
  lockerOfKey(key: string, mine?: Staged): Staged | undefined {
    return this.#find((staged) => staged !== mine && staged.keys.has(key));
  }

  /**
   * Does some work as soon as `locker` finds no open transaction in the way; nothing comes between the two.
   *
   * @throws {TransactionConflictError} one was in the way for too long: perhaps each of two waits for the other.
   */
  async unlocked<T>(locker: () => Staged | undefined, work: () => T): Promise<T> {
    let blocking = locker();
    if (blocking === undefined) return work();
    const late = Promise.withResolvers<"late">();
    const timer = setTimeout(() => late.resolve("late"), LOCK_WAIT_MS);
    try {
      for (; blocking !== undefined; blocking = locker()) {
        if (await Promise.race([blocking.ended.promise, late.promise]) === "late") {
          throw new TransactionConflictError("40P01", {
            cause: new Error(`An open transaction was in the way for ${LOCK_WAIT_MS} ms`),
          });
        }
      }
      return work();
    } finally {
      clearTimeout(timer);
    }
  }

  #find(test: (staged: Staged) => boolean): Staged | undefined {
    // Without open transactions, which is nearly always, this costs nothing.
    for (const staged of this.#open.values()) if (test(staged)) return staged;
    return undefined;
  }
}
