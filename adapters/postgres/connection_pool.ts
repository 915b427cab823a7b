import { ConnectionTimeoutError, DatabaseUnavailableError } from "../../ports/errors.ts";
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
  #drained: (() => void) | null = null;
  #lent = 0;

  /** Connects nothing yet. */
  constructor(options: ConnectionPoolOptions) {
    this.#options = options;
  }

  /**
   * Lends a connection to a function for as long as it runs.
   *
   * @throws {ConnectionTimeoutError} none came free within the bound; the function was not called.
   */
  async use<T>(body: (client: Client) => Promise<T>): Promise<T> {
    const client = await this.#acquire();
    try {
      return await body(client);
    } finally {
      this.#release(client);
    }
  }

  /** Lends no more, waits up to `graceMs` for what is lent, and ends all connections. Idempotent. */
  end(graceMs: number): Promise<void> {
    this.#ending ??= this.#end(graceMs);
    return this.#ending;
  }

  #acquire(): Promise<Client> {
    if (this.#ending !== null) {
      return Promise.reject(
        new DatabaseUnavailableError("The database connections were closed by this process"),
      );
    }
    if (this.#lent < this.#options.size) return Promise.resolve(this.#lend());
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
        this.#options.acquireTimeoutMs,
      );
      this.#waiters.add(waiter);
    });
  }

  #lend(): Client {
    this.#lent++;
    for (let client = this.#idle.pop(); client !== undefined; client = this.#idle.pop()) {
      if (!client.broken) return client;
      this.#all.delete(client);
    }
    const client = new Client(this.#options.client);
    this.#all.add(client);
    return client;
  }

  #release(client: Client): void {
    this.#lent--;
    if (client.broken) {
      this.#all.delete(client);
      client.destroy();
    } else this.#idle.push(client);
    const [waiter] = this.#waiters;
    if (waiter !== undefined) waiter.take(this.#lend());
    else if (this.#lent === 0) this.#drained?.();
  }

  async #end(graceMs: number): Promise<void> {
    for (const waiter of [...this.#waiters]) {
      waiter.fail(new DatabaseUnavailableError("The database connections were closed by this process"));
    }
    if (this.#lent > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, graceMs);
        this.#drained = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    await Promise.all([...this.#all].map((client) => client.end()));
    this.#all.clear();
  }
}
