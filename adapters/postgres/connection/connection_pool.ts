import { ConnectionTimeoutError, DatabaseUnavailableError, sqlStateOf } from "../../../ports/errors.ts";
import { Pause } from "../../../shared/pause.ts";
import { Client, type ClientOptions } from "./client.ts";

/** How a pool is made. */
export interface ConnectionPoolOptions {
  /** How connections are made. */
  readonly client: ClientOptions;
  /** The most connections. */
  readonly size: number;
  /** How long a caller waits for a connection, in ms. */
  readonly acquireTimeoutMs: number;
}

const TOO_MANY_CONNECTIONS = "53300";

/** How long no further connection is tried when the server has given none, in ms, while others are there to wait for. */
const FULL_MS = 5000;

interface Waiter {
  readonly take: (client: Client) => void;
  readonly fail: (error: Error) => void;
}

/** Connections, each lent to one caller at a time, first come first served, with a bounded wait. */
export class ConnectionPool {
  readonly #options: ConnectionPoolOptions;
  readonly #idle: Client[] = [];
  readonly #all: Set<Client> = new Set();
  readonly #waiters: Set<Waiter> = new Set();
  #ending: Promise<void> | null = null;
  /** How long the end waits for what is lent. */
  readonly #grace = new Pause();
  #lent = 0;
  /** What was made before this moment is replaced as soon as it is free: the server that it goes to can't serve. */
  #renewedMs = -Infinity;
  /** Until then the server is not asked for one more, unless there is no other. */
  #fullUntil = -Infinity;

  /** Connects nothing yet. */
  constructor(options: ConnectionPoolOptions) {
    this.#options = options;
  }

  /**
   * Lends a connection to a function for as long as it runs. Where the server has none left for the function's first statement,
   * it is called once more with one of the others.
   *
   * @throws {ConnectionTimeoutError} none came free within the bound; the function has done nothing.
   */
  async use<T>(body: (client: Client) => Promise<T>): Promise<T> {
    const deadline = performance.now() + this.#options.acquireTimeoutMs;
    for (;;) {
      const client = await this.#acquire(deadline);
      try {
        return await body(client);
      } catch (error) {
        if (client.isOpen || sqlStateOf(error) !== TOO_MANY_CONNECTIONS) throw error;
        client.destroy();
        if (!this.#isAnyLeft()) throw error;
        this.#fullUntil = performance.now() + FULL_MS;
      } finally {
        this.#release(client);
      }
    }
  }

  /** Lends no more, waits up to `graceMs` for what is lent, and ends all connections. Idempotent. */
  end(graceMs: number): Promise<void> {
    this.#ending ??= this.#end(graceMs);
    return this.#ending;
  }

  #acquire(deadline: number): Promise<Client> {
    if (this.#ending !== null) {
      return Promise.reject(
        new DatabaseUnavailableError("The database connections were closed by this process"),
      );
    }
    const client = this.#lend();
    if (client !== null) return Promise.resolve(client);
    return new Promise((resolve, reject) => {
      const settle = (act: () => void): void => {
        clearTimeout(timer);
        this.#waiters.delete(waiter);
        act();
      };
      const waiter: Waiter = {
        take: (client) => settle(() => resolve(client)),
        fail: (error) => settle(() => reject(error)),
      };
      const timer = setTimeout(
        () => waiter.fail(new ConnectionTimeoutError(this.#options.acquireTimeoutMs)),
        Math.max(0, deadline - performance.now()),
      );
      this.#waiters.add(waiter);
    });
  }

  /** A connection that is free, or a new one; null when the pool has all that it may have or that the server gives. */
  #lend(): Client | null {
    let client: Client | null = null;
    while (client === null && this.#idle.length > 0) {
      const idle = this.#idle.pop()!;
      if (this.#isFit(idle)) client = idle;
      else this.#retire(idle);
    }
    if (client === null && this.#all.size < this.#options.size && !this.#waitsForOthers()) {
      client = new Client(this.#options.client);
      this.#all.add(client);
    }
    if (client !== null) this.#lent++;
    return client;
  }

  #release(client: Client): void {
    this.#lent--;
    if (client.sickness === "server") this.#renewedMs = performance.now();
    if (this.#isFit(client)) this.#idle.push(client);
    else this.#retire(client);
    this.#serve();
    if (this.#lent === 0) this.#grace.end();
  }

  /** Hands what has come free to whoever waits longest. */
  #serve(): void {
    const [waiter] = this.#waiters;
    if (waiter === undefined) return;
    const client = this.#lend();
    if (client !== null) waiter.take(client);
  }

  #waitsForOthers(): boolean {
    return performance.now() < this.#fullUntil && this.#isAnyLeft();
  }

  /** Whether there is another one, or one that is being made. */
  #isAnyLeft(): boolean {
    return [...this.#all].some((client) => !client.broken);
  }

  #isFit(client: Client): boolean {
    return !client.broken && !client.isSpent && !client.isOlderThan(this.#renewedMs);
  }

  /** Ends a connection. Its place is taken until it has ended: the server counts it as well. */
  #retire(client: Client): void {
    if (client.broken) {
      this.#all.delete(client);
      return client.destroy();
    }
    client.end().finally(() => {
      this.#all.delete(client);
      this.#serve();
    });
  }

  async #end(graceMs: number): Promise<void> {
    for (const waiter of [...this.#waiters]) {
      waiter.fail(new DatabaseUnavailableError("The database connections were closed by this process"));
    }
    if (this.#lent > 0) await this.#grace.for(graceMs);
    await Promise.all([...this.#all].map((client) => client.end()));
    this.#all.clear();
  }
}
