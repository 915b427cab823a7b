import type { Tx, TxParam, TxRow } from "../../ports/tx.ts";

/** What a transaction asks of its store. */
export interface TxHost {
  /** Completes a job within the transaction; true when it took effect. */
  complete(tx: MemoryTx, id: string, run: number, output: string | null): Promise<boolean>;
  /** Makes visible what the transaction staged. */
  commit(tx: MemoryTx): void;
  /** Drops what the transaction staged. */
  rollback(tx: MemoryTx): void;
}

/** A statement that a transaction in memory knows: it names the transaction. */
export const TRANSACTION_TEXT: string = "millrace: the name of the open transaction";

/** The other one: it completes a job. */
export const COMPLETION_TEXT: string = "millrace: complete the job $1 in its run $2 with the output $3";

/** An open transaction on a `MemoryStore`, begun by its `begin()`: what is done with it exists once it commits. */
export class MemoryTx implements Tx, AsyncDisposable {
  readonly #host: TxHost;
  readonly #name: string = crypto.randomUUID();
  #open = true;

  /** Use `MemoryStore.begin()`. */
  constructor(host: TxHost) {
    this.#host = host;
  }

  /** Whether it has neither been committed nor rolled back. */
  get open(): boolean {
    return this.#open;
  }

  /**
   * Runs the statement that completes a job, or names the transaction; there is no SQL here.
   *
   * @throws {TypeError} the text is another one, or the transaction has ended.
   */
  async unsafe(text: string, params: TxParam[]): Promise<readonly TxRow[]> {
    this.#assertOpen();
    if (text === TRANSACTION_TEXT) return [{ id: this.#name }];
    if (text !== COMPLETION_TEXT) {
      throw new TypeError(
        `Cannot run ${JSON.stringify(text.slice(0, 200))}: a transaction in memory runs no SQL, only the ` +
          `completion of a job`,
      );
    }
    const [id, run, output] = params;
    const done = await this.#host.complete(
      this,
      String(id),
      Number(run),
      output == null ? null : String(output),
    );
    return done ? [{ id }] : [];
  }

  /**
   * Makes all of it visible, at once.
   *
   * @throws {TypeError} it has ended.
   */
  commit(): Promise<void> {
    return this.#end(() => this.#host.commit(this));
  }

  /**
   * Drops all of it.
   *
   * @throws {TypeError} it has ended.
   */
  rollback(): Promise<void> {
    return this.#end(() => this.#host.rollback(this));
  }

  /** Rolls back if it is still open. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#open) await this.rollback();
  }

  #end(how: () => void): Promise<void> {
    try {
      this.#assertOpen();
      this.#open = false;
      how();
      return Promise.resolve();
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #assertOpen(): void {
    if (!this.#open) throw new TypeError("Cannot use the transaction: it has been committed or rolled back");
  }
}
