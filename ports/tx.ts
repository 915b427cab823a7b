/** A value that one statement's placeholder can carry. The SQL casts it: `$1::text::jsonb`. */
export type TxParam = string | number | null;

/** How a statement is to be run. A hint: a driver that knows no such thing leaves it out. */
export interface TxStatementOptions {
  /**
   * Whether it pays to keep the statement prepared on the connection: its text is one of a few, and comes again. A
   * driver that was told to prepare nothing, because of a pooler, keeps to that.
   */
  readonly prepare?: boolean;
}

/** A row as an object of column names. */
export type TxRow = Record<string, unknown>;

/**
 * An open transaction of the caller's own driver, as far as Millrace needs it. Structural on purpose: a
 * postgres.js `TransactionSql` is one as it stands, other drivers need a line.
 *
 * @example
 * ```ts ignore
 * await sql.begin(async (tx) => {
 *   await tx`insert into orders (id) values (${id})`;
 *   await jobs.with(tx).enqueue("order.mail", { id });
 * });
 * ```
 */
export interface Tx {
  /** Runs one statement inside the transaction and resolves to its rows. */
  unsafe(text: string, params: TxParam[], options?: TxStatementOptions): PromiseLike<readonly TxRow[]>;
}

/**
 * Checks that what was handed over can be an open transaction.
 *
 * @throws {TypeError} it has no `unsafe`, or it is a pool: the one-letter slip `with(sql)` for `with(tx)` would write
 *   outside of any transaction. The message begins with `Cannot` and the action.
 */
export function checkTx(tx: Tx, action: string): void {
  if (typeof (tx as Tx | undefined)?.unsafe !== "function") {
    throw new TypeError(`Cannot ${action} in this transaction: expected an object with unsafe(text, params)`);
  }
  if ("begin" in tx) {
    throw new TypeError(
      `Cannot ${action} in this transaction: a connection pool was given, expected what begin() hands over`,
    );
  }
}
