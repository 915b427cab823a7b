import { show } from "./show.ts";

/** The conditions that a caller may want to catch, each with the fields needed to act on it. */

/** How much of a path in a value a message shows, in characters. */
const PATH_SHOWN_MAX = 200;
/** And of an id, which may be anything that somebody took for one. */
const ID_SHOWN_MAX = 100;

/** A composition has faults. All of them are listed, not just the first. */
export class CompositionError extends Error {
  /** The name of the class. */
  override readonly name = "CompositionError";
  /** One sentence each, naming the declaration and what was expected. */
  readonly faults: readonly string[];

  /** Joins the faults into one message. */
  constructor(faults: readonly string[]) {
    super(
      `Cannot build the runtime, the composition has ${faults.length} fault(s):\n- ${faults.join("\n- ")}`,
    );
    this.faults = faults;
  }
}

/** A job of a kind that no registrar declares was to be enqueued. */
export class UndeclaredKindError extends Error {
  /** The name of the class. */
  override readonly name = "UndeclaredKindError";
  /** The kind that was asked for. */
  readonly kind: string;

  /** Names the kind and what is declared. */
  constructor(kind: string, declared: Iterable<string>) {
    super(
      `Cannot enqueue a job of kind ${show(kind)}: it is not declared, declared are ${list(declared)}`,
    );
    this.kind = kind;
  }
}

/** A queue that the queue table does not hold was named. */
export class UndeclaredQueueError extends Error {
  /** The name of the class. */
  override readonly name = "UndeclaredQueueError";
  /** The queue that was asked for. */
  readonly queue: string;

  /** Names the queue and what is declared. */
  constructor(queue: string, declared: Iterable<string>) {
    super(
      `Cannot use the queue ${show(queue)}: it is not declared, declared are ${list(declared)}`,
    );
    this.queue = queue;
  }
}

/** A periodic that no registrar declares was named. */
export class UndeclaredPeriodicError extends Error {
  /** The name of the class. */
  override readonly name = "UndeclaredPeriodicError";
  /** The periodic that was asked for. */
  readonly periodic: string;

  /** Names the periodic and what is declared. */
  constructor(periodic: string, declared: Iterable<string>) {
    super(
      `Cannot run the periodic ${show(periodic)}: it is not declared, declared are ${list(declared)}`,
    );
    this.periodic = periodic;
  }
}

/** An event of a type that no registrar declares was to be recorded. */
export class UndeclaredEventTypeError extends Error {
  /** The name of the class. */
  override readonly name = "UndeclaredEventTypeError";
  /** The type that was asked for. */
  readonly type: string;

  /** Names the type and what is declared. */
  constructor(type: string, declared: Iterable<string>) {
    super(
      `Cannot record an event of type ${show(type)}: it is not declared, declared are ${list(declared)}`,
    );
    this.type = type;
  }
}

/** There is no event of this id. It never committed, or retention has deleted it. */
export class EventNotFoundError extends Error {
  /** The name of the class. */
  override readonly name = "EventNotFoundError";
  /** The id that was asked for. */
  readonly eventId: string;

  /** Names the id. */
  constructor(eventId: string) {
    super(`There is no event ${shownId(eventId)}: it never committed, or retention has deleted it`);
    this.eventId = eventId;
  }
}

/** An event that is not poisoned can't be requeued or dropped: it waits for its fan-out, or has been fanned out. */
export class EventNotPoisonedError extends Error {
  /** The name of the class. */
  override readonly name = "EventNotPoisonedError";
  /** The event. */
  readonly eventId: string;

  /** Names the id and the state. */
  constructor(eventId: string, state: string) {
    super(`Cannot requeue or drop event ${eventId}: it is ${state}, expected poisoned`);
    this.eventId = eventId;
  }
}

/** A value is not JSON, or JSON that the store can't hold. Nothing was sent to the database. */
export class InvalidJsonError extends TypeError {
  /** The name of the class. */
  override readonly name = "InvalidJsonError";
  /** Where in the value: `args.items[3].note`. */
  readonly path: string;

  /** Names the path, what is there and what was expected. */
  constructor(path: string, found: string, options?: ErrorOptions) {
    super(
      `Cannot store ${
        path.length > PATH_SHOWN_MAX ? `${path.slice(0, PATH_SHOWN_MAX)}...` : path
      } as JSON: ${found}`,
      options,
    );
    this.path = path;
  }
}

