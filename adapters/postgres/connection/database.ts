import type {
  ChannelObserver,
  ChannelSubscription,
  Database,
  MigrateOptions,
  MigrationStep,
  Transaction,
  TransactionOptions,
} from "../../../ports/database.ts";
import { DatabaseUnavailableError, InvalidOptionError } from "../../../ports/errors.ts";
import { TIMER_MS_MAX } from "../../../ports/limits.ts";
import type { Log } from "../../../ports/log.ts";
import type { TxParam, TxRow } from "../../../ports/tx.ts";
import { quoteIdentifier } from "../../../shared/identifier.ts";
import { LOG, silentLog } from "../../../shared/log.ts";
import {
  checkOptions,
  flag,
  integer,
  limitMs,
  oneOf,
  type Option,
  type Options,
  resolveOptions,
  text,
  UNCHECKED,
} from "../../../shared/options.ts";
import { checkMigrated, migrate, migrateDown, migratedTo } from "../schema/migrate.ts";
import { channelName, checkSchemaName, substitute } from "../sql/identifiers.ts";
import type { Statements } from "../sql/statements.ts";
import type { Client, ClientOptions } from "./client.ts";
import { ConnectionPool } from "./connection_pool.ts";
import { readConnectionUrl } from "./connection_url.ts";
import type { Contact } from "./contact.ts";
import { Listener } from "./listener.ts";
import { type NotifyQueue, USAGE } from "./notify_queue.ts";
import {
  boundParameters,
  type Bounds,
  DEFAULT_BOUNDS,
  FRESH_PLANS,
  PULSE_BOUNDS,
  tighter,
} from "./session.ts";
import { SessionCheck } from "./session_check.ts";
import { newShared, type Shared } from "./shared.ts";
import { isNotifyQueueFull, isRefusedBySession, isStalePlan } from "./translate_error.ts";

/** How a database is reached. */
export interface PostgresDatabaseOptions {
  /**
   * `postgres://user:password@host:port/database`. Of its parameters those of docs/guide.md are known, such as
   * `?sslmode=verify-full`; any other one is refused.
   */
  readonly url: string;
  /** The schema of the tables. Any identifier of at most 63 bytes. Default `millrace`. */
  readonly schema?: string;
  /** The most connections for statements; a listener is one more. At least 1. Default 10. */
  readonly poolSize?: number;
  /** Where it tells of what went wrong with connections. Default nowhere. */
  readonly log?: Log;
  /** How long a caller waits for a connection, in ms, above 0 and at most 2^31 - 1. Default 10,000. */
  readonly acquireTimeoutMs?: number;
  /**
   * How long making a connection may take, in ms, above 0 and at most 2^31 - 1. Default what the URL's `connect_timeout`
   * says, or 10,000.
   */
  readonly connectTimeoutMs?: number;
  /**
   * Whether statements are prepared. Must be false behind a transaction pooler such as PgBouncer. Default false where the
   * URL says `pgbouncer=true`, true otherwise.
   */
  readonly preparedStatements?: boolean;
  /**
   * How long one statement may take, in ms, 0 to 1,999,999,999; 0 is no bound. Then the server ends it, which is a
   * {@linkcode StatementTimeoutError}. Default 60,000.
   */
  readonly statementTimeoutMs?: number;
  /**
   * How long a statement may wait for a lock that another session holds, in ms, 0 to 1,999,999,999; 0 is no bound.
   * Default 10,000.
   */
  readonly lockTimeoutMs?: number;
  /**
   * How long a transaction may stand still between two statements, in ms, 0 to 1,999,999,999; 0 is no bound. Then the
   * server ends its session. Default 60,000.
   */
  readonly idleTimeoutMs?: number;
  /** Parameters of its sessions, such as `synchronous_commit`. Default: every plan is made afresh. */
  readonly session?: Readonly<Record<string, string>>;
  /** `off` never listens: work is found by polling alone. Default `auto`. */
  readonly listen?: "auto" | "off";
}

/** The most connections of a process, where nothing is said. */
export const POOL_SIZE_DEFAULT: number = 10;

const END_GRACE_MS = 5000;
/** Below what PostgreSQL and timers here can hold, with room for the client's own wait. */
const BOUND_MS_END = 2_000_000_000;

const BOUND: Option = {
  ...integer({ min: 0, max: BOUND_MS_END - 1 }),
  expected: `an integer of ms from 0 and below ${BOUND_MS_END}; 0 is no bound`,
};
const TIMEOUT = limitMs({ max: TIMER_MS_MAX });

