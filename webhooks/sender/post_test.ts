import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import post, { createPoster, type PostInput, type PostOutput } from "./post.ts";
import { hasControlCharacter } from "./testdata/control_characters.ts";
import { flood, rawServer } from "./testdata/raw_server.ts";

const encoder = new TextEncoder();
// Kept connections are closed by a timer, and a test's end is sooner.
const loose = { sanitizeResources: false, sanitizeOps: false };

function send(url: string, changes: Partial<PostInput> = {}): Promise<PostOutput> {
  return post({
    addresses: ["127.0.0.1"],
    url,
    headers: { "x-test": "1" },
    body: '{"a":"\u00e9"}',
    timeoutMs: 5000,
    ...changes,
  });
}

async function answerOf(text: string, changes: Partial<PostInput> = {}): Promise<PostOutput> {
  await using server = rawServer((connection) => connection.write(encoder.encode(text)));
  return await send(server.url, changes);
}

function failure(output: PostOutput): string {
  return output.type === "failed" ? `${output.reason}: ${output.message}` : `answered ${output.status}`;
}

Deno.test({
  name: "post() sends the body's bytes, the URL's name and a length in bytes",
  ...loose,
  async fn() {
    const seen: { host: string | null; length: string | null; url: string; bytes: Uint8Array }[] = [];
    await using server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      async (request) => {
        const { headers, url } = request;
        seen.push({
          host: headers.get("host"),
          length: headers.get("content-length"),
          url,
          bytes: await request.bytes(),
        });
        return new Response("fine", { status: 201 });
      },
    );
    const output = await send(`http://hooks.example:${server.addr.port}/a%20b?c=1`);
    assert(output.type === "answered");
    assertEquals([output.status, output.answer], [201, "fine"]);
    assertEquals(seen[0]!.host, `hooks.example:${server.addr.port}`);
    assertEquals(seen[0]!.length, "10");
    assertEquals(seen[0]!.bytes, encoder.encode('{"a":"\u00e9"}'));
    assert(seen[0]!.url.endsWith("/a%20b?c=1"));
  },
});

Deno.test({
  name: "post() reads every framing of an answer, and interim ones before it",
  ...loose,
  async fn() {
    const answers: [string, number, string][] = [
      ["HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", 200, "ok"],
      [
        "HTTP/1.1 200\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n3;x=y\r\n!!!\r\n0\r\nt: 1\r\n\r\n",
        200,
        "ok!!!",
      ],
      ["HTTP/1.0 200 OK\r\n\r\nuntil the end", 200, "until the end"],
      [
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </>\r\n\r\nHTTP/1.1 204 No\r\n\r\n",
        204,
        "",
      ],
      [
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100\r\n\r\nHTTP/1.1 202 OK\r\ncontent-length: 12\r\n\r\nHTTP/1.1 100",
        202,
        "HTTP/1.1 100",
      ],
      ["\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", 200, "ok"],
      ["HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", 200, "ok"],
      // The status is known, and what breaks off after it changes nothing about it.
      ["HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nok", 200, "ok"],
      ["HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\nzz\r\n", 200, "ok"],
      ["HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\n\r\n", 302, ""],
      ["HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\na\0\xffb", 200, "a\ufffd\u00ff"],
    ];
    for (const [text, status, answer] of answers) {
      const output = await answerOf(text);
      assert(output.type === "answered", failure(output));
      assertEquals([output.status, output.answer], [status, answer]);
    }
    const asked = await answerOf(
      "HTTP/1.1 429 Later\r\nRetry-After: 120\r\nretry-after: Sun, 29 Nov 2026 12:00:00 GMT\r\ncontent-length: 0\r\n\r\n",
    );
    assert(asked.type === "answered");
    assertEquals(asked.retryAfter, ["120", "Sun, 29 Nov 2026 12:00:00 GMT"]);
  },
});

