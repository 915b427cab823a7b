import { quoteIdentifier } from "../../../shared/identifier.ts";
import { Client, type ClientOptions } from "./client.ts";

/** How long a notification may take that goes to this process itself, in ms. */
const HEARD_MS_MAX = 1000;
/** After how long a route that did not keep our sessions is looked at again, in ms: it may have been a slow moment. */
const ASK_AGAIN_MS = 60_000;

/**
 * The way from this process to the server, and what was found out about it. The databases of a store share one, for
 * theirs is the same.
 */
export class Route {
  readonly #told: Set<string> = new Set();
  #keepsSessions: Promise<boolean> | null = null;
  #askedMs = -Infinity;

  /** Whether the pooler on it leaves a session to one client for as long as that is connected. */
  async keepsSessions(client: ClientOptions): Promise<boolean> {
    if (this.#keepsSessions === null || performance.now() - this.#askedMs > ASK_AGAIN_MS) {
      this.#askedMs = performance.now();
      this.#keepsSessions = hearsItself(client);
    }
    const keeps = await this.#keepsSessions;
    if (keeps) this.#askedMs = Infinity;
    return keeps;
  }

  /** Which of these were not told yet. They are from now on. */
  untold(names: readonly string[]): string[] {
    const untold = names.filter((name) => !this.#told.has(name));
    for (const name of untold) this.#told.add(name);
    return untold;
  }
}

/** A notification reaches a client that listens while it says nothing, only if the session it listened in is still its own. */
async function hearsItself(options: ClientOptions): Promise<boolean> {
  const heard = Promise.withResolvers<boolean>();
  const channel = `millrace_${crypto.randomUUID()}`;
  const [listener, other] = [
    new Client({ ...options, onNotify: (name) => name === channel && heard.resolve(true) }),
    new Client(options),
  ];
  const timer = setTimeout(() => heard.resolve(false), HEARD_MS_MAX);
  try {
    await listener.run(`listen ${quoteIdentifier(channel)}`, []);
    await other.run("select pg_catalog.pg_notify($1::text, '')", [channel]);
    const keeps = await heard.promise;
    if (!keeps) await listener.run(`unlisten ${quoteIdentifier(channel)}`, []);
    return keeps;
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
    await Promise.all([listener.end(), other.end()]);
  }
}
