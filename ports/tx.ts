import { TransactionEndedError } from "./errors.ts";

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
  /** Its statements are run by a process that may answer anything: its rows are for the caller alone, nothing is learnt of them. */
  readonly isUntrusted?: boolean;
}

/** How the transactions of other libraries are told, and what makes a `Tx` of one. */
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

/** Names the helper for what is another library's, as it comes. */
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
 * Checks that what was handed over can be an open transaction.
 *
 * @throws {TypeError} it has no `unsafe`, or it is a pool: the one-letter slip `with(sql)` for `with(tx)` would write
 *   outside of any transaction. The message begins with `Cannot` and the action.
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
 * Notes which transaction is open in a `Tx`, at once, and returns a check that it still is: for what can't send its
 * statements at once. An ended transaction's driver may run them by themselves, or in somebody else's transaction.
 *
 * @param statement names the open transaction: `Completion.transaction` of a store.
 * @returns rejects with a {@linkcode TransactionEndedError}.
 */
export function watchTransaction(tx: Tx, statement: string): () => Promise<void> {
  const name = async () => String((await tx.unsafe(statement, [], { prepare: true }))[0]?.id);
  const first = name();
  // It is told of by the check.
  first.catch(() => {});
  return async () => {
    if (await first !== await name()) throw new TransactionEndedError();
  };
}