Deno.test({
  name: "post() ends what is no answer",
  ...loose,
  async fn() {
    const bad = [
      "SSH-2.0-OpenSSH_9.6\r\n\r\n",
      "HTTP/2 200\r\n\r\n",
      "HTTP/1.1 2000 OK\r\n\r\n",
      "HTTP/1.1 101 Switching\r\n\r\n",
      "HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
      "HTTP/1.1 600 More\r\ncontent-length: 0\r\n\r\n",
      "HTTP/1.1 099 Less\r\ncontent-length: 0\r\n\r\n",
      "HTTP/1.1 100 Continue\r\n\r\n",
      "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
      "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nok",
      "HTTP/1.1 200 OK\r\ncontent-le",
      "",
      // docs/webhooks.md lists these.
      "HTTP/1.1 500 Oh\ncontent-length: 2\n\nno",
      "HTTP/1.1 200 OK\r\nx: folded\r\n here\r\ncontent-length: 2\r\n\r\nok",
      "HTTP/1.1 200 OK\r\ncontent-length: 2, 2\r\n\r\nok",
      "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nok",
      "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nbad name: x\r\ncontent-length: 2\r\n\r\nok",
      "HTTP/1.1 200 OK\r\nx: a\x01b\r\ncontent-length: 2\r\n\r\nok",
    ];
    for (const text of bad) {
      const told = failure(await answerOf(text));
      assertStringIncludes(told, "answer: ", JSON.stringify(text));
      assert(!hasControlCharacter(told), JSON.stringify(told));
    }
  },
});

Deno.test({
  name: "post() ends floods within their bounds: headers, interim answers, a head without an end",
  ...loose,
  async fn() {
    for (
      const [head, more] of [
        ["HTTP/1.1 200 OK\r\n", "x-flood: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n"],
        ["", "HTTP/1.1 100 Continue\r\n\r\n"],
        ["", "HTTP/1.1 103 Early Hints\r\nlink: </>\r\n\r\n"],
        ["HTTP/1.1 200 OK\r\nx: ", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"],
        ["", "\r\n"],
      ]
    ) {
      await using server = rawServer(async (connection) => {
        await connection.write(encoder.encode(head));
        await flood(connection, more!.repeat(100));
      });
      assertStringIncludes(failure(await send(server.url)), "larger than 32768 bytes", JSON.stringify(more));
    }
  },
});

Deno.test({
  name: "post() reads 64 KiB of an endless body, and inflates nothing",
  ...loose,
  async fn() {
    for (
      const [head, more] of [
        ["HTTP/1.1 200 OK\r\n\r\n", "a".repeat(10_000)],
        ["HTTP/1.1 200 OK\r\ncontent-length: 999999999999\r\n\r\n", "a".repeat(10_000)],
        ["HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", "2\r\nok\r\n".repeat(1000)],
      ]
    ) {
      const written = Promise.withResolvers<number>();
      await using server = rawServer(async (connection) => {
        await connection.write(encoder.encode(head));
        written.resolve(await flood(connection, more!));
      });
      assertEquals(failure(await send(server.url)), "answered 200");
      assert(await written.promise < 50 * 1024 * 1024);
    }
    const bomb = new Blob([new Uint8Array(10 * 1024 * 1024)]).stream().pipeThrough(
      new CompressionStream("gzip"),
    );
    const bytes = await new Response(bomb).bytes();
    await using server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      () => new Response(bytes, { headers: { "content-encoding": "gzip" } }),
    );
    const output = await send(`http://127.0.0.1:${server.addr.port}/`);
    assert(output.type === "answered");
    assertEquals(output.answer, `(${bytes.length} bytes, gzip)`);
  },
});