/** Each option of a transaction, and its bounds. */
export const TRANSACTION_OPTIONS: Options<TransactionOptions> = {
  isolation: oneOf(["read committed", "repeatable read", "serializable"]),
  statementTimeoutMs: BOUND,
  lockTimeoutMs: BOUND,
  idleTimeoutMs: BOUND,
};

/** Each option of a database, and its bounds. */
export const DATABASE_OPTIONS: Options<PostgresDatabaseOptions> = {
  url: UNCHECKED,
  schema: UNCHECKED,
  poolSize: {
    ...integer({ min: 1, max: Number.MAX_SAFE_INTEGER, default: POOL_SIZE_DEFAULT }),
    expected: "an integer from 1",
  },
  log: LOG,
  acquireTimeoutMs: { ...TIMEOUT, default: 10_000 },
  connectTimeoutMs: TIMEOUT,
  preparedStatements: flag(),
  statementTimeoutMs: { ...BOUND, default: DEFAULT_BOUNDS.statementTimeoutMs },
  lockTimeoutMs: { ...BOUND, default: DEFAULT_BOUNDS.lockTimeoutMs },
  idleTimeoutMs: { ...BOUND, default: DEFAULT_BOUNDS.idleTimeoutMs },
  session: {
    expected: "parameters of PostgreSQL and their values, as texts",
    accepts: (session) =>
      typeof session === "object" && session !== null && !Array.isArray(session) &&
      Object.values(session).every(text().accepts),
  },
  listen: { ...oneOf(["auto", "off"]), expected: '"auto" or "off"' },
};

/** The most statements whose text with the schema's name is kept. Ours are fewer. */
const STATEMENTS_MAX = 500;

const EMPTY_NOTIFY_QUEUE = `select ${USAGE}`;

/** A PostgreSQL database through postgres.js. Connections are made when they are first needed. */
export class PostgresDatabase implements Database {
  /** The schema that the tables live in, as it was given. */
  readonly schema: string;
  /** The same, quoted for SQL. */
  readonly quotedSchema: string;
  /** Where it tells of what went wrong. */
  readonly log: Log;
  readonly #closing: AbortController = new AbortController();
  readonly #pool: ConnectionPool;
  readonly #listener: Listener | null;
  readonly #contact: Contact;
  readonly #notifyQueue: NotifyQueue;
  /** For how long its sessions may do what. */
  readonly bounds: Bounds;
  /** Whether a transaction pooler was said to be in between, so that its sessions say nothing when they begin. */
  readonly isPooled: boolean;
  readonly #sessions: SessionCheck;
  readonly #statements: Map<string, string> = new Map();

  private constructor(
    options: PostgresDatabaseOptions,
    { contact, route, rowSecurity, notifyQueue }: Shared,
  ) {
    const given = resolveOptions("the options of a database", options, DATABASE_OPTIONS);
    this.#contact = contact;
    this.#notifyQueue = notifyQueue;
    this.schema = options.schema ?? "millrace";
    checkSchemaName(this.schema);
    const address = readConnectionUrl(options.url);
    const [size, acquireTimeoutMs] = [given.poolSize!, given.acquireTimeoutMs!];
    const connectTimeoutMs = options.connectTimeoutMs ?? address.connectTimeoutMs ?? 10_000;
    if (!TIMEOUT.accepts(connectTimeoutMs)) {
      throw new InvalidOptionError("connectTimeoutMs", connectTimeoutMs, TIMEOUT.expected);
    }
    this.quotedSchema = quoteIdentifier(this.schema);
    this.bounds = boundsOf(given, DEFAULT_BOUNDS);
    this.isPooled = !(options.preparedStatements ?? !address.isPooled);
    this.log = options.log ?? silentLog;
    const unseen: ClientOptions = {
      address,
      preparedStatements: !this.isPooled,
      connectTimeoutMs,
      session: options.session ?? FRESH_PLANS,
      bounds: this.bounds,
    };
    const { quotedSchema, log } = this;
    this.#sessions = new SessionCheck({ client: unseen, quotedSchema, route, rowSecurity, log });
    const client: ClientOptions = { ...unseen, contact, look: (each) => this.#sessions.look(each) };
    this.#pool = new ConnectionPool({ client, size, acquireTimeoutMs });
    this.#listener = options.listen === "off" ? null : new Listener({
      client: { ...unseen, bounds: tighter(this.bounds, PULSE_BOUNDS) },
      log,
      notifyQueue,
      notify: (channel, payload) => this.#notifyRaw(channel, payload),
    });
    contact.onAnswer(() => this.#listener?.retrySoon());
  }