/** A value is larger than a documented bound. */
export class TooLargeError extends RangeError {
  /** The name of the class. */
  override readonly name = "TooLargeError";
  /** The bound that was passed, in the unit that the message names. */
  readonly max: number;

  /** Names the thing, its size and its bound. */
  constructor(what: string, actual: number, max: number, unit: string, options?: ErrorOptions) {
    super(`Cannot store ${what} of ${actual} ${unit}: the most is ${max} ${unit}`, options);
    this.max = max;
  }
}

/** An option is out of its range. */
export class InvalidOptionError extends RangeError {
  /** The name of the class. */
  override readonly name = "InvalidOptionError";
  /** The option's name. */
  readonly option: string;

  /** Names the option, its value and what was expected. */
  constructor(option: string, value: unknown, expected: string) {
    super(`Cannot use ${option} ${show(value)}: expected ${expected}`);
    this.option = option;
  }
}

/** There is no job of this id. It never committed, or retention has purged it. */
export class JobNotFoundError extends Error {
  /** The name of the class. */
  override readonly name = "JobNotFoundError";
  /** The id that was asked for. */
  readonly jobId: string;

  /** Names the id. */
  constructor(jobId: string) {
    super(`There is no job ${shownId(jobId)}: it never committed, or retention has purged it`);
    this.jobId = jobId;
  }
}

/** A job that is running can't be put back in line. Cancel it first, or wait for its end. */
export class JobRunningError extends Error {
  /** The name of the class. */
  override readonly name = "JobRunningError";
  /** The job that runs. */
  readonly jobId: string;

  /** Names the id. */
  constructor(jobId: string) {
    super(`Cannot retry job ${jobId} while it runs: cancel it first, or wait for its end`);
    this.jobId = jobId;
  }
}

/** A job can't be put back in line: another job holds its unique key. */
export class UniqueConflictError extends Error {
  /** The name of the class. */
  override readonly name = "UniqueConflictError";
  /** The job that was to be retried. */
  readonly jobId: string;
  /** The job that holds the key. */
  readonly holderId: string;

  /** Names both jobs. */
  constructor(jobId: string, holderId: string) {
    super(`Cannot retry job ${jobId}: job ${holderId} of the same kind holds its unique key`);
    this.jobId = jobId;
    this.holderId = holderId;
  }
}

/** The run is no longer the job's: it was cancelled, rescued, or has ended already. */
export class FenceLostError extends Error {
  /** The name of the class. */
  override readonly name = "FenceLostError";
  /** The job of the run. */
  readonly jobId: string;

  /** Names the job and what the handler should do. */
  constructor(jobId: string) {
    super(
      `Cannot complete job ${jobId} in this transaction: the run is no longer the job's ` +
        `(cancelled, rescued or ended). Roll back: another run does or did the work`,
    );
    this.jobId = jobId;
  }
}

/** A confined handler called a module that it may not call, or asked for more than it may do itself. Nothing ran. */
export class CallNotAllowedError extends Error {
  /** The name of the class. */
  override readonly name = "CallNotAllowedError";
  /** The module that was to be called. */
  readonly module: string;
  /** What goes beyond the caller: `net: example.com`, or `module`. */
  readonly beyond: readonly string[];

  /** Names the module and what goes beyond the caller. */
  constructor(module: string, beyond: readonly string[]) {
    const what = beyond.includes("module")
      ? "its caller could not import it, expected a file of the caller's own module graph or under its read " +
        "permission, or a URL on a host of its import permission"
      : `the call asks for more than its caller may do: ${beyond.join(", ")}`;
    super(`Cannot call ${show(module)}: ${what}`);
    this.module = module;
    this.beyond = beyond;
  }
}

/** Another transaction got in the way (SQLSTATE class 40). Run the whole transaction again. */
export class TransactionConflictError extends Error {
  /** The name of the class. */
  override readonly name = "TransactionConflictError";
  /** The five-character SQLSTATE. */
  readonly sqlState: string;

  /** Keeps the driver's error as the cause. */
  constructor(sqlState: string, options: ErrorOptions) {
    super(
      `Another transaction got in the way (SQLSTATE ${sqlState}): run the whole transaction again`,
      options,
    );
    this.sqlState = sqlState;
  }
}