Deno.test({
  name: "post() leaves no control character of a receiver in what it tells",
  ...loose,
  async fn() {
    const body = "\x1b[2J\u202eevil\x07\r\n\0";
    for (const encoding of ["", "content-encoding: gz\tip, \xe2\x80\xae, \x80\x9b31m\r\n"]) {
      const bytes = encoder.encode(body);
      await using server = rawServer(async (connection) => {
        const head =
          `HTTP/1.1 429 \x1b[31mred\r\nretry-after: \x9b1\r\n${encoding}content-length: ${bytes.length}\r\n\r\n`;
        await connection.write(Uint8Array.from(head, (character) => character.charCodeAt(0)));
        await connection.write(bytes);
      });
      const told = await send(server.url);
      assertEquals(failure(told), "answered 429");
      assert(
        !hasControlCharacter(Object.values(told).flat().join()),
        Deno.inspect(told),
      );
    }
  },
});

Deno.test({
  name: "post() tells of a header that can't be sent as a fault of this side, and sends nothing",
  ...loose,
  async fn() {
    await using server = rawServer((connection) =>
      connection.write(encoder.encode("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"))
    );
    const bad: Record<string, string>[] = [
      { "x-a": "b\r\nx-evil: 1" },
      { "x-a": "\u00e9" },
      { "x-a": "a\0" },
      { "x a": "b" },
      { "": "b" },
      { "x-a\r\nx-evil": "b" },
      { expect: "100-continue" },
      { Host: "elsewhere.example" },
      { connection: "upgrade" },
      { "transfer-encoding": "chunked" },
      { "content-length": "1000" },
    ];
    for (const headers of bad) {
      const output = await send(server.url, { headers });
      assertEquals(output.type === "failed" && output.reason, "unsendable", JSON.stringify(headers));
    }
    assertEquals(server.connections, 0);
  },
});

