import { connect, type Socket } from "node:net";
import { DatabaseUnavailableError, InvalidOptionError } from "../../../ports/errors.ts";
import type { TxParam, TxRow } from "../../../ports/tx.ts";
import type { ConnectionUrl } from "./connection_url.ts";
import type { Contact } from "./contact.ts";
import postgres from "./driver.ts";
import { boundParameters, type Bounds, RELIED_ON } from "./session.ts";
import { isReadOnly, isRefusedBySession, sickness, translateError } from "./translate_error.ts";

/** How a connection is made. */
export interface ClientOptions {
  /** Where the database is, and how the connection is secured. */
  readonly address: ConnectionUrl;
  /** Whether statements are prepared once per connection. Off behind a transaction pooler. */
  readonly preparedStatements: boolean;
  /** How long connecting may take, in ms. */
  readonly connectTimeoutMs: number;
  /**
   * Parameters of the session, such as `synchronous_commit`, beside the bounds and what we rely on. All are sent when
   * statements are prepared: poolers refuse them.
   */
  readonly session: Readonly<Record<string, string>>;
  /** Told how its statements fare. */
  readonly contact?: Contact;
  /** For how long it may do what. */
  readonly bounds: Bounds;
  /** Its greatest age, in ms; each has up to a quarter more or less, so that they don't go together. Default 30 min. */
  readonly ageMaxMs?: number;
  /** Told of notifications. */
  readonly onNotify?: (channel: string, payload: string) => void;
  /** Told once when the connection has broken or was ended. */
  readonly onClose?: () => void;
  /**
   * Looks at the new session before its first statement, and says whether it has the settings that were asked for. What it
   * throws fails that statement, and the next one is looked at again.
   */
  readonly look?: (client: Client) => Promise<boolean>;
}

/** How one statement is run. */
export interface RunOptions {
  /** Prepare it, when the connection prepares at all. For texts that are constant. */
  readonly prepare?: boolean;
  /** It is a statement by itself, outside of any transaction. */
  readonly alone?: boolean;
  /** The bounds that hold for it. Default those of the connection. */
  readonly bounds?: Bounds;
}

type DriverQuery = postgres.PendingQuery<postgres.Row[]>;

/** The parts of a driver's options that the socket is made from. */
interface SocketTarget {
  readonly host: readonly string[];
  readonly port: readonly number[];
  readonly path?: string | false;
}

/** What the driver knows of a statement, and has no public door to. */
interface DriverInternals {
  /** It was sent, and its answer is awaited. */
  readonly active: boolean;
  /** Sends a cancel request for it. */
  readonly canceller: ((query: DriverQuery) => Promise<void>) | null;
}

const END_TIMEOUT_S = 2;

/** The routine that warns when it gives up the wait for a synchronous standby. The commit counts as done then. */
const WAITS_FOR_STANDBY = "SyncRepWaitForLSN";

/** What drops the statements that a session has prepared. */
const FORGETS: ReadonlySet<unknown> = new Set(["DEALLOCATE", "DEALLOCATE ALL", "DISCARD ALL"]);

/** The server ends a statement at its bound; so much later the client asks it to, in ms. */
const CANCEL_AFTER_MS = 1000;
/** How long the server has for the answer to that, in ms. Then the connection is broken off. */
const CANCEL_WAIT_MS = 2000;

/** The server closes a cancel request. PgBouncer 1.18 crashes when the client does, and gives up by itself after 10 s. */
const CANCEL_LINGER_MS = 15_000;

/** After a switch-over behind one name nothing else may tell that a session is on the wrong server. */
const AGE_MS_MAX = 30 * 60_000;

/** A session that a read-only server has just made is no better than the next one that it would make. */
const YOUNG_MS = 2000;

