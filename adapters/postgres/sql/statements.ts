import type { Transaction } from "../../../ports/database.ts";
import type { TxParam, TxRow } from "../../../ports/tx.ts";

/** Where statements are run: a database, or one whose statements are bounded in time. */
export interface Statements {
  /** Runs one statement by itself. `{schema}` in it stands for the quoted schema name. */
  query(text: string, params?: readonly TxParam[]): Promise<readonly TxRow[]>;

  /** Runs a function inside a transaction: commits when it resolves, rolls back when it throws. */
  transaction<T>(body: (tx: Transaction) => Promise<T>): Promise<T>;
}

/** Runs one statement, somewhere. */
export type RunStatement = (text: string, params: TxParam[]) => Promise<readonly TxRow[]>;
