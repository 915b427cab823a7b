import { AnswerReader } from "./_http_answer.ts";

/** Where a connection goes: an address that was checked, and the name that its certificate must bear. */
export interface Destination {
  /** An IPv4 or IPv6 address, never a name. */
  readonly address: string;
  /** The port. */
  readonly port: number;
  /** The name that the certificate is verified against; null for no TLS. */
  readonly serverName: string | null;
}

/** A connection that answers are read from. */
export interface Connection {
  /** The stream. */
  readonly stream: Deno.TcpConn | Deno.TlsConn;
  /** What arrives on it. */
  readonly reader: AnswerReader;
  /** Whether it has carried an answer before: the other side may just have closed it. */
  readonly isUsed: boolean;
}

interface Idle extends Connection {
  readonly since: number;
}

/** Less than the 5 s after which many servers close: a request on its way to a closing server is lost. */
const IDLE_MS_MAX = 4000;
const IDLE_PER_DESTINATION_MAX = 32;
/** A process may have 1,024 files open where nobody has raised that, and needs some for other things. */
const IDLE_MAX = 500;

/** Kept-alive connections, by destination. */
export class Connections {
  #isClosed = false;
  #idleCount = 0;
  #idle = new Map<string, Idle[]>();
  #sweeping: ReturnType<typeof setInterval> | null = null;

  /** One that is idle, or a new one. */
  async open(destination: Destination, signal: AbortSignal, fresh: boolean): Promise<Connection> {
    const idle = fresh ? undefined : this.#idle.get(nameOf(destination))?.pop();
    if (idle !== undefined) {
      this.#idleCount--;
      return idle;
    }
    const { address, port, serverName } = destination;
    const plain = await Deno.connect({ hostname: address, port, signal, autoSelectFamily: false });
    try {
      plain.setNoDelay(true);
    } catch (error) {
      closeQuietly(plain);
      throw error;
    }
    if (serverName === null) return { stream: plain, reader: new AnswerReader(plain), isUsed: false };
    // startTls takes the plain one over: from then on only closing the secure one ends a handshake.
    let stream: Connection["stream"] = plain;
    const close = () => closeQuietly(stream);
    signal.addEventListener("abort", close, { once: true });
    try {
      // By the CAs of this process: the usual ones, or those that DENO_CERT and DENO_TLS_CA_STORE name.
      const secure = await Deno.startTls(plain, { hostname: serverName, alpnProtocols: ["http/1.1"] });
      stream = secure;
      signal.throwIfAborted();
      await secure.handshake();
      return { stream: secure, reader: new AnswerReader(secure), isUsed: false };
    } catch (error) {
      close();
      throw error;
    } finally {
      signal.removeEventListener("abort", close);
    }
  }

  /** Keeps a connection whose answer was read whole. */
  keep(destination: Destination, { stream, reader }: Connection): void {
    const name = nameOf(destination);
    const idle = this.#idle.get(name) ?? [];
    const isFull = this.#idleCount >= IDLE_MAX || idle.length >= IDLE_PER_DESTINATION_MAX;
    if (this.#isClosed || reader.hasMore || isFull) return closeQuietly(stream);
    this.#idleCount++;
    idle.push({ stream, reader, isUsed: true, since: performance.now() });
    this.#idle.set(name, idle);
    this.#sweeping ??= setInterval(() => this.#sweep(), IDLE_MS_MAX / 4);
  }

  /** Closes what is idle, and keeps nothing from now on: whatever is under way goes on, and closes at its end. */
  close(): void {
    this.#isClosed = true;
    this.#sweep(Infinity);
  }

  #sweep(oldest: number = performance.now() - IDLE_MS_MAX): void {
    for (const [name, idle] of this.#idle) {
      const kept = idle.filter((connection) => connection.since >= oldest);
      for (const connection of idle) if (connection.since < oldest) closeQuietly(connection.stream);
      this.#idleCount -= idle.length - kept.length;
      if (kept.length > 0) this.#idle.set(name, kept);
      else this.#idle.delete(name);
    }
    if (this.#idle.size > 0 || this.#sweeping === null) return;
    clearInterval(this.#sweeping);
    this.#sweeping = null;
  }
}

/** Closes what may be closed already. */
export function closeQuietly(stream: { close(): void }): void {
  try {
    stream.close();
  } catch {
    // It is closed.
  }
}

function nameOf({ address, port, serverName }: Destination): string {
  return `${address} ${port} ${serverName ?? ""}`;
}
