import { assert, assertEquals } from "@std/assert";
import { createPoster, type PostOutput } from "./post.ts";
import { type RawServer, rawServer, readRequest } from "./testdata/raw_server.ts";

const encoder = new TextEncoder();

function told(output: PostOutput): string {
  return output.type === "answered"
    ? `${output.status} ${output.answer}`
    : `${output.reason}: ${output.message}`;
}

/** A receiver that answers every request with its address. */
function receiver(hostname: string, port = 0): RawServer {
  return rawServer(async (connection) => {
    const body = hostname;
    do {
      const text = `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
      await connection.write(encoder.encode(text));
    } while (await readRequest(connection) !== null);
  }, { hostname, port });
}

/** An address that lets nothing through and refuses nothing: its queue of connections is full, and nobody takes them. */
async function blackHole(hostname: string, port: number): Promise<Disposable> {
  const listener = Deno.listen({ hostname, port, tcpBacklog: 1 });
  const filling: Deno.Conn[] = [];
  for (let isFull = false; !isFull && filling.length < 20;) {
    const signal = AbortSignal.timeout(300);
    await Deno.connect({ hostname, port, signal }).then(
      (connection) => filling.push(connection),
      () => isFull = true,
    );
  }
  return {
    [Symbol.dispose]() {
      for (const connection of filling) connection.close();
      listener.close();
    },
  };
}

/** Sends one webhook to a name with these addresses. */
function sender(port: number) {
  const poster = createPoster();
  return {
    send(addresses: readonly string[], timeoutMs = 5000): Promise<PostOutput> {
      const url = `http://hooks.example:${port}/`;
      return poster.post({ addresses, url, headers: {}, body: "{}", timeoutMs });
    },
    [Symbol.dispose]: () => poster.close(),
  };
}

Deno.test("an address that refuses is followed by the next, whatever its family, in the same attempt", async () => {
  await using server = receiver("127.0.0.1");
  using sending = sender(server.port);
  for (const dead of [["127.0.0.2"], ["::1"], ["127.0.0.2", "::1", "127.0.0.3", "127.0.0.4"]]) {
    const output = await sending.send([...dead, "127.0.0.1"]);
    assertEquals(told(output), "200 127.0.0.1", dead.join());
  }
  // An address that was outrun is tried last from then on, so that the connection is used again.
  const opened = server.connections;
  assertEquals(told(await sending.send(["::1", "127.0.0.2", "127.0.0.1"])), "200 127.0.0.1");
  assertEquals(server.connections, opened);
  await using six = receiver("::1");
  using toSix = sender(six.port);
  assertEquals(told(await toSix.send(["127.0.0.2", "::1"])), "200 ::1");
});

Deno.test("a silent address is followed by the next after a quarter of a second, and is tried last from then on", async () => {
  await using server = receiver("127.0.0.1");
  using _silent = await blackHole("127.0.0.2", server.port);
  using sending = sender(server.port);
  const first = await sending.send(["127.0.0.2", "127.0.0.1"]);
  assertEquals(told(first), "200 127.0.0.1");
  assert(first.durationMs >= 240, `${first.durationMs} ms`);
  assertEquals(told(await sending.send(["127.0.0.2", "127.0.0.1"])), "200 127.0.0.1");
  assertEquals(server.connections, 1);
});

Deno.test("a slow address that is the only one to answer is waited for", async () => {
  await using server = receiver("127.0.0.1");
  using _silent = await blackHole("127.0.0.2", server.port);
  using sending = sender(server.port);
  // The silent one is the last here, and it is the refused ones that must not end the attempt.
  const output = await sending.send(["127.0.0.3", "127.0.0.2"], 600);
  assertEquals(told(output), "timeout: no answer within 600 ms");
});

Deno.test("where every address refuses, the attempt has failed at once", async () => {
  const server = receiver("127.0.0.1");
  const { port } = server;
  await server[Symbol.asyncDispose]();
  using sending = sender(port);
  const output = await sending.send(["127.0.0.1", "127.0.0.2", "::1"]);
  assertEquals(told(output), "connection: the connection was refused");
  assert(output.durationMs < 4000, `${output.durationMs} ms`);
});

Deno.test("an address that was reached is the attempt's: no other is tried whatever comes of it", async () => {
  await using second = receiver("127.0.0.1");
  const { port } = second;
  let taken = 0;
  const first = Deno.listen({ hostname: "127.0.0.2", port });
  const taking = (async () => {
    for await (const connection of first) {
      taken++;
      await connection.write(encoder.encode("I speak neither HTTP nor TLS\r\n"));
      connection.close();
    }
  })();
  const poster = createPoster();
  for (const scheme of ["http", "https"]) {
    const url = `${scheme}://hooks.example:${port}/`;
    const addresses = ["127.0.0.2", "127.0.0.1"];
    const output = await poster.post({ addresses, url, headers: {}, body: "{}", timeoutMs: 5000 });
    assertEquals(output.type, "failed", told(output));
  }
  poster.close();
  first.close();
  await taking;
  assertEquals([taken, second.connections], [2, 0]);
});

Deno.test("what is no address is never resolved", async () => {
  await using server = receiver("127.0.0.1");
  using sending = sender(server.port);
  const output = await sending.send(["localhost"]);
  assertEquals(told(output), "connection: no connection could be made");
  assertEquals(server.connections, 0);
});
