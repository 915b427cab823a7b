import {
  DatabaseSetupError,
  DatabaseUnavailableError,
  RefusedValueError,
  StatementTimeoutError,
  TransactionConflictError,
} from "../../../ports/errors.ts";
import { PART_TOO_OLD, partTooOld, PROTOCOL_TOO_OLD, protocolTooOld } from "../schema/protocol.ts";
import { isRaisedInFunction } from "./raised_in_function.ts";
import type { Bounds } from "./session.ts";

/** Codes of the driver and of the operating system that mean that a connection could not be made or broke. */
const CONNECTION_CODES: ReadonlySet<string> = new Set([
  "CONNECTION_CLOSED",
  "CONNECTION_DESTROYED",
  "CONNECTION_ENDED",
  "CONNECT_TIMEOUT",
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOENT",
  "EACCES",
]);

/** Codes that mean that the server could not prove who it is. */
const CERTIFICATE_CODES: ReadonlySet<string> = new Set([
  "CERT_HAS_EXPIRED",
  "CERT_NOT_YET_VALID",
  "CERT_UNTRUSTED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

/** SQLSTATEs that, where the server itself sends them, say nothing of what a statement writes. */
const NOT_OF_VALUES = /^(?:08|25|28|3D|40|53|55|57|58)/;

/** The routine that refuses a commit when the queue of notifications is full. */
const NOTIFIES = "PreCommit_Notify";

/** What is said of an error of the server. */
interface Words {
  /** What is the matter. */
  readonly what: string;
  /** What a person can do. */
  readonly remedy: string;
}

/**
 * What a person can do about errors that no retry mends, by SQLSTATE; where that says too little, also by the routine of
 * the server, whose name is the same in every language.
 */
const REMEDIES: Readonly<Record<string, string>> = {
  "28P01": "check the user and the password in the database URL",
  "28000": "check the user in the database URL and the server's pg_hba.conf",
  "3D000": "create the database, or check its name in the database URL",
  "3F000": "run migrate() or the migrate program first",
  "42P01": "run migrate() or the migrate program (for webhooks with --webhooks) first",
  "42501": "grant the database user the right",
  "42501 ExecWithCheckOptions":
    "row level security is active on the table for this role: disable it there, or " +
    "give the role a policy (using (true) with check (true)) or the attribute BYPASSRLS",
  "55000": "see what the server says of its state",
  "55000 CheckCmdReplicaIdentity": "give the table a replica identity, or leave it out of the publication",
  "XX001":
    "the server's files are damaged: see its log, check its disks, and restore what is damaged from a backup",
  "XX002": "an index is damaged: reindex it, and check the server's disks",
};

const WRAPAROUND: Words = {
  what: "The database takes no writes, or it would run out of transaction ids",
  remedy:
    "end old transactions, prepared ones and unused replication slots, and vacuum the database; all goes on by " +
    "itself then",
};

const FILES: Words = {
  what: "The database can't read or write its files",
  remedy: "look at the server's disks and its log",
};

/**
 * What the server lacks at the moment, by SQLSTATE, and by the routine where that says too little: no statement, and no
 * value in it, is to blame.
 */
const LACKS: Readonly<Record<string, Words>> = {
  "25006": {
    what: "The database is read-only",
    remedy: "connect to the primary: this server is a read-only replica or is set to read-only",
  },
  "53000": { what: "The database lacks resources", remedy: "see what the server says" },
  "53100": {
    what: "The database's disk is full",
    remedy: "free some space for the server, all goes on by itself then",
  },
  "53200": {
    what: "The database is out of memory",
    remedy: "give the server more memory or lower its settings",
  },
  "53300": {
    what: "The database has no connection left",
    remedy: "raise the server's max_connections or lower the pools",
  },
  "53300 InitializeSessionUserId": {
    what: "The database has no connection left for this role",
    remedy: "raise the role's limit (alter role ... connection limit ...) or lower the pools",
  },
  "53300 CheckMyDatabase": {
    what: "The database has no connection left",
    remedy: "raise the database's limit (alter database ... connection limit ...) or lower the pools",
  },
  "53400": {
    what: "A limit of the database's configuration is reached",
    remedy: "raise the limit that the server names, such as temp_file_limit",
  },
  [`54000 ${NOTIFIES}`]: {
    what: "The database's queue of notifications is full, and the transaction was rolled back",
    remedy:
      "end the session that listens and stands in a transaction (PostgreSQL's log has its pid); all goes on by " +
      "itself then",
  },
  "54000 GetNewTransactionId": WRAPAROUND,
  "54000 GetNewMultiXactId": WRAPAROUND,
  "58000": FILES,
  "58030": FILES,
  "58P01": FILES,
  "58P02": FILES,
};

/** The session has lost a prepared statement, or has one that it should not have, by SQLSTATE. */
const STALE_PLANS: ReadonlySet<string> = new Set(["26000", "42P05"]);

/** The server stops, starts, or has dropped the database: its other sessions end as well. */
const SERVER_ENDS: ReadonlySet<string> = new Set(["57P01", "57P02", "57P03", "57P04"]);

/** The server has ended this session: it stood still for too long, by itself or in a transaction. */
const SESSION_ENDS: ReadonlySet<string> = new Set(["57P05", "25P03", "25P04"]);

/** What the end of a session means where it is not that of the server, by SQLSTATE. */
const ENDS: Readonly<Record<string, string>> = {
  "57P04": "The database was dropped",
  "57P05": "The server has ended the session, for it was idle",
};

/** How one of our own statements was run. */
export interface StatementContext {
  /** The bounds that held for it. */
  readonly bounds: Bounds;
  /** How long it took, in ms. */
  readonly tookMs: number;
}

/**
 * What an error says of its session: `session`, that it can't serve any more; `server`, that all that were made before
 * now can't, as after a switch-over.
 */
export function sickness(error: unknown): "none" | "session" | "server" {
  const code = sqlStateOf(error);
  if (code === null) return "none";
  if (code === "25006" || SERVER_ENDS.has(code)) return "server";
  return code.startsWith("08") || SESSION_ENDS.has(code) || isStalePlan(error) ? "session" : "none";
}

/** Whether an error says that the server takes no writes in this session. */
export function isReadOnly(error: unknown): boolean {
  return sqlStateOf(error) === "25006";
}

/**
 * Whether the session refused a statement before it did anything, for a reason that a new session need not have. For
 * statements by themselves only: inside a transaction an earlier one may be what it refers to.
 */
export function isRefusedBySession(error: unknown): boolean {
  const code = sqlStateOf(error);
  return code === "25006" || code === "25P02" || isStalePlan(error);
}

/** Whether a transaction was rolled back at its commit because the server's queue of notifications is full. */
export function isNotifyQueueFull(error: unknown): boolean {
  return sqlStateOf(error) === "54000" && routineOf(driversError(error)) === NOTIFIES;
}

/**
 * The name of the table whose row another session holds, of an error that says so; null when it is a whole table that
 * is held. Only the name is read: the words around it are in the server's language.
 */
export function heldRelation(error: unknown): string | null {
  const where: unknown = Reflect.get(driversError(error), "where");
  return typeof where === "string" ? /"([^"]+)"/.exec(where)?.[1] ?? null : null;
}

