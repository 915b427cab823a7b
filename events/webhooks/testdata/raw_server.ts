/** A server that is as bad as a test wants it: it reads a request's bytes and does what it is told. */
export interface RawServer extends AsyncDisposable {
  /** Where it is. */
  readonly url: string;
  /** Its port. */
  readonly port: number;
  /** How many connections it has had. */
  readonly connections: number;
}

/** Starts one on 127.0.0.1. `serve` is called for each connection, once bytes have arrived on it. */
export function rawServer(serve: (connection: Deno.TcpConn, count: number) => Promise<unknown>): RawServer {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.TcpConn>();
  let connections = 0;
  const accepting = (async () => {
    for await (const connection of listener) {
      open.add(connection);
      const count = ++connections;
      connection.read(new Uint8Array(64 * 1024)).then(() => serve(connection, count)).catch(() => {}).finally(
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
    url: `http://127.0.0.1:${port}/hook`,
    port,
    get connections() {
      return connections;
    },
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const connection of open) connection.close();
      await accepting;
    },
  };
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