  /**
   * Makes a database of a URL. It connects at the first statement. Databases that are one and the same share what they
   * find out about it.
   *
   * @throws {InvalidOptionError} an option is out of its range.
   */
  static connect(options: PostgresDatabaseOptions, shared: Shared = newShared()): PostgresDatabase {
    return new PostgresDatabase(options, shared);
  }

  /** Whether its sessions have the settings that they ask for, as far as is known. */
  get keepsSettings(): boolean {
    return this.#sessions.keepsSettings;
  }

  /**
   * Runs one statement by itself. `{schema}` in it stands for the quoted schema name. It is prepared, so the text
   * should be constant.
   *
   * @throws {ConnectionTimeoutError} no connection came free within the bound; nothing was done.
   * @throws {StatementTimeoutError} the server has ended it at its bound; nothing was done.
   * @throws {DatabaseUnavailableError} the database can't be reached; the outcome is unknown.
   */
  query(text: string, params: readonly TxParam[] = []): Promise<readonly TxRow[]> {
    return this.#query(text, params, this.bounds);
  }

  /** The same connections, whose statements take at most `statementTimeoutMs`, or less where the options say so. */
  within(statementTimeoutMs: number): Statements {
    const bounds = tighter(this.bounds, {
      statementTimeoutMs,
      lockTimeoutMs: 0,
      idleTimeoutMs: statementTimeoutMs,
    });
    return {
      query: (text, params = []) => this.#query(text, params, bounds),
      transaction: (body) => this.transaction(body, bounds),
    };
  }

  /**
   * Runs a function inside a transaction: commits when it resolves, rolls back when it throws.
   *
   * @throws {ConnectionTimeoutError} no connection came free within the bound; nothing was done.
   * @throws {InvalidOptionError} an option is out of its range.
   */
  async transaction<T>(body: (tx: Transaction) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    checkOptions("the options of a transaction", options, TRANSACTION_OPTIONS);
    const bounds = boundsOf(options, this.bounds);
    return await this.#pool.use((client) => this.#transact(client, body, options, bounds));
  }

  /** Subscribes to a channel of this schema. All subscriptions share one connection, which recovers by itself. */
  async listen(channel: string, observer: ChannelObserver): Promise<ChannelSubscription> {
    const subscription = await this.#listener?.subscribe(channelName(this.schema, channel), observer);
    // Also where it can't listen, or not yet.
    const forget = this.#contact.onAnswer(() => observer.ready());
    return {
      get listening(): boolean {
        return subscription?.listening === true;
      },
      close: async () => {
        forget();
        await subscription?.close();
      },
    };
  }

  /** Sends a message to a channel of this schema, at once. */
  notify(channel: string, payload: string): Promise<void> {
    return this.#notifyRaw(channelName(this.schema, channel), payload);
  }

  /**
   * Brings the tables of one part to its newest step. Idempotent, and safe when many processes do it at once. Newer
   * tables are left alone.
   *
   * @throws {BreakingMigrationError} a breaking step is due, and was not asked for; nothing was done.
   * @throws {SchemaVersionError} the tables are newer, and programs with these steps can't go on with them.
   */
  migrate(name: string, steps: readonly MigrationStep[], options?: MigrateOptions): Promise<void> {
    return migrate(this, name, steps, options);
  }

  /**
   * Checks that a program with these steps can work on the tables of one part. Says so in the log where they are newer.
   *
   * @throws {SchemaVersionError} it can't.
   */
  checkMigrated(name: string, steps: readonly MigrationStep[]): Promise<void> {
    return checkMigrated(this, name, steps);
  }

  /** Takes the tables of one part back to a version, 0 by default. What they held is lost. */
  migrateDown(name: string, steps: readonly MigrationStep[], version?: number): Promise<void> {
    return migrateDown(this, name, steps, version);
  }

  /** The version that the tables of one part are at; 0 when there are none. */
  migratedTo(name: string): Promise<number> {
    return migratedTo(this, name);
  }

