import type { Socket } from "node:net";
import { type Answer, AnswerReading, HEAD_BYTES_MAX } from "./answer.ts";
import type { Dialled } from "./dial.ts";
import { passOverContinue } from "./pass_over_continue.ts";
import { Client } from "./undici.ts";

/** Less than the 5 s after which many servers close: a request on its way to a closing server is lost. */
const IDLE_MS_MAX = 4000;
/** A server that names its own limit is left this much earlier, in ms. */
const IDLE_THRESHOLD_MS = 1000;

/** A request as it goes out. */
export interface Request {
  /** Path and query. */
  readonly path: string;
  /** Headers beside those that the connection needs. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body. */
  readonly body: Uint8Array;
}

/** The connection had ended before anything of the request was sent. Its cause, if any, is why. */
export class StaleConnectionError extends Error {
  /** The name of the class. */
  override readonly name = "StaleConnectionError";
}

/** Told of a connection. */
export interface ConnectionObserver {
  /** It has ended. Told once. */
  ended(connection: Connection): void;
  /** What had arrived on it was read. */
  read(): void;
  /** Something came on it that nobody had asked for. */
  spokeUnasked(connection: Connection): void;
}

/**
 * One connection to one host name at one address: an undici client that never connects a second time. So a request is
 * sent once, or told to have failed.
 */
export class Connection {
  /** Scheme, host name and port. */
  readonly origin: string;
  /** Where it goes. */
  readonly address: string;
  readonly #socket: Socket;
  readonly #client: Client;
  readonly #observer: ConnectionObserver;
  #reading: AnswerReading | null = null;
  #bytesBefore = 0;
  #bytesAccounted = 0;
  #isOpen = true;

  /** Over this socket. */
  constructor(origin: string, { socket, address }: Dialled, observer: ConnectionObserver) {
    this.origin = origin;
    this.address = address;
    this.#socket = socket;
    this.#observer = observer;
    let isGiven = false;
    this.#client = new Client(origin, {
      connect: (_options, callback) => {
        const error = isGiven
          ? new StaleConnectionError("the connection has ended", { cause: socket.errored })
          : null;
        isGiven = true;
        // Later, as undici expects of what connects.
        queueMicrotask(() => error === null ? callback(null, socket) : callback(error, null));
      },
      allowH2: false,
      pipelining: 1,
      maxHeaderSize: HEAD_BYTES_MAX,
      // One limit is set on the whole, by the signal.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: IDLE_MS_MAX,
      keepAliveMaxTimeout: IDLE_MS_MAX,
      keepAliveTimeoutThreshold: IDLE_THRESHOLD_MS,
    });
    // After undici's own listener, so that it has read what there is.
    this.#client.on("connect", () => socket.on("readable", () => this.#arrived()));
    this.#client.on("disconnect", (_origin, _targets, error) => {
      if (this.#reading === null && isNoAnswer(error)) observer.spokeUnasked(this);
      this.#end();
    });
    passOverContinue(socket, () => this.#reading?.isAwaited ?? false);
  }

  /** Whether it has not ended. */
  get isOpen(): boolean {
    return this.#isOpen && !this.#socket.destroyed;
  }

  /** Whether it can be kept for another request: it is open, and everything was sent. */
  get isReusable(): boolean {
    return this.isOpen && this.#socket.writableLength === 0;
  }

  /**
   * Sends one request.
   *
   * Rejects with {@linkcode StaleConnectionError} when nothing of it was sent, with what came instead of an answer, or
   * with the signal's reason.
   */
  async send({ path, headers, body }: Request, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted();
    const reading = new AnswerReading(signal);
    this.#reading = reading;
    this.#bytesBefore = this.#socket.bytesRead;
    this.#client.dispatch({ method: "POST", path, headers, body }, reading);
    try {
      return await reading.answer;
    } finally {
      this.#reading = null;
    }
  }

  /** Ends it, whatever is under way. */
  close(): void {
    this.#socket.destroy();
    this.#client.destroy().catch(() => {});
    this.#end();
  }

  #arrived(): void {
    const { bytesRead } = this.#socket;
    this.#observer.read();
    if (this.#reading !== null) {
      this.#reading.received(bytesRead - this.#bytesBefore);
      this.#bytesAccounted = bytesRead;
    } else if (bytesRead > this.#bytesAccounted) {
      this.#observer.spokeUnasked(this);
      this.close();
    }
  }

  #end(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#observer.ended(this);
  }
}

/** Whether undici met more than an answer: another one, or bytes that are none. */
function isNoAnswer(error: Error): boolean {
  return error.name === "HTTPParserError" || error.message === "bad response";
}
