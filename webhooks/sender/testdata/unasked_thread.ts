/// <reference lib="deno.worker" />
/**
 * A receiver in a thread of its own: it answers each request with 200 and its number on that connection and, when the
 * shared cell says so, with a 400 that nobody asked for as well. The cell tells when that is written.
 */
const encoder = new TextEncoder();
const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });

self.onmessage = async ({ data: cell }: MessageEvent<Int32Array>) => {
  for await (const connection of listener) serve(connection, cell).catch(() => {});
};
self.postMessage((listener.addr as Deno.NetAddr).port);

async function serve(connection: Deno.Conn, cell: Int32Array): Promise<void> {
  const buffer = new Uint8Array(4096);
  for (let count = 1; await connection.read(buffer) !== null; count++) {
    await connection.write(encoder.encode(`HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n${count}`));
    // Until the sender has read it and blocks.
    while (Atomics.load(cell, 0) === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    await connection.write(encoder.encode("HTTP/1.1 400 Unasked\r\ncontent-length: 0\r\n\r\n"));
    Atomics.store(cell, 0, 0);
    Atomics.notify(cell, 0);
  }
}