/**
 * The database can't be reached, the connection broke, or the server lacks what it needs, such as space on its disk.
 * Whether the statement took effect is unknown. Or it did, and no synchronous standby has confirmed that: the message
 * says so.
 */
export class DatabaseUnavailableError extends Error {
  /** The name of the class. */
  override readonly name = "DatabaseUnavailableError";

  /** Keeps the driver's error as the cause. */
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
  }
}

/**
 * The database refuses what no retry mends, and a person can: a wrong password, a database that does not exist, tables
 * that were not migrated, a missing right, a pooler that must be told of. Nothing was stored.
 */
export class DatabaseSetupError extends Error {
  /** The name of the class. */
  override readonly name = "DatabaseSetupError";
  /** The five-character SQLSTATE: `28P01`, `3D000`, `42P01`, ... */
  readonly sqlState: string;

  /** Keeps the driver's error as the cause. The message ends with what to do. */
  constructor(sqlState: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.sqlState = sqlState;
  }
}

/**
 * The transaction that a call was made in had ended before its statement could be sent. Nothing was stored by the call.
 */
export class TransactionEndedError extends Error {
  /** The name of the class. */
  override readonly name = "TransactionEndedError";

  /** Says what to do. */
  constructor(options?: ErrorOptions) {
    super(
      "Cannot use this transaction: it has ended since the call. Nothing was stored: await what you do with a " +
        "transaction inside of it, and keep it for nothing later",
      options,
    );
  }
}

/** A confined handler's job order goes beyond its kind's `permissions.enqueue`. Nothing was stored. */
export class EnqueueNotAllowedError extends Error {
  /** The name of the class. */
  override readonly name = "EnqueueNotAllowedError";
  /** What goes beyond: the name of a kind, or `cancel`. */
  readonly beyond: readonly string[];

  /** Names the handler's kind and what goes beyond. */
  constructor(kind: string, beyond: readonly string[]) {
    super(
      `Cannot do this as a handler of kind ${show(kind)}: its permissions do not allow ${
        beyond.map(show).join(", ")
      }, expected the kinds in permissions.enqueue, or true for all kinds and for cancel()`,
    );
    this.beyond = beyond;
  }
}

/**
 * The database has ended a statement at its bound, and nothing was done. `lock`: another session holds what it needed,
 * such as a row or a table that a migration locks. `statement`: it took too long.
 */
export class StatementTimeoutError extends Error {
  /** The name of the class. */
  override readonly name = "StatementTimeoutError";
  /** Which bound it was. */
  readonly bound: "lock" | "statement";
  /** The bound, in ms; null when it is the session's own and not known here. */
  readonly boundMs: number | null;

  /** Names the bound and what to do. Keeps the driver's error as the cause. */
  constructor(bound: "lock" | "statement", boundMs: number | null, options?: ErrorOptions) {
    const ms = boundMs === null ? "the session's bound" : `${boundMs} ms`;
    super(
      bound === "lock"
        ? `Another session has held a lock that this statement needs for longer than ${ms}: nothing was done, ` +
          `try again, and look in pg_locks for who holds it (PostgreSQL's lock_timeout)`
        : `The statement took longer than ${ms}: the database has ended it and nothing was done ` +
          `(PostgreSQL's statement_timeout)`,
      options,
    );
    this.bound = bound;
    this.boundMs = boundMs;
  }
}

/**
 * A job was not enqueued, for a transaction that has not ended holds its unique key: whether that job will exist is not
 * decided yet. Nothing was stored.
 */
export class UniqueKeyHeldError extends Error {
  /** The name of the class. */
  override readonly name = "UniqueKeyHeldError";
  /** The kind of the job; of the first one where there were several. */
  readonly kind: string;
  /** How long was waited, in ms. */
  readonly waitedMs: number;

  /** Names the kind, the wait and what to do. */
  constructor(kind: string, waitedMs: number, options?: ErrorOptions) {
    super(
      `Cannot enqueue a job of kind ${
        show(kind)
      }: another transaction has held its unique key for ${waitedMs} ms ` +
        `and has not ended. Nothing was stored: enqueue it again later, and look in pg_stat_activity for ` +
        `the transaction`,
      options,
    );
    this.kind = kind;
    this.waitedMs = waitedMs;
  }
}

