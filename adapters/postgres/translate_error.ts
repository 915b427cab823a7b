import { DatabaseUnavailableError, RefusedValueError, TransactionConflictError } from "../../ports/errors.ts";
import { PROTOCOL_TOO_OLD, protocolTooOld } from "./protocol.ts";

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
  "53100": "The database's disk is full",
  "53200": "The database is out of memory",
  "53300": "The database has no connection left",
  "58030": "The database can't read or write its files",
};

/**
 * Turns what a driver threw into the errors of the ports. The one place where SQLSTATEs are read. The driver's error
 * stays as the cause; neither the database URL nor the values of a statement get into a message.
 */
export function translateError(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  const code = codeOf(error);
  if (code === null) return error;
  if (code === PROTOCOL_TOO_OLD) return protocolTooOld(error);
  const cause = { cause: error };
  if (CONNECTION_CODES.has(code)) {
    return new DatabaseUnavailableError(`Cannot reach the database: ${error.message || code}`, cause);
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
        return new Error(`${text}: behind a pooler such as PgBouncer pass preparedStatements: false`, cause);
      }
      return new DatabaseUnavailableError(`The connection to the database broke: ${text}`, cause);
    case "57":
      // 57014 is a statement that someone cancelled; the others are a server that stops or starts.
      if (code === "57014") break;
      return new DatabaseUnavailableError(`The database is going down or coming up: ${text}`, cause);
  }
  const lack = LACKS[code];
  if (lack !== undefined) return new DatabaseUnavailableError(`${lack}: ${text}: ${REMEDIES[code]}`, cause);
  // Inside a caller's transaction this only says that an earlier statement failed; the text says it well enough.
  const remedy = REMEDIES[code];
  return remedy === undefined ? error : new Error(`The database refused: ${text}: ${remedy}`, cause);
}

function codeOf(error: Error): string | null {
  const code: unknown = Reflect.get(error, "code");
  return typeof code === "string" ? code : null;
}
