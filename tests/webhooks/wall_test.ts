import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import type { Json } from "../../ports/json.ts";
import { silentLog } from "../../shared/log.ts";
import { parseRange, REFUSED_IPV6 } from "../../webhooks/sender/addresses.ts";
import { deniedHosts } from "../../webhooks/sender/denied.ts";
import type { PostOutput } from "../../webhooks/sender/post.ts";
import { createExecutor } from "../../workers/executor.ts";

const POST = new URL("../../webhooks/sender/post.ts", import.meta.url);
const TLS = new URL("../../webhooks/sender/testdata/tls/", import.meta.url);

function executor() {
  const executor = createExecutor({ log: silentLog, threads: 2 });
  const send = (address: string, url: string, allowed: readonly string[]): Promise<PostOutput> => {
    const input: Json = { addresses: [address], url, headers: {}, body: "{}", timeoutMs: 5000 };
    const permissions = { net: true as const, denyNet: deniedHosts(allowed.map(parseRange)) };
    return executor.call(POST, input, { permissions }) as unknown as Promise<PostOutput>;
  };
  return { send, [Symbol.asyncDispose]: () => executor.stop() };
}

Deno.test("under the guard, the sending process may not reach the inside", async () => {
  let connections = 0;
  const count = (): Response => {
    connections++;
    return new Response();
  };
  await using four = Deno.serve({ hostname: "0.0.0.0", port: 0, onListen: () => {} }, count);
  await using six = Deno.serve({ hostname: "::1", port: 0, onListen: () => {} }, count);
  await using wall = executor();
  const inside = [
    "127.0.0.1",
    "127.0.0.2",
    "0.0.0.0",
    "10.0.0.1",
    "169.254.169.254",
    "192.168.1.1",
    ...REFUSED_IPV6,
  ];
  for (const address of inside) {
    for (const { addr: { port } } of [four, six]) {
      const output = await wall.send(address, `http://hooks.example:${port}/`, []);
      assertEquals(output.type === "failed" && output.reason, "denied", address);
    }
  }
  assertEquals(connections, 0);
  const url = `http://hooks.example:${four.addr.port}/`;
  assertEquals((await wall.send("127.0.0.1", url, ["127.0.0.1"])).type, "answered");
  const beside = await wall.send("127.0.0.2", url, ["127.0.0.1"]);
  assertEquals(beside.type === "failed" && beside.reason, "denied");
  assertEquals(connections, 1);
});

Deno.test("the address is pinned and the certificate verified against the name, by the CAs that Deno knows", async () => {
  const server = Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    onListen: () => {},
    cert: await Deno.readTextFile(new URL("hooks_example.pem", TLS)),
    key: await Deno.readTextFile(new URL("hooks_example.key", TLS)),
  }, (request) => new Response(request.url));
  const { port } = server.addr;
  const kept = Deno.env.get("DENO_CERT");
  try {
    {
      await using stranger = executor();
      const output = await stranger.send("127.0.0.1", `https://hooks.example:${port}/`, ["127.0.0.1"]);
      assertEquals(output.type === "failed" && output.reason, "certificate");
    }
    Deno.env.set("DENO_CERT", fileURLToPath(new URL("ca.pem", TLS)));
    await using trusting = executor();
    // The name exists nowhere: nothing but the address given can have been connected to.
    for (const name of ["hooks.example", "hooks.example."]) {
      const output = await trusting.send("127.0.0.1", `https://${name}:${port}/path`, ["127.0.0.1"]);
      assert(output.type === "answered", JSON.stringify(output));
      assertStringIncludes(output.answer, `https://${name}:${port}/path`);
    }
    for (const name of ["other.example", "127.0.0.1", "sub.hooks.example"]) {
      const output = await trusting.send("127.0.0.1", `https://${name}:${port}/`, ["127.0.0.1"]);
      assertEquals(output.type === "failed" && output.reason, "certificate", name);
    }
  } finally {
    if (kept === undefined) Deno.env.delete("DENO_CERT");
    else Deno.env.set("DENO_CERT", kept);
    await server.shutdown();
  }
});
