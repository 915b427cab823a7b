import { show } from "./show.ts";

/** Errors that callers may want to catch, each with the fields needed to act on it. */

/** How many characters of a path a message shows. */
const PATH_SHOWN_MAX = 200;
/** How many characters of an id a message shows; callers may pass anything as an id. */
const ID_SHOWN_MAX = 100;

/** A composition has faults. Lists all of them, not just the first. */
export class CompositionError extends Error {
  /** The name of the class. */
  override readonly name = "CompositionError";
  /** The faults, one sentence each, naming the declaration and what was expected. */
  readonly faults: readonly string[];

  /** Joins the faults into one message. */
  constructor(faults: readonly string[]) {
    super(
      `Cannot build the runtime, the composition has ${faults.length} fault(s):\n- ${faults.join("\n- ")}`,
    );
    this.faults = faults;
  }
}

/** Thrown when a job is enqueued whose kind no registrar declares. */
export class UndeclaredKindError extends Error {
  /** The name of the class. */
  override readonly name = "UndeclaredKindError";
  /** The kind that was requested. */
  readonly kind: string;

  /** Names the kind and lists the declared ones. */
  constructor(kind: string, declared: Iterable<string>) {
    super(
      `Cannot enqueue a job of kind ${show(kind)}: it is not declared, declared are ${list(declared)}`,
    );
    this.kind = kind;
  }
}

/** Thrown when a call names a queue that is not in the queue table. */
export class UndeclaredQueueError extends Error {
  /** The name of the class. */
  override readonly name = "UndeclaredQueueError";
  /** The queue that was requested. */
  readonly queue: string;

  /** Names the queue and lists the declared ones. */
  constructor(queue: string, declared: Iterable<string>) {
    super(
      `Cannot use the queue ${show(queue)}: it is not declared, declared are ${list(declared)}`,
    );
    this.queue = queue;
  }
}

/** Thrown when a call names a periodic that no registrar declares. */
export class UndeclaredPeriodicError extends Error {
  /** The name of the class. */
  override readonly name = "UndeclaredPeriodicError";
  /** The periodic that was requested. */
  readonly periodic: string;

  /** Names the periodic and lists the declared ones. */
  constructor(periodic: string, declared: Iterable<string>) {
    super(
      `Cannot run the periodic ${show(periodic)}: it is not declared, declared are ${list(declared)}`,
    );
    this.periodic = periodic;
  }
}

/** Thrown when an event is recorded whose type no registrar declares. */
export class UndeclaredEventTypeError extends Error {
  /** The name of the class. */
  override readonly name = "UndeclaredEventTypeError";
  /** The type that was requested. */
  readonly type: string;

  /** Names the type and lists the declared ones. */
  constructor(type: string, declared: Iterable<string>) {
    super(
      `Cannot record an event of type ${show(type)}: it is not declared, declared are ${list(declared)}`,
    );
    this.type = type;
  }
}

/** There is no event with this id. It never committed, or retention has deleted it. */
export class EventNotFoundError extends Error {
  /** The name of the class. */
  override readonly name = "EventNotFoundError";
  /** The id that was requested. */
  readonly eventId: string;

  /** Names the id. */
  constructor(eventId: string) {
    super(`There is no event ${shownId(eventId)}: it never committed, or retention has deleted it`);
    this.eventId = eventId;
  }
}

/**
 * Thrown when an event that is not poisoned is requeued or dropped: it is waiting for its fan-out, or has been fanned
 * out.
 */
export class EventNotPoisonedError extends Error {
  /** The name of the class. */
  override readonly name = "EventNotPoisonedError";
  /** The event's id. */
  readonly eventId: string;

  /** Names the event and its state. */
  constructor(eventId: string, state: string) {
    super(`Cannot requeue or drop event ${eventId}: it is ${state}, expected poisoned`);
    this.eventId = eventId;
  }
}

/** A value is not JSON, or is JSON that the store can't hold. Nothing was sent to the database. */
export class InvalidJsonError extends TypeError {
  /** The name of the class. */
  override readonly name = "InvalidJsonError";
  /** The path of the fault in the value: `args.items[3].note`. */
  readonly path: string;

