import { type EmbeddedPostgres, startEmbedded } from "../embedded/mod.ts";
import type { Log } from "../ports/log.ts";
import { type Arguments, UsageError } from "./arguments.ts";

/** The database that a program uses. */
export interface ProgramDatabase extends AsyncDisposable {
  /** Its URL, including the password. */
  readonly url: string;
  /** A description of it, for people. */
  readonly shown: string;
}

/** The flag required for a program to start a database: in production an empty database would be worse than none. */
export const EMBEDDED_FLAG = "embedded";

/** The help text for it. */
export const EMBEDDED_HELP =
  `--embedded       where DATABASE_URL is not set, start an embedded PostgreSQL under .millrace/: for development`;

/**
 * Returns the database of `DATABASE_URL`. If that is not set and `--embedded` is given, starts the embedded PostgreSQL
 * under `.millrace/` and returns it.
 *
 * @throws {UsageError} if neither is given.
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

/** A database URL without its password and its options, which may contain one too. */
export function withoutPassword(url: string): string {
  try {
    const { protocol, username, host, pathname, search, hash } = new URL(url);
    // The password has an unencoded / or #, or there is no // at the start: part of the password is then in another
    // component.
    if (`${pathname}${search}${hash}`.includes("@")) {
      return "a URL that can't be shown, for its password is not encoded";
    }
    return `${protocol}//${username === "" ? "" : `${username}@`}${host}${pathname}`;
  } catch {
    return "not a URL";
  }
}
