/** A server that is as bad as a test wants it: it reads a request's bytes and does what it is told. */
export interface RawServer extends AsyncDisposable {
  /** Where it is. */
  readonly url: string;
  /** Its port. */
  readonly port: number;
  /** How many connections it has had. */
  readonly connections: number;
}

/** Where it listens. */
export interface RawServerOptions {
  /** Default 127.0.0.1. */
  readonly hostname?: string;
  /** Default a free one. */
  readonly port?: number;
  /** With these it speaks TLS. */
  readonly tls?: Deno.TlsCertifiedKeyPem;
}

/** Starts one. `serve` is called for each connection, once a request has arrived on it. */
export function rawServer(
  serve: (connection: Deno.Conn, count: number, request: string | null) => Promise<unknown>,
  { hostname = "127.0.0.1", port: wanted = 0, tls }: RawServerOptions = {},
): RawServer {
  const where = { hostname, port: wanted };
  const listener: Deno.Listener<Deno.Conn> = tls === undefined
    ? Deno.listen(where)
    : Deno.listenTls({ ...where, ...tls });
  const open = new Set<Deno.Conn>();
  let connections = 0;
  let isClosed = false;
  const accepting = (async () => {
    while (true) {
      const connection = await listener.accept().catch(() => null);
      // A handshake that fails is no connection, and the listener goes on.
      if (connection === null) {
        if (isClosed) return;
        continue;
      }
      open.add(connection);
      const count = ++connections;
      readRequest(connection).then((request) => serve(connection, count, request)).catch(() => {}).finally(
        () => {
          open.delete(connection);
          try {
            connection.close();
          } catch {
            // The test closed it.
          }
        },
      );
    }
  })();
  const { port } = listener.addr as Deno.NetAddr;
  return {
    url: `${tls === undefined ? "http" : "https"}://${
      hostname.includes(":") ? `[${hostname}]` : hostname
    }:${port}/hook`,
    port,
    get connections() {
      return connections;
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      listener.close();
      for (const connection of open) connection.close();
      await accepting;
    },
  };
}

const REQUEST_BYTES_MAX = 64 * 1024;

/** Reads one request, or as much of it as 64 KiB. Null when the connection ends before. */
export async function readRequest(connection: Deno.Conn): Promise<string | null> {
  const buffer = new Uint8Array(REQUEST_BYTES_MAX);
  const decoder = new TextDecoder("latin1");
  for (let text = "";;) {
    const read = await connection.read(buffer).catch(() => null);
    if (read === null) return null;
    text += decoder.decode(buffer.subarray(0, read));
    const head = /^[^]*?\r\n\r\n/.exec(text)?.[0];
    const length = Number(/content-length: (\d+)/i.exec(head ?? "")?.[1] ?? 0);
    const isWhole = head !== undefined && text.length >= head.length + length;
    if (isWhole || text.length >= REQUEST_BYTES_MAX) return text;
  }
}

/** Writes text again and again until the other side is gone. Resolves to the bytes that went out. */
export async function flood(connection: Deno.Conn, text: string): Promise<number> {
  const bytes = new TextEncoder().encode(text);
  let written = 0;
  try {
    // Not all may go out at once; what follows is the rest, so that the whole is what the text says.
    while (true) written += await connection.write(bytes.subarray(written % bytes.length));
  } catch {
    return written;
  }
}