  /** Names the path, what was found there and what was expected. */
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

/** A value exceeds a documented bound. */
export class TooLargeError extends RangeError {
  /** The name of the class. */
  override readonly name = "TooLargeError";
  /** The bound that was exceeded, in the unit that the message names. */
  readonly max: number;

  /** Names the value, its size and its bound. */
  constructor(what: string, actual: number, max: number, unit: string, options?: ErrorOptions) {
    super(`Cannot store ${what} of ${actual} ${unit}: the most is ${max} ${unit}`, options);
    this.max = max;
  }
}

/** An option is invalid or out of range. */
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

/** There is no job with this id. It never committed, or retention has purged it. */
export class JobNotFoundError extends Error {
  /** The name of the class. */
  override readonly name = "JobNotFoundError";
  /** The id that was requested. */
  readonly jobId: string;

  /** Names the id. */
  constructor(jobId: string) {
    super(`There is no job ${shownId(jobId)}: it never committed, or retention has purged it`);
    this.jobId = jobId;
  }
}

/** A running job can't be retried. Cancel it first, or wait until it ends. */
export class JobRunningError extends Error {
  /** The name of the class. */
  override readonly name = "JobRunningError";
  /** The running job. */
  readonly jobId: string;

  /** Names the job. */
  constructor(jobId: string) {
    super(`Cannot retry job ${jobId} while it runs: cancel it first, or wait for its end`);
    this.jobId = jobId;
  }
}

/** A job can't be retried because another job holds its unique key. */
export class UniqueConflictError extends Error {
  /** The name of the class. */
  override readonly name = "UniqueConflictError";
  /** The job to retry. */
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

/** The run no longer owns the job: it was cancelled or rescued, or has already ended. */
export class FenceLostError extends Error {
  /** The name of the class. */
  override readonly name = "FenceLostError";
  /** The run's job. */
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

/**
 * A confined handler called a module that it may not call, or requested permissions that it doesn't have. Nothing ran.
 */
export class CallNotAllowedError extends Error {
  /** The name of the class. */
  override readonly name = "CallNotAllowedError";
  /** The module to call. */
  readonly module: string;
  /** What exceeds the caller's permissions: `net: example.com`, or `module`. */
  readonly beyond: readonly string[];

  /** Names the module and what exceeds the caller's permissions. */
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

/** The transaction conflicted with another one (SQLSTATE class 40). Run the whole transaction again. */
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
 * The database can't be reached, the connection broke, or the server is out of a resource, for example disk space. It
 * is unknown whether the statement took effect, unless the message says that it did and that no synchronous standby has
 * confirmed it.
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
 * The database refused for a reason that a retry can't fix but a person can: a wrong password, a database that doesn't
 * exist, unmigrated tables, a missing privilege, or a pooler that must be declared. Nothing was stored.
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

/** The call's transaction ended before its statement could be sent. The call stored nothing. */
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

/**
 * A confined handler enqueued or cancelled something that its kind's `permissions.enqueue` doesn't allow. Nothing was
 * stored.
 */
export class EnqueueNotAllowedError extends Error {
  /** The name of the class. */
  override readonly name = "EnqueueNotAllowedError";
  /** What is not allowed: names of kinds, or `cancel`. */
  readonly beyond: readonly string[];

  /** Names the handler's kind and what is not allowed. */
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
 * The database ended a statement at a time limit, and nothing was done. `lock`: another session held something the
 * statement needed, for example a row, or a table that a migration has locked. `statement`: the statement took too
 * long.
 */
export class StatementTimeoutError extends Error {
  /** The name of the class. */
  override readonly name = "StatementTimeoutError";
  /** Which limit was reached. */
  readonly bound: "lock" | "statement";
  /** The limit, in ms; null when it is the session's own and unknown here. */
  readonly boundMs: number | null;

