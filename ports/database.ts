import type { Tx, TxParam, TxRow } from "./tx.ts";

/** One step of a schema's history. */
export interface MigrationStep {
  /** 1, 2, 3, ... without a gap. */
  readonly version: number;
  /** What it does, in a few words: `create jobs`. */
  readonly name: string;
  /**
   * The SQL statements that apply it. `{schema}` stands for the quoted schema name. `{channel NAME}` stands for
   * PostgreSQL's name of one of this schema's channels, for `pg_notify()`.
   */
  readonly up: string;
  /** The SQL statements that revert it. */
  readonly down: string;
  /**
   * The lowest version of this part that programs must know to continue after this step; at most the step's own
   * version. Programs with a lower one no longer start, and those already working claim nothing more. Default: all can
   * continue.
   */
  readonly leastVersion?: number;
  /**
   * The lowest protocol that programs must speak to continue after this step. Older processes claim nothing more from
   * then on. Default: all can continue.
   */
  readonly leastProtocol?: number;
}

/** Options for migrating a part's tables. */
export interface MigrateOptions {
  /**
   * Whether to run breaking steps too. A breaking step raises `leastVersion` or `leastProtocol`, so some older programs
   * can't continue. The first steps of a part are never breaking, because nobody uses its tables yet. Default false:
   * when a breaking step is due, no step is run.
   */
  readonly breaking?: boolean;
}

/** A transaction begun by {@linkcode Database.transaction}. */
export type Transaction = Tx;

/** Options for beginning a transaction. */
export interface TransactionOptions {
  /** Default `read committed`. */
  readonly isolation?: "read committed" | "repeatable read" | "serializable";
  /**
   * The time limit of each statement, in ms, 0 to 1,999,999,999; 0 is no limit. Default: the database options' value
   * (60,000).
   */
  readonly statementTimeoutMs?: number;
  /**
   * How long each statement may wait for a lock, in ms, 0 to 1,999,999,999; 0 is no limit. Default: the database
   * options' value (10,000).
   */
  readonly lockTimeoutMs?: number;
  /**
   * How long the transaction may be idle between two statements, in ms, 0 to 1,999,999,999; 0 is no limit. Default:
   * the database options' value (60,000).
   */
  readonly idleTimeoutMs?: number;
}

/** Notified by a subscription to a channel. */
export interface ChannelObserver {
  /** A message arrived. */
  message(payload: string): void;
  /**
   * Listening has started, or restarted after a gap in which messages may have been lost; or the database is reachable
   * again after an outage, which is reported even where listening is impossible. Check for work yourself.
   */
  ready(): void;
}

/** A subscription to a channel. */
export interface ChannelSubscription {
  /** Whether messages can arrive at all. False behind a transaction pooler; poll instead. */
  readonly listening: boolean;
  /** Ends the subscription. */
  close(): Promise<void>;
}

/** A PostgreSQL database as seen by parts that keep their own tables. No other component begins transactions. */
export interface Database {
  /** The schema that contains the tables, quoted for SQL. */
  readonly quotedSchema: string;

  /** Runs one statement on its own. `{schema}` in it stands for the quoted schema name. */
  query(text: string, params?: readonly TxParam[]): Promise<readonly TxRow[]>;

  /**
   * Runs a function inside a transaction: commits when it resolves, rolls back when it throws.
   *
   * @throws {ConnectionTimeoutError} if no connection became free within the time limit; nothing was done.
   */
  transaction<T>(body: (tx: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>;

  /** Subscribes to a channel of this schema. All subscriptions share one connection, which reconnects on its own. */
  listen(channel: string, observer: ChannelObserver): Promise<ChannelSubscription>;

  /** Sends a message to a channel of this schema, immediately. */
  notify(channel: string, payload: string): Promise<void>;

  /**
   * Migrates one part's tables to the newest step. Idempotent, and safe to run from many processes at once. Newer
   * tables are left alone.
   *
   * @throws {BreakingMigrationError} if a breaking step is due and was not requested; nothing was done.
   * @throws {SchemaVersionError} if the tables are newer, and programs with these steps can't work with them.
   */
  migrate(name: string, steps: readonly MigrationStep[], options?: MigrateOptions): Promise<void>;

  /**
   * Checks that a program with these steps can work with one part's tables: every step has been applied, and none that
   * locks the program out. Logs when the tables are newer.
   *
   * @throws {SchemaVersionError} if it can't.
   */
  checkMigrated(name: string, steps: readonly MigrationStep[]): Promise<void>;

  /** Returns the version of one part's tables; 0 when there are none. */
  migratedTo(name: string): Promise<number>;
}