/** A setting of a session that is not as it must be. */
export interface SessionSetting {
  /** The parameter of PostgreSQL. */
  readonly parameter: string;
  /** Its value in the session. */
  readonly value: string;
  /** The value that is needed. */
  readonly expected: string;
}

/** The role, the database or the pooler gives its sessions settings with which this program would go wrong. */
export class SessionSettingsError extends Error {
  /** The name of the class. */
  override readonly name = "SessionSettingsError";
  /** The first parameter of PostgreSQL that is wrong. */
  readonly parameter: string;
  /** All that are wrong; at least one. */
  readonly settings: readonly SessionSetting[];

  /** Names each parameter, its value, what was expected, and what to do. */
  constructor(settings: readonly SessionSetting[]) {
    const found = settings.map(({ parameter, value, expected }) =>
      `${parameter} ${show(value)}, expected ${show(expected)}`
    );
    const remedies = settings.map(({ parameter, expected }) =>
      `alter role ... set ${parameter} = '${expected}'`
    );
    super(
      `Cannot work through this pooler: its sessions have ${
        found.join("; ")
      }. Behind a pooler that shares sessions ` +
        `or drops what they ask for only the role can say so: ${
          remedies.join("; ")
        }; then reconnect the pooler`,
    );
    this.parameter = settings[0]!.parameter;
    this.settings = settings;
  }
}

/** A process that is not on the record, for it was taken for dead or has left, can start nothing. */
export class OffTheRecordError extends Error {
  /** The name of the class. */
  override readonly name = "OffTheRecordError";
  /** The id of the process. */
  readonly owner: string;

  /** Names the process. */
  constructor(owner: string) {
    super(
      `Cannot start jobs as ${owner}: this process is not on the record, it was taken for dead or has left`,
    );
    this.owner = owner;
  }
}

/** No connection came free within the bound. Nothing was sent. */
export class ConnectionTimeoutError extends Error {
  /** The name of the class. */
  override readonly name = "ConnectionTimeoutError";
  /** How long was waited, in ms. */
  readonly waitedMs: number;

  /** Names the wait and what to change. */
  constructor(waitedMs: number, options?: ErrorOptions) {
    super(
      `No database connection came free within ${waitedMs} ms: raise the pool or the server's limit`,
      options,
    );
    this.waitedMs = waitedMs;
  }
}

/** The database refused the values of a statement (SQLSTATE class 22, 23 or 54). Nothing was stored. */
export class RefusedValueError extends Error {
  /** The name of the class. */
  override readonly name = "RefusedValueError";
  /** The five-character SQLSTATE. */
  readonly sqlState: string;

  /** Keeps the driver's error as the cause. */
  constructor(sqlState: string, message: string, options: ErrorOptions) {
    super(message, options);
    this.sqlState = sqlState;
  }
}

/**
 * A new job would have got the id of another one: the sequence of the ids is behind those in use, as a restore of the
 * tables alone or logical replication leaves it. Nothing was stored.
 */
export class IdSequenceBehindError extends Error {
  /** The name of the class. */
  override readonly name = "IdSequenceBehindError";
  /** The sequence, as SQL names it. */
  readonly sequence: string;
  /** Whether it has been moved ahead since, so that the whole transaction can be run again. */
  readonly isMended: boolean;

  /** Names the sequence and what to do. */
  constructor(sequence: string, isMended: boolean, options: ErrorOptions) {
    const remedy = isMended
      ? "it was moved ahead, run the whole transaction again"
      : "move it ahead with setval() as its owner";
    super(`Cannot enqueue: the sequence ${sequence} is behind the ids of the jobs: ${remedy}`, options);
    this.sequence = sequence;
    this.isMended = isMended;
  }
}

/**
 * The SQLSTATE that an error or one of its causes carries, whichever driver threw it; null when there is none.
 *
 * @example
 * ```ts
 * import { RefusedValueError, sqlStateOf } from "@millrace/millrace";
 *
 * sqlStateOf(new RefusedValueError("22P05", "It has no place in LATIN1", {})); // "22P05"
 * ```
 */
export function sqlStateOf(error: unknown): string | null {
  for (let depth = 0; error instanceof Error && depth < CAUSES_MAX; depth++, error = error.cause) {
    for (const field of ["sqlState", "code"]) {
      const state: unknown = Reflect.get(error, field);
      // Codes of the operating system begin with E, and some have five letters, too.
      if (typeof state === "string" && /^[0-9A-DF-Z][0-9A-Z]{4}$/.test(state)) return state;
    }
  }
  return null;
}

