import { assert, assertEquals, assertRejects } from "@std/assert";
import { Connection, StaleConnectionError } from "./connection.ts";
import { dial } from "./dial.ts";
import { createPoster, type PostInput, type PostOutput } from "./post.ts";
import { type RawServer, rawServer, readRequest } from "./testdata/raw_server.ts";

const encoder = new TextEncoder();

async function say(connection: Deno.Conn, status: number, body = "", headers = ""): Promise<void> {
  const text = `HTTP/1.1 ${status} X\r\n${headers}content-length: ${body.length}\r\n\r\n${body}`;
  await connection.write(encoder.encode(text));
}

/** Answers every request of a connection with 200 and its number there. `after` comes after each answer. */
async function serve(
  connection: Deno.Conn,
  after: (connection: Deno.Conn) => unknown = () => {},
  headers = "",
): Promise<void> {
  let count = 1;
  do {
    await say(connection, 200, String(count++), headers);
    await after(connection);
  } while (await readRequest(connection) !== null);
}

/** Sends with connections of its own, which are closed at the end. */
function sender() {
  const poster = createPoster();
  return {
    send(server: RawServer, changes: Partial<PostInput> = {}): Promise<string> {
      const input = { addresses: ["127.0.0.1"], url: server.url, headers: {}, body: "{}", timeoutMs: 5000 };
      return poster.post({ ...input, ...changes }).then(told);
    },
    [Symbol.dispose]: () => poster.close(),
  };
}

function told(output: PostOutput): string {
  return output.type === "answered"
    ? `${output.status} ${output.answer}`
    : `${output.reason}: ${output.message}`;
}

/** Resolves when the other side has closed the connection; rejects when it does not. */
async function closed(connection: Deno.Conn): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error("the connection is still open")), 3000);
  try {
    await Promise.race([readRequest(connection), late]);
  } finally {
    clearTimeout(timer);
  }
}

Deno.test("a kept connection is used again", async () => {
  await using server = rawServer((connection) => serve(connection));
  using sending = sender();
  for (const expected of ["200 1", "200 2", "200 3"]) assertEquals(await sending.send(server), expected);
  assertEquals(server.connections, 1);
});

Deno.test("whatever comes on a kept connection that nobody asked for ends it, and counts for nothing", async () => {
  const unasked = [
    "HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
    "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
    "HTTP/1.1 103 Early Hints\r\n\r\n",
    "HTTP/1.1 20",
    "\r\n",
    "x",
  ];
  for (const text of unasked) {
    const ended = Promise.withResolvers<void>();
    await using server = rawServer(async (connection, count) => {
      if (count > 1) return await serve(connection);
      await say(connection, 200, "first");
      // Not in one piece with the answer.
      await new Promise((resolve) => setTimeout(resolve, 50));
      await connection.write(encoder.encode(text));
      await closed(connection).then(ended.resolve, ended.reject);
    });
    using sending = sender();
    assertEquals(await sending.send(server), "200 first");
    await ended.promise;
    assertEquals(await sending.send(server), "200 1", JSON.stringify(text));
    assertEquals(server.connections, 2, JSON.stringify(text));
  }
});

Deno.test("of two answers at once to one request the first counts, and the other is nobody's", async () => {
  const ended = Promise.withResolvers<void>();
  await using server = rawServer(async (connection, count) => {
    if (count > 1) return await serve(connection);
    const two = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nfirst" +
      "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsecond";
    await connection.write(encoder.encode(two));
    await closed(connection).then(ended.resolve, ended.reject);
  });
  using sending = sender();
  assertEquals(await Promise.all([sending.send(server), sending.send(server)]).then((all) => all.sort()), [
    "200 1",
    "200 first",
  ]);
  await ended.promise;
  assertEquals(await sending.send(server), "200 1");
});

Deno.test("an answer that has arrived unseen when the next request is about to go out is nobody's", async () => {
  const thread = new Worker(new URL("./testdata/unasked_thread.ts", import.meta.url), { type: "module" });
  try {
    const port = await new Promise<number>((resolve) => thread.onmessage = ({ data }) => resolve(data));
    const cell = new Int32Array(new SharedArrayBuffer(4));
    thread.postMessage(cell);
    const url = `http://127.0.0.1:${port}/`;
    const input = { addresses: ["127.0.0.1"], url, headers: {}, body: "{}", timeoutMs: 5000 };
    for (let round = 0; round < 60; round++) {
      const poster = createPoster();
      try {
        assertEquals(told(await poster.post(input)), "200 1", `round ${round}`);
        Atomics.store(cell, 0, 1);
        // This thread does nothing, and reads nothing, until the other answer is in the socket's buffer.
        assert(Atomics.wait(cell, 0, 1, 5000) !== "timed-out");
        Atomics.wait(cell, 0, 0, 3);
        assertEquals(told(await poster.post(input)), "200 1", `round ${round}, after what nobody asked for`);
        // So that the receiver does not wait in this connection when the next round begins.
        Atomics.store(cell, 0, 1);
        assert(Atomics.wait(cell, 0, 1, 5000) !== "timed-out");
      } finally {
        poster.close();
      }
    }
  } finally {
    thread.terminate();
  }
});