/** Whether the session lacked what it had prepared, or the tables have changed since: the statement was not run. */
export function isStalePlan(error: unknown): boolean {
  const code = sqlStateOf(error);
  if (code === null) return false;
  if (STALE_PLANS.has(code)) return true;
  // "cached plan must not change result type". The routine's name is the same in every language of the server.
  return code === "0A000" && routineOf(driversError(error)) === "RevalidateCachedQuery";
}

/**
 * Turns what a driver threw into the errors of the ports. The driver's error stays as the cause, with its
 * SQLSTATE. Neither the database URL nor the values of a statement get into a message.
 *
 * @param context of a statement of our own, whose bounds we know.
 */
export function translateError(error: unknown, context?: StatementContext): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  const code = codeOf(error);
  if (code === null) return error;
  if (code === PROTOCOL_TOO_OLD) return protocolTooOld(error);
  if (code === PART_TOO_OLD) return partTooOld(error);
  const cause = { cause: error };
  if (CONNECTION_CODES.has(code)) {
    if (error.message.includes("before secure TLS connection was established")) {
      return new DatabaseUnavailableError(
        `Cannot reach the database over TLS: the server has none, or ended the handshake: ${error.message}: give it a ` +
          `certificate, or say sslmode=disable in the URL`,
        cause,
      );
    }
    return new DatabaseUnavailableError(`Cannot reach the database: ${error.message || code}`, cause);
  }
  if (CERTIFICATE_CODES.has(code)) {
    return new DatabaseUnavailableError(
      `Cannot verify the database's server: ${error.message}: name its CA's certificate in DENO_CERT, and the server by ` +
        `the name in its own`,
      cause,
    );
  }
  if (!/^[0-9A-Z]{5}$/.test(code)) return error;
  const text = `${error.message} (SQLSTATE ${code})`;
  if (
    context !== undefined && NOT_OF_VALUES.test(code) && isRaisedInFunction(error) &&
    !isAtBound(code, context)
  ) {
    return new RefusedValueError(code, `A function or trigger in the database failed: ${text}`, cause);
  }
  const exactly = `${code} ${routineOf(error)}`;
  const lack = LACKS[exactly] ?? LACKS[code];
  if (lack !== undefined) {
    return new DatabaseUnavailableError(`${lack.what}: ${text}: ${lack.remedy}`, cause);
  }
  switch (code.slice(0, 2)) {
    case "40":
      if (code === "40003") {
        return new DatabaseUnavailableError(
          `It is not known whether the statement took effect: ${text}`,
          cause,
        );
      }
      return new TransactionConflictError(code, cause);
    case "22":
    case "23":
    case "54":
      return new RefusedValueError(code, `The database refused a value: ${text}`, cause);
    case "08":
      if (error.message.includes("startup parameter")) {
        return new DatabaseSetupError(
          code,
          `${text}: behind a pooler such as PgBouncer pass preparedStatements: false, and no options in the URL`,
          cause,
        );
      }
      return new DatabaseUnavailableError(`The connection to the database broke: ${text}`, cause);
    case "57":
      // 57014 is a statement that someone cancelled, or its bound; the others are a server that stops or starts.
      if (code === "57014") {
        if (!isAtBound(code, context)) break;
        return new StatementTimeoutError("statement", context!.bounds.statementTimeoutMs, cause);
      }
      return new DatabaseUnavailableError(
        `${ENDS[code] ?? "The database is going down or coming up"}: ${text}`,
        cause,
      );
  }
  if (code === "55P03") {
    return new StatementTimeoutError("lock", context?.bounds.lockTimeoutMs ?? null, cause);
  }
  if (code === "25P03" || code === "25P04") {
    return new DatabaseUnavailableError(`The server has ended the transaction: ${text}`, cause);
  }
  // Inside a caller's transaction this only says that an earlier statement failed; the text says it well enough.
  const remedy = REMEDIES[exactly] ?? REMEDIES[code];
  if (remedy === undefined) return error;
  return new DatabaseSetupError(code, `The database refused: ${text}: ${remedy}`, cause);
}

/** Whether a statement was ended at its own bound. */
function isAtBound(code: string, context: StatementContext | undefined): boolean {
  const boundMs = context?.bounds.statementTimeoutMs ?? 0;
  return code === "57014" && boundMs > 0 && context!.tookMs >= boundMs;
}

function routineOf(error: Error): unknown {
  return Reflect.get(error, "routine");
}

function codeOf(error: Error): string | null {
  const code: unknown = Reflect.get(error, "code");
  return typeof code === "string" ? code : null;
}

/** The SQLSTATE of what a driver threw, or of what was made of it here. Null when it says nothing of the session. */
function sqlStateOf(error: unknown): string | null {
  const code = error instanceof Error ? codeOf(driversError(error)) : null;
  if (code !== null && isRaisedInFunction(driversError(error))) return null;
  return code !== null && /^[0-9A-Z]{5}$/.test(code) ? code : null;
}

function driversError(error: unknown): Error {
  const { cause } = error as Error;
  return cause instanceof Error ? cause : error as Error;
}