  /** Names the limit and what to do. Keeps the driver's error as the cause. */
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
 * A job was not enqueued because an open transaction holds its unique key: whether the holder's job will exist is still
 * undecided. Nothing was stored.
 */
export class UniqueKeyHeldError extends Error {
  /** The name of the class. */
  override readonly name = "UniqueKeyHeldError";
  /** The job's kind; the first job's when there were several. */
  readonly kind: string;
  /** How long the call waited, in ms. */
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

/** A session setting that has the wrong value. */
export interface SessionSetting {
  /** The PostgreSQL parameter. */
  readonly parameter: string;
  /** Its value in the session. */
  readonly value: string;
  /** The required value. */
  readonly expected: string;
}

/** The role, the database or the pooler gives its sessions settings under which this program would misbehave. */
export class SessionSettingsError extends Error {
  /** The name of the class. */
  override readonly name = "SessionSettingsError";
  /** The first PostgreSQL parameter that is wrong. */
  readonly parameter: string;
  /** All wrong settings; at least one. */
  readonly settings: readonly SessionSetting[];

  /** Names each parameter, its value, the expected value, and what to do. */
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

/** This process is no longer registered, because it was taken for dead or has left, so it can't start anything. */
export class OffTheRecordError extends Error {
  /** The name of the class. */
  override readonly name = "OffTheRecordError";
  /** The process's id. */
  readonly owner: string;

  /** Names the process. */
  constructor(owner: string) {
    super(
      `Cannot start jobs as ${owner}: this process is not on the record, it was taken for dead or has left`,
    );
    this.owner = owner;
  }
}

/** No connection became free within the time limit. Nothing was sent. */
export class ConnectionTimeoutError extends Error {
  /** The name of the class. */
  override readonly name = "ConnectionTimeoutError";
  /** How long the call waited, in ms. */
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

/** The database refused a statement's values (SQLSTATE class 22, 23 or 54). Nothing was stored. */
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
 * A new job would have received the id of an existing one: the id sequence is behind the ids in use, as it is after
 * logical replication or a restore of the tables alone. Nothing was stored.
 */
export class IdSequenceBehindError extends Error {
  /** The name of the class. */
  override readonly name = "IdSequenceBehindError";
  /** The sequence's name in SQL. */
  readonly sequence: string;
  /** Whether the sequence has since been moved ahead, so that the whole transaction can be run again. */
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
 * Returns the SQLSTATE of an error or of one of its causes, whichever driver threw it; null when there is none.
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
      // Operating system error codes begin with E, and some of them have five letters too.
      if (typeof state === "string" && /^[0-9A-DF-Z][0-9A-Z]{4}$/.test(state)) return state;
    }
  }
  return null;
}

/** How many nested causes are searched. */
const CAUSES_MAX = 5;

/** The program can't work with the database's schema. */
export class SchemaVersionError extends Error {
  /** The name of the class. */
  override readonly name = "SchemaVersionError";
  /** The database's version; 0 when it has none. */
  readonly found: number;
  /** The version that the program needs. */
  readonly needed: number;

  /** Says whether the database or the program must change. */
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
 * A schema was renamed or copied, and its functions still write to the schema with the old name. Run `migrate()` on the
 * schema to recreate them.
 */
export class SchemaRenamedError extends Error {
  /** The name of the class. */
  override readonly name = "SchemaRenamedError";
  /** The renamed or copied schema. */
  readonly schema: string;
  /** The schema name that its functions were created for. */
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

/** A pending migration step would lock out older programs, and breaking steps were not requested. */
export class BreakingMigrationError extends Error {
  /** The name of the class. */
  override readonly name = "BreakingMigrationError";
  /** The part whose tables the step changes. */
  readonly part: string;
  /** The step's version. */
  readonly version: number;

  /** Names the step and how to request it. */
  constructor(part: string, version: number, step: string) {
    super(
      `Cannot make step ${version} (${step}) of ${part} unasked: older programs can't go on with it: when they may stop, ` +
        `start the worker program with --migrate, run the migrate program, or call migrate({ breaking: true })`,
    );
    this.part = part;
    this.version = version;
  }
}

/** This program is too old to work alongside the one that migrated the schema. It may still enqueue. */
export class ProtocolTooOldError extends Error {
  /** The name of the class. */
  override readonly name = "ProtocolTooOldError";
  /** The protocol that this program speaks. */
  readonly protocol: number;
  /** The lowest protocol that may work on the schema. */
  readonly least: number;

  /** Names both protocols and what to do. */
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

/** The pool is smaller than the runtime's minimum. */
export class PoolTooSmallError extends RangeError {
  /** The name of the class. */
  override readonly name = "PoolTooSmallError";
  /** The configured size. */
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

/** The runtime can't serve the call in its current state. */
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
