import {
  DatabaseSetupError,
  DatabaseUnavailableError,
  RefusedValueError,
  StatementTimeoutError,
  TransactionConflictError,
} from "../../ports/errors.ts";
import { PART_TOO_OLD, partTooOld, PROTOCOL_TOO_OLD, protocolTooOld } from "./protocol.ts";
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

/** What a person can do about errors that no retry mends, by SQLSTATE. */
const REMEDIES: Readonly<Record<string, string>> = {
  "28P01": "check the user and the password in the database URL",
  "28000": "check the user in the database URL and the server's pg_hba.conf",
  "3D000": "create the database, or check its name in the database URL",
  "3F000": "run migrate() or the migrate program first",
  "42P01": "run migrate() or the migrate program (for webhooks with --webhooks) first",
  "42501": "grant the database user the right",
  "25006": "connect to the primary: this server is a read-only replica or is set to read-only",
  "53100": "free some space for the server, all goes on by itself then",
  "53200": "give the server more memory or lower its settings",
  "53300": "raise the server's max_connections or lower the pools",
  "58030": "look at the server's disks",
};

/** What the server lacks at the moment, by SQLSTATE: no statement, and no value in it, is to blame. */
const LACKS: Readonly<Record<string, string>> = {
  "25006": "The database is read-only",
  "53100": "The database's disk is full",
  "53200": "The database is out of memory",
  "53300": "The database has no connection left",
  "58030": "The database can't read or write its files",
};

/** Which limit bites where no connection is left, by the server's routine: its words are in its own language. */
const CONNECTION_LIMITS: Readonly<Record<string, string>> = {
  InitializeSessionUserId: "raise the role's limit (alter role ... connection limit ...) or lower the pools",
  CheckMyDatabase: "raise the database's limit (alter database ... connection limit ...) or lower the pools",
};

/** The session has lost a prepared statement, or has one that it should not have, by SQLSTATE. */
const STALE_PLANS: ReadonlySet<string> = new Set(["26000", "42P05"]);

/** The server stops, starts, or has dropped the database: its other sessions end as well. */
const SERVER_ENDS: ReadonlySet<string> = new Set(["57P01", "57P02", "57P03", "57P04"]);

/** The server has ended this session: it stood still for too long, by itself or in a transaction. */
const SESSION_ENDS: ReadonlySet<string> = new Set(["57P05", "25P03", "25P04"]);

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
  return code.startsWith("08") || SESSION_ENDS.has(code) || isStalePlan(error, code) ? "session" : "none";
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
  return code === "25006" || code === "25P02" || (code !== null && isStalePlan(error, code));
}

/**
 * The name of the table whose row another session holds, of an error that says so; null when it is a whole table that
 * is held. Only the name is read: the words around it are in the server's language.
 */
export function heldRelation(error: unknown): string | null {
  const where: unknown = Reflect.get(driversError(error), "where");
  return typeof where === "string" ? /"([^"]+)"/.exec(where)?.[1] ?? null : null;
}

function isStalePlan(error: unknown, code: string): boolean {
  if (STALE_PLANS.has(code)) return true;
  // "cached plan must not change result type". The routine's name is the same in every language of the server.
  return code === "0A000" && Reflect.get(driversError(error), "routine") === "RevalidateCachedQuery";
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
  switch (code.slice(0, 2)) {
    case "40":
      return new TransactionConflictError(code, cause);
    case "22":
    case "23":
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
        const boundMs = context?.bounds.statementTimeoutMs ?? 0;
        if (boundMs > 0 && context!.tookMs >= boundMs) {
          return new StatementTimeoutError("statement", boundMs, cause);
        }
        break;
      }
      return new DatabaseUnavailableError(`The database is going down or coming up: ${text}`, cause);
  }
  if (code === "55P03") {
    return new StatementTimeoutError("lock", context?.bounds.lockTimeoutMs ?? null, cause);
  }
  if (code === "25P03" || code === "25P04") {
    return new DatabaseUnavailableError(`The server has ended the transaction: ${text}`, cause);
  }
  const lack = LACKS[code];
  if (lack !== undefined) {
    const limit = code === "53300" ? CONNECTION_LIMITS[String(Reflect.get(error, "routine"))] : undefined;
    return new DatabaseUnavailableError(`${lack}: ${text}: ${limit ?? REMEDIES[code]}`, cause);
  }
  // Inside a caller's transaction this only says that an earlier statement failed; the text says it well enough.
  const remedy = REMEDIES[code];
  if (remedy === undefined) return error;
  return new DatabaseSetupError(code, `The database refused: ${text}: ${remedy}`, cause);
}

function codeOf(error: Error): string | null {
  const code: unknown = Reflect.get(error, "code");
  return typeof code === "string" ? code : null;
}

/** The SQLSTATE of what a driver threw, or of what was made of it here. */
function sqlStateOf(error: unknown): string | null {
  const code = error instanceof Error ? codeOf(driversError(error)) : null;
  return code !== null && /^[0-9A-Z]{5}$/.test(code) ? code : null;
}

function driversError(error: unknown): Error {
  const { cause } = error as Error;
  return cause instanceof Error ? cause : error as Error;
}
