import { type EmbeddedPostgres, startEmbedded } from "../embedded/mod.ts";
import type { Log } from "../ports/log.ts";
import { type Arguments, UsageError } from "./arguments.ts";

/** The database that a program works on. */
export interface ProgramDatabase extends AsyncDisposable {
  /** Its URL, with the password. */
  readonly url: string;
  /** Which it is, for people. */
  readonly shown: string;
}

/** The flag without which no program starts a database: in production an empty one would be worse than none. */
export const EMBEDDED_FLAG = "embedded";

/** What `--help` says of it. */
export const EMBEDDED_HELP =
  `--embedded       where DATABASE_URL is not set, start an embedded PostgreSQL under .millrace/: for development`;

/**
 * The database of `DATABASE_URL`; where that is not set and `--embedded` is given, the embedded PostgreSQL under
 * `.millrace/`, which is started for it.
 *
 * @throws {UsageError} there is neither.
 */
export async function programDatabase(given: Arguments, log: Log): Promise<ProgramDatabase> {
  const url = Deno.env.get("DATABASE_URL");
  if (url !== undefined && url !== "") {
    const shown = `DATABASE_URL (${withoutPassword(url)})`;
    log.info("database", { database: shown });
    return { url, shown, [Symbol.asyncDispose]: () => Promise.resolve() };
  }
  if (!given.flags.has(EMBEDDED_FLAG)) {
    throw new UsageError(
      "There is no database: expected DATABASE_URL to be set, or --embedded, which starts a PostgreSQL under .millrace/",
    );
  }
  const server: EmbeddedPostgres = await startEmbedded({ log });
  const shown = `embedded PostgreSQL ${server.version} in ${server.directory}, for DATABASE_URL is not set`;
  log.info("database", { database: shown });
  return { url: server.url, shown, [Symbol.asyncDispose]: () => server.stop() };
}

/** A database URL without its password and options, which may hold one too. */
export function withoutPassword(url: string): string {
  try {
    const { protocol, username, host, pathname, search, hash } = new URL(url);
    // A password with a / or a # that is not encoded, or no // before it all: part of it stands where none is looked for.
    if (`${pathname}${search}${hash}`.includes("@")) {
      return "a URL that can't be shown, for its password is not encoded";
    }
    return `${protocol}//${username === "" ? "" : `${username}@`}${host}${pathname}`;
  } catch {
    return "not a URL";
  }
}