/**
 * One connection, connected at its first statement, used by one caller at a time, and never used again once it broke or
 * has said that it can't serve.
 *
 * Every statement has a bound. The server enforces it where the session could say so, and ends the statement; behind a
 * pooler the client asks for that when the bound is over. Only when no answer comes, the connection is broken off: a
 * backend that waits for a lock does not notice that its client is gone, and goes on holding its place on the server.
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
  #open = false;
  #broken = false;
  #sickness: "none" | "session" | "server" = "none";
  #running: DriverQuery | null = null;
  /** The socket of a cancel request, which has a connection of its own. */
  #cancelSocket: Socket | null = null;
  #cancelling = false;
  #isOpen = false;
  #keepsSettings: boolean;
  #pid: number | null = null;
  #keepsPrepared = true;
  /** The wait for a synchronous standby was given up at the commit of what runs. */
  #isUnconfirmed = false;
  readonly #bornMs = performance.now();
  readonly #ageMaxMs: number;

  /** Connects nothing yet. */
  constructor(options: ClientOptions) {
    this.#options = options;
    this.#keepsSettings = options.preparedStatements;
    this.#ageMaxMs = (options.ageMaxMs ?? AGE_MS_MAX) * (0.75 + Math.random() / 2);
    const { url, ssl, sslNegotiation, socket, session } = options.address;
    this.#sql = postgres(url, {
      max: 1,
      ssl,
      sslnegotiation: sslNegotiation,
      ...(socket === null ? {} : { path: socket }),
      prepare: options.preparedStatements,
      // Asking for the array types costs a round trip per connection, and no array is ever bound.
      fetch_types: false,
      connect_timeout: options.connectTimeoutMs / 1000,
      idle_timeout: 0,
      max_lifetime: null,
      // The name is the same in every language of the server; the warning has no SQLSTATE of its own.
      onnotice: ({ routine }: postgres.Notice) => {
        if (routine === WAITS_FOR_STANDBY) this.#isUnconfirmed = true;
      },
      onnotify: options.onNotify ?? (() => {}),
      onclose: () => this.#markBroken(),
      // Told while a connection begins, after the driver has taken all listeners off the socket for TLS.
      onparameter: () => {
        this.#open = true;
        this.#watch();
      },
      connection: {
        application_name: "millrace",
        ...session,
        ...(options.preparedStatements
          ? { ...RELIED_ON, ...boundParameters(options.bounds), ...options.session }
          : {}),
      },
      socket: (target: SocketTarget) => this.#dial(target),
    } as unknown as postgres.Options<Record<string, never>>);
  }

  /** Whether the server has given it a session, which it still has as far as is known. */
  get isOpen(): boolean {
    return this.#open && !this.#broken;
  }

  /** Whether the connection is of no more use. */
  get broken(): boolean {
    return this.#broken;
  }

  /** What the last answers say of it: `session`, that it can't serve any more; `server`, that its like can't either. */
  get sickness(): "none" | "session" | "server" {
    return this.#sickness;
  }

  /** Whether it should be ended in order and replaced: the session can't serve, or is of the greatest age. */
  get isSpent(): boolean {
    return this.#sickness !== "none" || performance.now() - this.#bornMs > this.#ageMaxMs;
  }

  /** Whether its session has the settings that were asked for, its bounds among them. Known once it is open. */
  get keepsSettings(): boolean {
    return this.#keepsSettings;
  }

  /** The number of the session, as whoever is at the other end told it; null before the first answer. */
  get pid(): number | null {
    return this.#pid;
  }

  /** Whether it was made before this moment of `performance.now()`. */
  isOlderThan(momentMs: number): boolean {
    return this.#bornMs < momentMs;
  }

  /** Connects, and looks at the new session. Does nothing when that was done. */
  async open(): Promise<void> {
    if (this.#isOpen) return;
    const { look } = this.#options;
    if (look !== undefined) this.#keepsSettings = await look(this);
    this.#isOpen = true;
  }

  /**
   * Runs one statement; without parameters the text may hold several.
   *
   * @throws {StatementTimeoutError} the server has ended it at its bound; nothing was done.
   * @throws {DatabaseUnavailableError} the connection broke, or the server did not answer; the outcome is unknown. Or it
   * was committed, and no synchronous standby has confirmed that.
   */
  async run(text: string, params: readonly TxParam[], options: RunOptions = {}): Promise<readonly TxRow[]> {
    await this.open();
    return await this.runFirst(text, params, options);
  }

  /**
   * As {@linkcode run}, on a session that was not looked at.
   *
   * @throws {InvalidOptionError} a parameter is no text, number or null.
   */
  async runFirst(
    text: string,
    params: readonly TxParam[],
    options: RunOptions = {},
  ): Promise<readonly TxRow[]> {
    checkParams(params);
    if (this.#broken) throw new DatabaseUnavailableError("The connection to the database is broken");
    const bounds = options.bounds ?? this.#options.bounds;
    this.#isUnconfirmed = false;
    const begunMs = performance.now();
    const broke = Promise.withResolvers<never>();
    this.#failPending.add(broke.reject);
    const timer = bounds.statementTimeoutMs === 0
      ? undefined
      : setTimeout(() => void this.#giveUp(), bounds.statementTimeoutMs + CANCEL_AFTER_MS);
    try {
      const query = this.#send(text, params as TxParam[], options);
      this.#running = query;
      const rows = await Promise.race([query, broke.promise]);
      this.#options.contact?.answered();
      this.#pid ??= rows.state?.pid ?? null;
      if (FORGETS.has(rows.command)) this.#forgetPrepared();
      if (this.#isUnconfirmed) throw unconfirmed();
      return rows as unknown as readonly TxRow[];
    } catch (error) {
      this.#examine(error, options.alone ?? false);
      const translated = translateError(error, { bounds, tookMs: performance.now() - begunMs });
      if (translated instanceof DatabaseUnavailableError) this.#options.contact?.failed();
      throw translated;
    } finally {
      clearTimeout(timer);
      this.#running = null;
      this.#failPending.delete(broke.reject);
    }
  }

  /** Breaks the connection at once. What runs on it fails. */
  destroy(): void {
    this.#markBroken();
    this.#sql.end({ timeout: 0 }).catch(() => {});
    this.#socket?.destroy();
  }

  /** Ends the connection in order, with what runs on it; breaks it when the server does not answer within 2 s. */
  async end(): Promise<void> {
    try {
      if (this.#running !== null) await this.#cancel(this.#running);
      await this.#sql.end({ timeout: END_TIMEOUT_S });
    } catch {
      // It was broken already, so it has ended.
    }
    this.#markBroken();
    this.#socket?.destroy();
  }

  #send(text: string, values: TxParam[], options: RunOptions): DriverQuery {
    // Without values the simple protocol is used, which takes several statements at once.
    return values.length === 0
      ? this.#sql.unsafe(text)
      : this.#sql.unsafe(text, values, { prepare: (options.prepare ?? false) && this.#keepsPrepared });
  }

  /** The driver would go on to use what it has prepared. */
  #forgetPrepared(): void {
    this.#keepsPrepared = false;
    this.#sickness = "session";
  }

  #examine(error: unknown, alone: boolean): void {
    if (isReadOnly(error) && !this.isOlderThan(performance.now() - YOUNG_MS)) return;
    const found = alone && isRefusedBySession(error) && sickness(error) === "none"
      ? "session"
      : sickness(error);
    if (found !== "none") this.#sickness = found;
  }

  /** Has the server end what runs, and keeps the connection until it has answered. */
  async #giveUp(): Promise<void> {
    const query = this.#running;
    if (query === null) return;
    await this.#cancel(query);
    if (this.#running === query) this.destroy();
  }

  /** Asks the server to end a statement, and waits for a while for its answer. */
  async #cancel(query: DriverQuery): Promise<void> {
    const { active, canceller } = query as unknown as DriverInternals;
    // Not sent yet: it waits for the connection, which the caller breaks off.
    if (!active || canceller === null) return;
    // A request that comes late would end the next statement.
    this.#sickness = "session";
    const waited = Promise.withResolvers<void>();
    const waiting = setTimeout(waited.resolve, CANCEL_WAIT_MS);
    // The driver dials at once. `query.cancel()` itself would let a request that can't be sent end the process.
    this.#cancelling = true;
    const asked = canceller(query).catch(() => {});
    this.#cancelling = false;
    const socket = this.#cancelSocket;
    const lingering = setTimeout(() => socket?.destroy(), CANCEL_LINGER_MS);
    asked.finally(() => clearTimeout(lingering));
    await Promise.race([query.then(() => {}, () => {}), waited.promise]);
    clearTimeout(waiting);
  }

  #dial(target: SocketTarget): Socket {
    if (this.#cancelling) return this.#cancelSocket = connectTo(target, this.#dials - 1);
    // When a server hangs up during the start the driver dials again by itself, at once and for ever.
    if (this.#broken || this.#dials >= target.host.length) {
      this.#markBroken();
      throw new DatabaseUnavailableError("Cannot reach the database: it hung up while the connection began");
    }
    this.#socket = connectTo(target, this.#dials++);
    this.#watch();
    return this.#socket;
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

function unconfirmed(): DatabaseUnavailableError {
  return new DatabaseUnavailableError(
    "The change is committed on the server, but no synchronous standby has confirmed it within the bound, so a " +
      "fail-over may lose it: look at the standbys in pg_stat_replication, or change synchronous_standby_names",
  );
}

function connectTo(target: SocketTarget, turn: number): Socket {
  const host = target.host[turn] ?? "localhost";
  const socket = target.path ? connect(target.path) : connect(Number(target.port[turn] ?? 5432), host);
  // The driver reads the host from the socket when it begins TLS.
  return Object.assign(socket, { host });
}

/** The driver hangs on anything else, and the connection with it. */
function checkParams(params: readonly unknown[]): void {
  if (!Array.isArray(params)) {
    throw new InvalidOptionError("params", params, "a list of texts, numbers and nulls");
  }
  for (const [index, param] of params.entries()) {
    if (param === null || typeof param === "string" || typeof param === "number") continue;
    throw new InvalidOptionError(`params[${index}]`, param, "a text, a number or null");
  }
}
