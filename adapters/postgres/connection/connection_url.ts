import { InvalidOptionError } from "../../../ports/errors.ts";

/** What a database's URL says, without what is for us alone. */
export interface ConnectionUrl {
  /** User, password, host, port and database, for the driver. Without parameters: it hands those on to the server. */
  readonly url: string;
  /**
   * How the connection is secured, in the driver's words. An object verifies: `host` is whom the certificate must name, for
   * where that is an address, the driver would have it name `localhost`.
   */
  readonly ssl: false | "prefer" | "require" | { readonly host: string };
  /** `direct` begins TLS at once, without asking for it. */
  readonly sslNegotiation: "postgres" | "direct";
  /** The socket of a server on this machine; null for host and port. */
  readonly socket: string | null;
  /** Parameters that sessions begin with. */
  readonly session: Readonly<Record<string, string>>;
  /** Whether a pooler in transaction mode is in between; null when nothing is said. */
  readonly isPooled: boolean | null;
  /** How long connecting may take, in ms; null when nothing is said. */
  readonly connectTimeoutMs: number | null;
}

type Parameters = ReadonlyMap<string, string>;

const PORT_DEFAULT = "5432";

/** What may be said, and with which values; null is any text. */
const KNOWN: Readonly<Record<string, readonly string[] | null>> = {
  application_name: null,
  channel_binding: ["disable", "prefer"],
  connect_timeout: null,
  gssencmode: ["disable", "prefer"],
  host: null,
  options: null,
  pgbouncer: ["true", "false"],
  ssl: ["true", "false"],
  sslmode: ["disable", "prefer", "require", "verify-ca", "verify-full"],
  sslnegotiation: ["postgres", "direct"],
  sslrootcert: ["system"],
  target_session_attrs: ["any", "read-write", "primary"],
};

/** What to do instead of a value that is known elsewhere. */
const INSTEAD: Readonly<Record<string, string>> = {
  channel_binding:
    "disable or prefer, for the driver can't bind: leave it out, and let sslmode=verify-full prove who the server is",
  sslrootcert:
    "system: leave it out, and name the file of certificates in the environment variable DENO_CERT",
  target_session_attrs: "any, read-write or primary, for jobs are written",
};

const CERTIFICATES = "none: a client's certificate is not supported, log in with a password";
const BEFORE_HOST = "it before the host, as in postgres://user:password@host:port/database";

/** What to do instead of a parameter that others take. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  connection_limit: "none: say it with the option poolSize",
  pool_timeout: "none: say it with the option acquireTimeoutMs",
  statement_cache_size: "none: say pgbouncer=true, or preparedStatements: false",
  schema: "none: say it with the option schema, or --schema of the programs",
  statement_timeout: "none: say it with the option statementTimeoutMs",
  lock_timeout: "none: say it with the option lockTimeoutMs",
  idle_in_transaction_session_timeout: "none: say it with the option idleTimeoutMs",
  user: BEFORE_HOST,
  password: BEFORE_HOST,
  port: "it behind the host, as in postgres://user:password@host:port/database",
  dbname: "it as the path, as in postgres://user:password@host:port/database",
  sslcert: CERTIFICATES,
  sslkey: CERTIFICATES,
};

/**
 * Reads a database's URL as hosts of databases hand it out. What it asks for is done or refused; nothing is passed over, for
 * a misspelt `sslmode` would leave the connection in the clear.
 *
 * @throws {InvalidOptionError} it is no such URL, or asks for something that can't be had. No value of it is shown that
 * could be a secret.
 */
export function readConnectionUrl(text: string): ConnectionUrl {
  const url = parsed(text);
  const given = checkedParameters(url);
  const name = given.get("application_name");
  const options = given.get("options");
  url.search = "";
  url.hash = "";
  return {
    url: url.href,
    ssl: sslOf(given, url.hostname.replace(/^\[|\]$/g, "")),
    sslNegotiation: given.get("sslnegotiation") === "direct" ? "direct" : "postgres",
    socket: socketOf(given, url.port),
    session: {
      ...(name === undefined ? {} : { application_name: name }),
      ...(options === undefined ? {} : { options }),
    },
    isPooled: given.has("pgbouncer") ? given.get("pgbouncer") === "true" : null,
    connectTimeoutMs: connectTimeoutOf(given),
  };
}

