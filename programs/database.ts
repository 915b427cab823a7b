import { type EmbeddedPostgres, startEmbedded } from "../embedded/mod.ts";
import type { Log } from "../ports/mod.ts";

/** The database that a program works on. */
export interface ProgramDatabase extends AsyncDisposable {
  /** Its URL, with the password. */
  readonly url: string;
  /** Which it is, for people. */
  readonly shown: string;
}

/** The database of `DATABASE_URL`, or the embedded PostgreSQL under `.millrace/`, which is started for it. */
export async function programDatabase(log: Log): Promise<ProgramDatabase> {
  const url = Deno.env.get("DATABASE_URL");
  if (url !== undefined && url !== "") {
    const shown = `DATABASE_URL (${withoutPassword(url)})`;
    log.info("database", { database: shown });
    return { url, shown, [Symbol.asyncDispose]: () => Promise.resolve() };
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