Deno.test("a receiver that has spoken unasked gets a connection of its own for each request", async () => {
  const ended = Promise.withResolvers<void>();
  await using server = rawServer((connection, count) =>
    serve(connection, async () => {
      if (count > 1) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
      await say(connection, 200, "unasked");
      await closed(connection).then(ended.resolve, ended.reject);
    })
  );
  using sending = sender();
  assertEquals(await sending.send(server), "200 1");
  await ended.promise;
  for (let index = 0; index < 3; index++) assertEquals(await sending.send(server), "200 1");
  assertEquals(server.connections, 4);
});

Deno.test("two host names at one address share no connection", async () => {
  await using server = rawServer((connection) => serve(connection));
  using sending = sender();
  const url = (name: string) => `http://${name}:${server.port}/`;
  assertEquals(await sending.send(server, { url: url("one.example") }), "200 1");
  assertEquals(await sending.send(server, { url: url("two.example") }), "200 1");
  assertEquals(await sending.send(server, { url: url("one.example") }), "200 2");
  assertEquals(server.connections, 2);
});

Deno.test("a kept connection to an address that is no longer allowed is not used", async () => {
  await using server = rawServer((connection) => serve(connection), { hostname: "0.0.0.0" });
  using sending = sender();
  const url = `http://one.example:${server.port}/`;
  assertEquals(await sending.send(server, { url }), "200 1");
  assertEquals(await sending.send(server, { url, addresses: ["127.0.0.2"] }), "200 1");
  assertEquals(await sending.send(server, { url }), "200 2");
});

Deno.test("a connection that was closed while nobody used it goes unnoticed", async () => {
  const ended = Promise.withResolvers<void>();
  await using server = rawServer(async (connection, count) => {
    if (count > 1) return await serve(connection);
    await say(connection, 200, "first");
    await connection.closeWrite();
    await closed(connection).then(ended.resolve, ended.reject);
  });
  using sending = sender();
  assertEquals(await sending.send(server), "200 first");
  await ended.promise;
  assertEquals(await sending.send(server), "200 1");
  assertEquals(server.connections, 2);
});

Deno.test("a request whose kept connection ends without an answer is sent once, and has failed", async () => {
  let requests = 0;
  await using server = rawServer(async (connection) => {
    requests++;
    await say(connection, 200, "first");
    if (await readRequest(connection) !== null) requests++;
  });
  using sending = sender();
  assertEquals(await sending.send(server), "200 first");
  assertEquals(await sending.send(server), "answer: the connection ended before the answer did");
  assertEquals([requests, server.connections], [2, 1]);
});

Deno.test("a connection that ends just before a request goes out has sent nothing, and opens no other", async () => {
  let requests = 0;
  await using server = rawServer(async (connection) => {
    do {
      requests++;
      await say(connection, 200, "ok");
    } while (await readRequest(connection) !== null);
  });
  const { signal } = new AbortController();
  const dialled = await dial({ addresses: ["127.0.0.1"], port: server.port, serverName: null }, signal);
  const observer = { read() {}, ended() {}, spokeUnasked() {} };
  const connection = new Connection(`http://hooks.example:${server.port}`, dialled, observer);
  const request = { path: "/", headers: {}, body: new Uint8Array(2) };
  assertEquals((await connection.send(request, signal)).status, 200);
  const second = connection.send(request, signal);
  dialled.socket.destroy();
  await assertRejects(() => second, StaleConnectionError);
  assertEquals([requests, server.connections], [1, 1]);
  connection.close();
});

Deno.test("a connection is kept as long as the receiver says, and not at all when it closes", async () => {
  for (const headers of ["connection: close\r\n", "keep-alive: timeout=1\r\n"]) {
    await using server = rawServer((connection) => serve(connection, () => {}, headers));
    using sending = sender();
    assertEquals(await sending.send(server), "200 1");
    assertEquals(await sending.send(server), "200 1", headers);
    assertEquals(server.connections, 2);
  }
  const ended = Promise.withResolvers<void>();
  const wait = (connection: Deno.Conn) => closed(connection).then(ended.resolve, ended.reject);
  await using server = rawServer((connection) => serve(connection, wait, "keep-alive: timeout=2\r\n"));
  using sending = sender();
  assertEquals(await sending.send(server), "200 1");
  await ended.promise;
});

Deno.test("an answer by HTTP/1.0, and one before all was sent, end their connection", async () => {
  await using old = rawServer(async (connection) => {
    await connection.write(encoder.encode("HTTP/1.0 200 OK\r\ncontent-length: 3\r\n\r\nold"));
    await closed(connection);
  });
  using sending = sender();
  for (let index = 1; index <= 2; index++) {
    assertEquals(await sending.send(old), "200 old");
    assertEquals(old.connections, index);
  }
});
