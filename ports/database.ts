import type { Tx, TxParam, TxRow } from "./tx.ts";

/** One step of a schema's history. */
export interface MigrationStep {
  /** 1, 2, 3, ... without a gap. */
  readonly version: number;
  /** What it does, in a few words: `create jobs`. */
  readonly name: string;
  /**
   * The statements that make it. `{schema}` stands for the quoted schema name, and `{channel NAME}` for what
   * PostgreSQL knows a channel of this schema by, for `pg_notify()`.
   */
  readonly up: string;
  /** The statements that undo it. */
  readonly down: string;
  /**
   * The lowest version of this part whose programs can go on once this step is made, at most the step's own. From then on
   * programs of a lower one don't start, and those that work already claim nothing more. Default: all can.
   */
  readonly leastVersion?: number;
  /**
   * The lowest protocol of the programs that can go on once this step is made. Older processes claim nothing more from
   * then on. Default: all can.
   */
  readonly leastProtocol?: number;
}

/** How a part's tables are brought to their newest step. */
export interface MigrateOptions {
  /**
   * Whether to make breaking steps too: those with which some older programs can't go on, since they raise
   * `leastVersion` or `leastProtocol`. The first steps of a part are no such, for nobody uses its tables yet. Default
   * false: where a breaking step is due nothing is made.
   */
  readonly breaking?: boolean;
}

/** A transaction that {@linkcode Database.transaction} began. */
export type Transaction = Tx;

/** How a transaction is begun. */
export interface TransactionOptions {
  /** Default `read committed`. */
  readonly isolation?: "read committed" | "repeatable read" | "serializable";
  /** How long each statement may take, in ms; 0 is no bound. Default that of the database's options (60,000). */
  readonly statementTimeoutMs?: number;
  /** How long each may wait for a lock, in ms; 0 is no bound. Default that of the database's options (10,000). */
  readonly lockTimeoutMs?: number;
  /** How long it may stand still between two statements, in ms; 0 is no bound. Default as above (60,000). */
  readonly idleTimeoutMs?: number;
}

/** Told by a subscription to a channel. */
export interface ChannelObserver {
  /** A message arrived. */
  message(payload: string): void;
  /**
   * Listening has begun, or begun again after a gap in which messages may have been lost; or the database answers again
   * after it did not, which is told where listening is not possible too. Look for yourself.
   */
  ready(): void;
}

/** Ends a subscription. */
export interface ChannelSubscription {
  /** Whether messages can arrive at all. False behind a transaction pooler; then poll. */
  readonly listening: boolean;
  /** Ends it. */
  close(): Promise<void>;
}

/** A PostgreSQL database as the parts that keep tables of their own see it. The one place that begins transactions. */
export interface Database {
  /** The schema that the tables live in, quoted for SQL. */
  readonly quotedSchema: string;

  /** Runs one statement by itself. `{schema}` in it stands for the quoted schema name. */
  query(text: string, params?: readonly TxParam[]): Promise<readonly TxRow[]>;

  /**
   * Runs a function inside a transaction: commits when it resolves, rolls back when it throws.
   *
   * @throws {ConnectionTimeoutError} no connection came free within the bound; nothing was done.
   */
  transaction<T>(body: (tx: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>;

  /** Subscribes to a channel of this schema. All subscriptions share one connection, which recovers by itself. */
  listen(channel: string, observer: ChannelObserver): Promise<ChannelSubscription>;

  /** Sends a message to a channel of this schema, at once. */
  notify(channel: string, payload: string): Promise<void>;

  /**
   * Brings the tables of one part to its newest step. Idempotent, and safe when many processes do it at once. Newer
   * tables are left alone.
   *
   * @throws {BreakingMigrationError} a breaking step is due, and was not asked for; nothing was done.
   * @throws {SchemaVersionError} the tables are newer, and programs with these steps can't go on with them.
   */
  migrate(name: string, steps: readonly MigrationStep[], options?: MigrateOptions): Promise<void>;

  /**
   * Checks that a program with these steps can work on the tables of one part: they have them all, and none that it
   * can't go on with. Says so in the log where they are newer.
   *
   * @throws {SchemaVersionError} it can't.
   */
  checkMigrated(name: string, steps: readonly MigrationStep[]): Promise<void>;

  /** The version that the tables of one part are at; 0 when there are none. */
  migratedTo(name: string): Promise<number>;
}
