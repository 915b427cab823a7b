import { connect, type Socket } from "node:net";
import postgres from "./driver.ts";
import { DatabaseUnavailableError } from "../../ports/errors.ts";
import type { TxParam, TxRow } from "../../ports/tx.ts";
import type { Contact } from "./contact.ts";
import { translateError } from "./translate_error.ts";

/** How a connection is made. */
export interface ClientOptions {
  /** The database's URL. */
  readonly url: string;
  /** Whether statements are prepared once per connection. Off behind a transaction pooler. */
  readonly preparedStatements: boolean;
  /** How long connecting may take, in ms. */
  readonly connectTimeoutMs: number;
  /** Parameters of the session, such as `synchronous_commit`. Sent when statements are prepared: poolers refuse them. */
  readonly session: Readonly<Record<string, string>>;
  /** Told how its statements fare. */
  readonly contact?: Contact;
  /** Told of notifications. */
  readonly onNotify?: (channel: string, payload: string) => void;
  /** Told once when the connection has broken or was ended. */
  readonly onClose?: () => void;
}

/** How one statement is run. */
export interface RunOptions {
  /** Prepare it, when the connection prepares at all. For texts that are constant. */
  readonly prepare?: boolean;
}

/** The parts of a driver's options that the socket is made from. */
interface SocketTarget {
  readonly host: readonly string[];
  readonly port: readonly number[];
  readonly path?: string | false;
}

const END_TIMEOUT_S = 2;

/**
 * One connection, connected at its first statement, used by one caller at a time, and never used again once it broke.
 *
 * The driver's own pool is not used: it sends a statement down a connection that is busy with another one, and after a
 * connection broke inside a transaction it sends what follows to whatever session comes next.
 */
export class Client {
  readonly #sql: postgres.Sql;
  readonly #options: ClientOptions;
  #socket: Socket | null = null;
  readonly #failPending: Set<(error: Error) => void> = new Set();
  readonly #onSocketEnd = (): void => this.#markBroken();
  readonly #onSocketClose = (): void => this.#failLeftOver();
  #dials = 0;
  #broken = false;

  /** Connects nothing yet. */
  constructor(options: ClientOptions) {
    this.#options = options;
    this.#sql = postgres(options.url, {
      max: 1,
      prepare: options.preparedStatements,
      // Asking for the array types costs a round trip per connection, and no array is ever bound.
      fetch_types: false,
      connect_timeout: options.connectTimeoutMs / 1000,
      idle_timeout: 0,
      max_lifetime: null,
      onnotice: () => {},
      onnotify: options.onNotify ?? (() => {}),
      onclose: () => this.#markBroken(),
      // Told while a connection begins, after the driver has taken all listeners off the socket for TLS.
      onparameter: () => this.#watch(),
      connection: {
        application_name: "millrace",
        ...(options.preparedStatements ? options.session : {}),
      },
      socket: (target: SocketTarget) => this.#dial(target),
    } as unknown as postgres.Options<Record<string, never>>);
  }

  /** Whether the connection is of no more use. */
  get broken(): boolean {
    return this.#broken;
  }

  /** Runs one statement; without parameters the text may hold several. */
  async run(text: string, params: readonly TxParam[], options: RunOptions = {}): Promise<readonly TxRow[]> {
    if (this.#broken) throw new DatabaseUnavailableError("The connection to the database is broken");
    const broke = Promise.withResolvers<never>();
    this.#failPending.add(broke.reject);
    try {
      const rows = await Promise.race([this.#send(text, params as TxParam[], options), broke.promise]);
      this.#options.contact?.answered();
      return rows;
    } catch (error) {
      const translated = translateError(error);
      if (translated instanceof DatabaseUnavailableError) this.#options.contact?.failed();
      throw translated;
    } finally {
      this.#failPending.delete(broke.reject);
    }
  }

  /** Breaks the connection at once. What runs on it fails. */
  destroy(): void {
    this.#markBroken();
    this.#sql.end({ timeout: 0 }).catch(() => {});
    this.#socket?.destroy();
  }

  /** Ends the connection in order; breaks it when the server does not answer within 2 s. */
  async end(): Promise<void> {
    try {
      await this.#sql.end({ timeout: END_TIMEOUT_S });
    } catch {
      // It was broken already, so it has ended.
    }
    this.#markBroken();
    this.#socket?.destroy();
  }

  async #send(text: string, values: TxParam[], options: RunOptions): Promise<readonly TxRow[]> {
    // Without values the simple protocol is used, which takes several statements at once.
    const rows = values.length === 0
      ? await this.#sql.unsafe(text)
      : await this.#sql.unsafe(text, values, { prepare: options.prepare ?? false });
    return rows as unknown as readonly TxRow[];
  }

  #dial(target: SocketTarget): Socket {
    // When a server hangs up during the start the driver dials again by itself, at once and for ever.
    if (this.#broken || this.#dials >= target.host.length) {
      this.#markBroken();
      throw new DatabaseUnavailableError("Cannot reach the database: it hung up while the connection began");
    }
    const turn = this.#dials++;
    const host = target.host[turn] ?? "localhost";
    const socket = target.path ? connect(target.path) : connect(Number(target.port[turn] ?? 5432), host);
    // The driver reads the host from the socket when it begins TLS.
    Object.assign(socket, { host });
    this.#socket = socket;
    this.#watch();
    return socket;
  }

  /**
   * Watches the socket beside the driver, which forgets a statement that is given to it between a failed write and
   * the end of the socket, and lets an error that comes late end the process.
   */
  #watch(): void {
    const socket = this.#socket;
    if (socket === null || socket.listeners("close").includes(this.#onSocketClose)) return;
    socket.on("error", this.#onSocketEnd);
    socket.on("end", this.#onSocketEnd);
    socket.on("close", this.#onSocketClose);
  }

  #failLeftOver(): void {
    this.#markBroken();
    // The driver's own error says more, and comes at once if it comes at all.
    setTimeout(() => {
      for (const fail of this.#failPending) {
        fail(new DatabaseUnavailableError("The connection to the database broke: the outcome is unknown"));
      }
    });
  }

  #markBroken(): void {
    if (this.#broken) return;
    this.#broken = true;
    this.#options.onClose?.();
  }
}