/** How many causes of causes are looked at. */
const CAUSES_MAX = 5;

/** The database's schema is not one that this program can work on. */
export class SchemaVersionError extends Error {
  /** The name of the class. */
  override readonly name = "SchemaVersionError";
  /** The version that the database has; 0 when there is none. */
  readonly found: number;
  /** The version that the program needs. */
  readonly needed: number;

  /** Says which one must change. */
  constructor(name: string, found: number, needed: number, options?: ErrorOptions) {
    const remedy = found < needed
      ? "run migrate(), the migrate program (for webhooks with --webhooks) or the worker program with --migrate first"
      : "older programs can't go on with the newer steps: deploy a newer one, or take the steps back with the program " +
        "that made them";
    super(
      `Cannot start on schema ${name}: it is at version ${found}, this program needs ${needed}: ${remedy}`,
      options,
    );
    this.found = found;
    this.needed = needed;
  }
}

/**
 * A schema was renamed or copied, and its functions still write into the schema of the old name. `migrate()` on the schema
 * makes them anew.
 */
export class SchemaRenamedError extends Error {
  /** The name of the class. */
  override readonly name = "SchemaRenamedError";
  /** The schema that was renamed or copied. */
  readonly schema: string;
  /** The name that its functions were made for. */
  readonly madeFor: string;

  /** Names both schemas and says what to do. */
  constructor(schema: string, madeFor: string) {
    super(
      `Cannot use schema ${schema}: its functions were made for the name ${madeFor} and write there: run migrate() on ` +
        `${schema}, or the migrate program with --schema ${JSON.stringify(schema)}`,
    );
    this.schema = schema;
    this.madeFor = madeFor;
  }
}

/** A step of a migration is due with which older programs can't go on, and nobody asked for it. */
export class BreakingMigrationError extends Error {
  /** The name of the class. */
  override readonly name = "BreakingMigrationError";
  /** The part whose tables the step changes. */
  readonly part: string;
  /** The step's version. */
  readonly version: number;

  /** Names the step and says how to ask for it. */
  constructor(part: string, version: number, step: string) {
    super(
      `Cannot make step ${version} (${step}) of ${part} unasked: older programs can't go on with it: when they may stop, ` +
        `start the worker program with --migrate, run the migrate program, or call migrate({ breaking: true })`,
    );
    this.part = part;
    this.version = version;
  }
}

/** This program is too old to work beside the one that migrated the schema. It may still enqueue. */
export class ProtocolTooOldError extends Error {
  /** The name of the class. */
  override readonly name = "ProtocolTooOldError";
  /** The protocol that this program speaks. */
  readonly protocol: number;
  /** The lowest one that may work on the schema. */
  readonly least: number;

  /** Names both and says what to do. */
  constructor(protocol: number, least: number, options?: ErrorOptions) {
    super(
      `Cannot work with protocol ${protocol}: a newer program has migrated the schema, which now requires ${least} or ` +
        `higher: deploy that program or a newer one, or take its migration back first`,
      options,
    );
    this.protocol = protocol;
    this.least = least;
  }
}

/** The pool is smaller than what the runtime needs to work at all. */
export class PoolTooSmallError extends RangeError {
  /** The name of the class. */
  override readonly name = "PoolTooSmallError";
  /** The size that was given. */
  readonly size: number;
  /** The smallest size that works. */
  readonly needed: number;

  /** Names both numbers. */
  constructor(size: number, needed: number) {
    super(`Cannot run with a pool of ${size} connection(s): the runtime needs at least ${needed}`);
    this.size = size;
    this.needed = needed;
  }
}

/** The runtime was used in a state in which it can't serve the call. */
export class RuntimeStateError extends Error {
  /** The name of the class. */
  override readonly name = "RuntimeStateError";
}

function shownId(id: string): string {
  const text = String(id);
  return text.length <= ID_SHOWN_MAX ? text : `${text.slice(0, ID_SHOWN_MAX)}...`;
}

function list(names: Iterable<string>): string {
  const quoted = [...names].map((name) => JSON.stringify(name));
  return quoted.length === 0 ? "none" : quoted.join(", ");
}
