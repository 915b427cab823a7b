import type { Transaction, TransactionOptions } from "../../../ports/database.ts";
import {
  DatabaseUnavailableError,
  StatementTimeoutError,
  TransactionConflictError,
} from "../../../ports/errors.ts";
import type { Log } from "../../../ports/log.ts";
import type { TxRow } from "../../../ports/tx.ts";
import { Pause } from "../../../shared/pause.ts";
import { migrationLockKey } from "../sql/identifiers.ts";
import type { Statements } from "../sql/statements.ts";

/** A database as migrations see it. */
export interface SchemaDatabase extends Statements {
  /** The schema's name, not quoted. */
  readonly schema: string;
  /** Where it is told what a migration waits for. */
  readonly log: Log;
  /** Aborted when the database is closed. */
  readonly closed: AbortSignal;

  /** Runs a function inside a transaction. */
  transaction<T>(body: (tx: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>;
}

/**
 * How long a step waits for a lock on a table, in ms. All that uses the table stands in line behind it meanwhile, so it
 * gives up soon and tries again.
 */
const STEP_LOCK_MS = 1000;
const STEP_PAUSE_MS_FIRST = 500;
const STEP_PAUSE_MS_MAX = 10_000;

const TURN_PAUSE_MS_FIRST = 25;
const TURN_PAUSE_MS_MAX = 200;

/** When it is told first what is waited for, and how much longer it takes until the next time. */
const TELL_AFTER_MS = 2000;
const TELL_FACTOR = 4;
const TELL_EVERY_MS_MAX = 5 * 60_000;

/** Freed at the end of the transaction, whatever becomes of the process, and behind a transaction pooler too. */
const TRY_LOCK = "select pg_try_advisory_xact_lock($1::text::bigint) as taken";

/** PostgreSQL 17 and later have it; an older one must not be asked to set it. */
const NO_TRANSACTION_BOUND = `
  select set_config(name, '0', true) from pg_catalog.pg_settings where name = 'transaction_timeout' and setting <> '0'`;

const WHO = `a.pid, a.application_name as application, a.usename as role, a.state,
    round(extract(epoch from clock_timestamp() - coalesce(a.xact_start, a.state_change, a.backend_start)))::int as seconds`;

const LOCK_HOLDERS = `
  select ${WHO}
  from pg_catalog.pg_locks l join pg_catalog.pg_stat_activity a using (pid)
  where l.locktype = 'advisory' and l.granted and l.objsubid = 1
    and l.database = (select oid from pg_catalog.pg_database where datname = current_database())
    and (l.classid::bigint << 32) | l.objid::bigint = $1::text::bigint`;

const TABLE_HOLDERS = `
  select distinct ${WHO}
  from pg_catalog.pg_locks l
  join pg_catalog.pg_class c on c.oid = l.relation
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  join pg_catalog.pg_stat_activity a using (pid)
  where l.granted and n.nspname = $1::text and a.pid <> pg_backend_pid()
    and l.database = (select oid from pg_catalog.pg_database where datname = current_database())
  order by seconds desc
  limit 5`;

/** One piece of a migration. */
export interface Turn {
  /** The part that is migrated. */
  readonly part: string;
  /** Whether there is nothing left to do, which needs no lock. */
  readonly isDone: () => Promise<boolean>;
  /** Does it; nobody else migrates this schema meanwhile. */
  readonly body: (tx: Transaction) => Promise<void>;
}

/**
 * Runs a piece of a migration in a transaction of its own, when nobody else migrates the schema and the tables are
 * free. It waits without a connection and without queueing for a lock, and logs which sessions it waits for.
 *
 * @throws {DatabaseUnavailableError} the database was closed meanwhile.
 */
export async function takeTurn(database: SchemaDatabase, turn: Turn): Promise<void> {
  const waiting = new Waiting(database, turn.part);
  const key = migrationLockKey(database.schema);
  for (let lockPauseMs = TURN_PAUSE_MS_FIRST, stepPauseMs = STEP_PAUSE_MS_FIRST;;) {
    if (await turn.isDone()) return;
    try {
      if (await runLocked(database, key, turn.body)) return;
      await waiting.tell("another session holds the lock of migrations", LOCK_HOLDERS, key);
      await waiting.pause(lockPauseMs);
      lockPauseMs = Math.min(lockPauseMs * 2, TURN_PAUSE_MS_MAX);
    } catch (error) {
      if (!isInTheWay(error)) throw error;
      await waiting.tell(
        "another session holds a table that the step changes",
        TABLE_HOLDERS,
        database.schema,
      );
      await waiting.pause(stepPauseMs);
      stepPauseMs = Math.min(stepPauseMs * 2, STEP_PAUSE_MS_MAX);
    }
  }
}

/** Whether the lock was free, and the body has run. */
async function runLocked(
  database: SchemaDatabase,
  key: string,
  body: (tx: Transaction) => Promise<void>,
): Promise<boolean> {
  return await database.transaction(async (tx) => {
    const [lock] = await tx.unsafe(TRY_LOCK, [key]);
    if (lock?.taken !== true) return false;
    await tx.unsafe(NO_TRANSACTION_BOUND, []);
    await body(tx);
    return true;
    // A step may have a large table to rewrite.
  }, { statementTimeoutMs: 0, lockTimeoutMs: STEP_LOCK_MS });
}

function isInTheWay(error: unknown): boolean {
  return error instanceof TransactionConflictError ||
    (error instanceof StatementTimeoutError && error.bound === "lock");
}

/** The wait of one turn: it is told after 2 s, and then less and less often. */
class Waiting {
  readonly #database: SchemaDatabase;
  readonly #part: string;
  readonly #begunMs = performance.now();
  #tellAtMs = TELL_AFTER_MS;

  constructor(database: SchemaDatabase, part: string) {
    this.#database = database;
    this.#part = part;
  }

  async tell(reason: string, holders: string, param: string): Promise<void> {
    const waitedMs = Math.round(performance.now() - this.#begunMs);
    if (waitedMs < this.#tellAtMs) return;
    this.#tellAtMs = waitedMs + Math.min(waitedMs * (TELL_FACTOR - 1), TELL_EVERY_MS_MAX);
    const rows = await this.#database.query(holders, [param]).catch(() => []);
    const { log, schema } = this.#database;
    log.warn("migration waits", {
      schema,
      part: this.#part,
      waitedMs,
      reason,
      heldBy: rows.map(shown).join("; "),
    });
  }

  /** @throws {DatabaseUnavailableError} the database was closed. */
  async pause(ms: number): Promise<void> {
    const { closed } = this.#database;
    await new Pause().for(ms * (0.75 + Math.random() / 2), closed);
    if (closed.aborted) {
      throw new DatabaseUnavailableError(
        `The migration of ${this.#part} was given up while it waited: the database connections were closed by this process`,
      );
    }
  }
}

/** What a role may not see of others' sessions is null. */
function shown({ pid, application, role, state, seconds }: TxRow): string {
  const who = `pid ${pid} (${application || "no application name"}, role ${role})`;
  return state === null ? who : `${who}, ${state} for ${seconds} s`;
}