  /** A statement with the schema's name in it. Texts are constants, so each is put together once. */
  statement(text: string): string {
    let statement = this.#statements.get(text);
    if (statement === undefined) {
      statement = substitute(text, this.schema);
      if (this.#statements.size < STATEMENTS_MAX) this.#statements.set(text, statement);
    }
    return statement;
  }

  /** Aborted when the connections are closed. */
  get closed(): AbortSignal {
    return this.#closing.signal;
  }

  /**
   * Looks at a session as the role and the pooler give it, and tells of what is tighter than our own bounds.
   *
   * @throws {SessionSettingsError} a pooler shares its sessions, with settings under which statements go wrong.
   * @throws {DatabaseSetupError} row level security may hide rows from the role.
   */
  async checkSessions(): Promise<void> {
    await this.#sessions.atStart(this);
  }

  /** Ends all connections; waits at most 5 s for statements that run. Idempotent. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#listener?.close();
    await this.#pool.end(END_GRACE_MS);
  }

  async #query(text: string, params: readonly TxParam[], bounds: Bounds): Promise<readonly TxRow[]> {
    const statement = this.statement(text);
    let spent = false;
    const run = () =>
      this.#pool.use(async (client) => {
        try {
          return await client.run(statement, params, { prepare: true, alone: true, bounds });
        } finally {
          spent = client.isSpent;
        }
      });
    try {
      return await run();
    } catch (error) {
      // Nothing was done, and what refused it is thrown away: after a switch-over all of a pool may be like it.
      if (spent && isRefusedBySession(error)) return await run();
      // Nor here, and the queue may be full of what all have read.
      if (isNotifyQueueFull(error)) {
        await this.#pool.use((client) => this.#emptyNotifyQueue(client));
        return await run();
      }
      throw error;
    }
  }

  async #transact<T>(
    client: Client,
    body: (tx: Transaction) => Promise<T>,
    options: TransactionOptions,
    bounds: Bounds,
  ): Promise<T> {
    let open = true;
    let isUntouched = true;
    const begin = () => client.run(this.#begin(client, options, bounds), [], { bounds });
    const tx: Transaction = {
      unsafe: async (text, params = []) => {
        if (!open) throw new Error("Cannot use a transaction that has ended");
        const isFirst = isUntouched;
        isUntouched = false;
        try {
          return await client.run(this.statement(text), params, { prepare: true, bounds });
        } catch (error) {
          // Only what the session had prepared was missing, and nothing was done in the transaction yet.
          if (!isFirst || !isStalePlan(error)) throw error;
          await client.run("rollback", []);
          await begin();
          return await client.run(this.statement(text), params, { bounds });
        }
      },
    };
    await client.open();
    try {
      await begin();
      const result = await body(tx);
      open = false;
      // A transaction that failed and whose error was swallowed would be rolled back by this without a word.
      const done = await client.run("commit", [], { bounds });
      if (Reflect.get(done, "command") === "ROLLBACK") {
        throw new DatabaseUnavailableError("The transaction was rolled back: a statement in it had failed");
      }
      return result;
    } catch (error) {
      open = false;
      await client.run("rollback", []).catch(() => client.destroy());
      if (isNotifyQueueFull(error)) await this.#emptyNotifyQueue(client).catch(() => {});
      throw error;
    }
  }

  /** Takes out of the queue of notifications what can be, which is nothing while a session holds it up. */
  async #emptyNotifyQueue(client: Client): Promise<void> {
    this.#notifyQueue.noteFull();
    await client.run(EMPTY_NOTIFY_QUEUE, []);
  }

  /** In one message with the bounds that the session does not have already. */
  #begin(client: Client, options: TransactionOptions, bounds: Bounds): string {
    const own = boundParameters(this.bounds);
    const wanted = Object.entries(boundParameters(bounds))
      .filter(([name, value]) => !client.keepsSettings || value !== own[name])
      .map(([name, value]) => `; set local ${name} = ${value}`);
    return `begin isolation level ${options.isolation ?? "read committed"}${wanted.join("")}`;
  }

  async #notifyRaw(channel: string, payload: string): Promise<void> {
    await this.query("select pg_notify($1::text, $2::text)", [channel, payload]);
  }
}

/** The bounds that were given, and of a default what was not. */
function boundsOf(given: Partial<Bounds>, defaults: Bounds): Bounds {
  return {
    statementTimeoutMs: given.statementTimeoutMs ?? defaults.statementTimeoutMs,
    lockTimeoutMs: given.lockTimeoutMs ?? defaults.lockTimeoutMs,
    idleTimeoutMs: given.idleTimeoutMs ?? defaults.idleTimeoutMs,
  };
}