Deno.test({
  name: "post() ends within its limit whatever drips, and a status that came counts",
  ...loose,
  async fn() {
    const drip = async (connection: Deno.Conn, text: string) => {
      for (const letter of text.repeat(1000)) {
        await connection.write(encoder.encode(letter));
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    };
    await using slow = rawServer((connection) => drip(connection, "HTTP/1.1 200 OK"));
    const began = performance.now();
    assertEquals(failure(await send(slow.url, { timeoutMs: 200 })), "timeout: no answer within 200 ms");
    await using silent = rawServer(() => new Promise(() => {}));
    assertEquals(failure(await send(silent.url, { timeoutMs: 200 })), "timeout: no answer within 200 ms");
    assert(performance.now() - began < 5000);
    await using body = rawServer(async (connection) => {
      await connection.write(encoder.encode("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n"));
      await drip(connection, "a");
    });
    assertEquals(failure(await send(body.url)), "answered 200");
  },
});

Deno.test({
  name: "post() tells a refused connection, a reset one and an answer before all is sent apart",
  ...loose,
  async fn() {
    const free = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = free.addr as Deno.NetAddr;
    free.close();
    assertEquals(failure(await send(`http://127.0.0.1:${port}/`)), "connection: the connection was refused");
    await using early = rawServer(async (connection) => {
      await connection.write(encoder.encode("HTTP/1.1 413 Too large\r\ncontent-length: 0\r\n\r\n"));
    });
    const output = await send(early.url, { body: "a".repeat(20_000_000), timeoutMs: 5000 });
    assert(
      failure(output) === "answered 413" ||
        failure(output).startsWith("connection: the connection was reset"),
    );
  },
});

Deno.test({
  name: "post() ends in time when a server takes the connection and never answers the TLS handshake",
  ...loose,
  async fn() {
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const taken: Deno.Conn[] = [];
    const taking = (async () => {
      for await (const connection of listener) taken.push(connection);
    })();
    try {
      const url = `https://127.0.0.1:${listener.addr.port}/`;
      const { promise: late, resolve } = Promise.withResolvers<string>();
      const timer = setTimeout(() => resolve("it never came back"), 10_000);
      const outputs = Array.from({ length: 3 }, () => send(url, { timeoutMs: 200 }).then(failure));
      for (const output of outputs) {
        assertEquals(await Promise.race([output, late]), "timeout: no answer within 200 ms");
      }
      clearTimeout(timer);
    } finally {
      for (const connection of taken) connection.close();
      listener.close();
      await taking;
    }
  },
});

Deno.test({
  name: "post() does not use a connection again on which a body may still come that an answer can't have",
  ...loose,
  async fn() {
    const late = "HTTP/1.1 500 Late\r\ncontent-length: 0\r\n\r\n";
    for (
      const head of [
        `HTTP/1.1 204 No Content\r\ncontent-length: ${late.length}\r\n\r\n`,
        "HTTP/1.1 304 Not Modified\r\ntransfer-encoding: chunked\r\n\r\n",
      ]
    ) {
      let opened = 0;
      await using server = rawServer(async (connection) => {
        opened++;
        await connection.write(encoder.encode(head));
        await new Promise((resolve) => setTimeout(resolve, 50));
        await connection.write(encoder.encode(late)).catch(() => {});
        await new Promise(() => {});
      });
      const status = head.slice(9, 12);
      assertEquals(failure(await send(server.url)), `answered ${status}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
      assertEquals(failure(await send(server.url)), `answered ${status}`);
      assertEquals(opened, 2);
    }
  },
});

Deno.test({
  name: "post() reads no more of what is around chunks than of chunks",
  ...loose,
  async fn() {
    const written = Promise.withResolvers<number>();
    await using server = rawServer(async (connection) => {
      await connection.write(encoder.encode("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"));
      written.resolve(await flood(connection, `1;${"x".repeat(900)}\r\na\r\n`.repeat(20)));
    });
    assertEquals(failure(await send(server.url)), "answered 200");
    // What the sockets hold comes on top.
    const mebibytes = await written.promise / 1024 / 1024;
    assert(mebibytes < 16, `${mebibytes} MiB`);
  },
});

Deno.test({
  name: "post() keeps a bounded number of connections, however many receivers there are",
  ...loose,
  async fn() {
    const poster = createPoster();
    let open = 0;
    const listener = Deno.listen({ hostname: "0.0.0.0", port: 0 });
    const serving = (async () => {
      for await (const connection of listener) {
        open++;
        (async () => {
          const buffer = new Uint8Array(4096);
          while (await connection.read(buffer).catch(() => null) !== null) {
            await connection.write(encoder.encode("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")).catch(
              () => {},
            );
          }
          open--;
          connection.close();
        })();
      }
    })();
    const url = `http://hooks.example:${(listener.addr as Deno.NetAddr).port}/`;
    const input = { url, headers: {}, body: "", timeoutMs: 20_000 };
    for (let block = 0; block < 60; block++) {
      const addresses = Array.from({ length: 10 }, (_, index) => `127.0.${block}.${index + 1}`);
      const outputs = await Promise.all(
        addresses.map((address) => poster.post({ ...input, addresses: [address] })),
      );
      assertEquals(outputs.map(failure), Array(10).fill("answered 200"));
    }
    for (let looks = 0; open > 512 && looks < 100; looks++) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    assert(open <= 512 && open > 100, `${open} are open`);
    poster.close();
    listener.close();
    await serving.catch(() => {});
  },
});

Deno.test({
  name: "post() tells when it is this machine that has no more connections to give",
  ignore: Deno.build.os === "windows",
  async fn() {
    await using server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      () => new Response(),
    );
    const program = fileURLToPath(new URL("./testdata/starved.ts", import.meta.url));
    const url = `http://127.0.0.1:${server.addr.port}/`;
    const { stdout, stderr } = await new Deno.Command("sh", {
      args: [
        "-c",
        'ulimit -n 256 && exec "$@"',
        "sh",
        Deno.execPath(),
        "run",
        "-A",
        "--no-check",
        program,
        url,
      ],
      stdin: "null",
    }).output();
    const output = JSON.parse(new TextDecoder().decode(stdout) || "{}");
    assertEquals(
      failure(output),
      "exhausted: this machine has no more connections to give",
      new TextDecoder().decode(stderr),
    );
  },
});
