import { TransactionEndedError } from "./errors.ts";

/** A value for one placeholder of a statement. The SQL casts it: `$1::text::jsonb`. */
export type TxParam = string | number | null;

/** Hints for running a statement. A driver that doesn't support one ignores it. */
export interface TxStatementOptions {
  /**
   * Whether the statement is worth keeping prepared on the connection: its text is one of a few, and recurs. A driver
   * configured to prepare nothing, because of a pooler, still prepares nothing.
   */
  readonly prepare?: boolean;
}

/** A row, as an object keyed by column name. */
export type TxRow = Record<string, unknown>;

/**
 * An open transaction of the caller's own driver, reduced to what Millrace needs. It is structural on purpose: a
 * postgres.js `TransactionSql` fits as it is, other drivers need a line.
 *
 * @example
 * ```ts
 * await sql.begin(async (tx) => {
 *   await tx`insert into orders (id) values (${id})`;
 *   await jobs.with(tx).enqueue("order.mail", { id });
 * });
 * ```
 */
export interface Tx {
  /** Runs one statement inside the transaction and resolves to its rows. */
  unsafe(text: string, params: TxParam[], options?: TxStatementOptions): PromiseLike<readonly TxRow[]>;
  /**
   * Whether an untrusted process runs its statements and may return anything: its rows are only for the caller, and
   * nothing is learned from them.
   */
  readonly isUntrusted?: boolean;
}

/** How to recognize other libraries' transactions, and the helper that makes a `Tx` of each. */
const LIBRARIES: readonly {
  readonly members: readonly string[];
  readonly library: string;
  readonly call: string;
}[] = [
  { members: ["$queryRawUnsafe"], library: "Prisma", call: "prismaTx(tx)" },
  { members: ["withoutPlugins", "isTransaction"], library: "Kysely", call: "kyselyTx(tx)" },
  { members: ["isTransactionActive"], library: "TypeORM", call: "typeOrmTx(tx)" },
  { members: ["queryRunner", "connection"], library: "TypeORM", call: "typeOrmTx(tx)" },
  { members: ["execute", "select"], library: "Drizzle", call: "drizzleTx(tx, sql)" },
  { members: ["query"], library: "pg", call: "pgTx(client)" },
];

/** Names the helper for another library's transaction that was passed as it is. */
function libraryHint(tx: unknown): string {
  if (typeof tx !== "object" && typeof tx !== "function" || tx === null) return "";
  const found = LIBRARIES.find(({ members }) =>
    members.every((member) => Reflect.get(tx, member) !== undefined)
  );
  if (found === undefined) return "";
  const { library, call } = found;
  return `pass ${call} of "@millrace/millrace/transactions" for one of ${library}; `;
}

/**
 * Checks that a value can be an open transaction.
 *
 * @throws {TypeError} if it has no `unsafe`, or is a pool: the one-letter slip `with(sql)` for `with(tx)` would write
 * outside any transaction. The message begins with `Cannot` and the action.
 */
export function checkTx(tx: Tx, action: string): void {
  if (typeof (tx as Tx | undefined)?.unsafe !== "function") {
    throw new TypeError(
      `Cannot ${action} in this transaction: ${libraryHint(tx)}expected an object with unsafe(text, params)`,
    );
  }
  if ("begin" in tx) {
    throw new TypeError(
      `Cannot ${action} in this transaction: a connection pool was given, expected what begin() hands over`,
    );
  }
}

/**
 * Records at once which transaction is open in a `Tx`, and returns a check that it still is, for callers that can't
 * send their statements at once. The driver of an ended transaction may run statements on their own, or in someone
 * else's transaction.
 *
 * @param statement returns the open transaction's name: `Completion.transaction` of a store.
 * @returns a function that rejects with a {@linkcode TransactionEndedError} when the transaction has ended.
 */
export function watchTransaction(tx: Tx, statement: string): () => Promise<void> {
  const name = async () => String((await tx.unsafe(statement, [], { prepare: true }))[0]?.id);
  const first = name();
  // The check reports the error.
  first.catch(() => {});
  return async () => {
    if (await first !== await name()) throw new TransactionEndedError();
  };
}