function parsed(text: string): URL {
  if (typeof text !== "string" || text === "") {
    // Nothing of an object either: a URL would show its password.
    const shown = text === undefined || text === null || text === ""
      ? text
      : `(a value of type ${typeof text})`;
    throw new InvalidOptionError(
      "url",
      shown,
      "postgres://user:password@host:port/database as a text; is the variable that it is read from set?",
    );
  }
  // The value holds a password, so it is never shown.
  const refuse = (expected: string) => new InvalidOptionError("url", "(not shown)", expected);
  const expected = "postgres://user:password@host:port/database";
  if (!/^postgres(ql)?:\/\//i.test(text)) throw refuse(expected);
  const authority = /^[^:]*:\/\/([^/?#]*)/.exec(text)![1]!;
  if (authority.slice(authority.lastIndexOf("@") + 1).includes(",")) {
    throw refuse("one host: name an address that leads to the primary, whichever server that is");
  }
  try {
    const url = new URL(text);
    decodeURIComponent(url.username + url.password + url.pathname);
    return url;
  } catch {
    throw refuse(expected);
  }
}

function checkedParameters(url: URL): Parameters {
  const given = new Map<string, string>();
  for (const [name, value] of url.searchParams) {
    const option = `the parameter ${name} of url`;
    if (Object.hasOwn(ELSEWHERE, name)) {
      throw new InvalidOptionError(option, "(not shown)", ELSEWHERE[name]!);
    }
    if (!Object.hasOwn(KNOWN, name)) {
      throw new InvalidOptionError(
        option,
        "(not shown)",
        `one of ${
          Object.keys(KNOWN).join(", ")
        }; a parameter of the server goes into options=-c%20name=value`,
      );
    }
    if (given.has(name)) throw new InvalidOptionError(option, "(not shown)", "it once");
    const values = KNOWN[name];
    if (values && !values.includes(value)) {
      throw new InvalidOptionError(option, value, INSTEAD[name] ?? `one of ${values.join(", ")}`);
    }
    given.set(name, value);
  }
  return given;
}

function sslOf(given: Parameters, host: string): ConnectionUrl["ssl"] {
  // A server on this machine is reached without a network.
  if (given.has("host")) return false;
  const asked = given.get("ssl");
  const mode = given.get("sslmode") ??
    (asked === "true" || given.has("sslrootcert") ? "verify-full" : "disable");
  const verifies = mode === "verify-ca" || mode === "verify-full";
  if (given.has("sslmode") && asked !== undefined) {
    throw new InvalidOptionError("the parameter ssl of url", asked, "none beside sslmode");
  }
  if (given.has("sslrootcert") && !verifies) {
    throw new InvalidOptionError("the parameter sslmode of url", mode, "verify-full beside sslrootcert");
  }
  if (verifies) return { host };
  return mode === "disable" ? false : mode as "prefer" | "require";
}

function socketOf(given: Parameters, port: string): string | null {
  const host = given.get("host");
  if (host === undefined) return null;
  if (!host.startsWith("/")) {
    throw new InvalidOptionError("the parameter host of url", host, "the folder of a socket, from / on");
  }
  return `${host}/.s.PGSQL.${port || PORT_DEFAULT}`;
}

function connectTimeoutOf(given: Parameters): number | null {
  const seconds = given.get("connect_timeout");
  if (seconds === undefined) return null;
  if (!/^[1-9]\d{0,5}$/.test(seconds)) {
    throw new InvalidOptionError("the parameter connect_timeout of url", seconds, "seconds from 1 to 999999");
  }
  return Number(seconds) * 1000;
}
