import { assert, assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import { type RawServer, rawServer, readRequest } from "../../webhooks/sender/testdata/raw_server.ts";
import { Site } from "./support/site.ts";

const TLS = new URL("../../webhooks/sender/testdata/tls/", import.meta.url);
const encoder = new TextEncoder();

/** A receiver, and the events that it has got. */
interface Got {
  readonly ids: string[];
  readonly server: RawServer;
}

/** A receiver that answers 200, keeps the connection, and says something more on it 0.3 s later. */
function unasked(status: number, tls?: Deno.TlsCertifiedKeyPem): Got {
  const ids: string[] = [];
  const note = (request: string | null): boolean => {
    const id = /^webhook-id: (\S+)/im.exec(request ?? "")?.[1];
    if (id !== undefined) ids.push(id);
    return id !== undefined;
  };
  const server = rawServer(async (connection, _count, first) => {
    note(first);
    do {
      await connection.write(encoder.encode("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"));
      await new Promise((resolve) => setTimeout(resolve, 300));
      await connection.write(encoder.encode(`HTTP/1.1 ${status} Unasked\r\ncontent-length: 0\r\n\r\n`));
    } while (note(await readRequest(connection)));
  }, tls === undefined ? {} : { tls });
  return { ids, server };
}

Deno.test("an answer that nobody asked for is not the next delivery's, over http and https", async () => {
  const kept = Deno.env.get("DENO_CERT");
  Deno.env.set("DENO_CERT", fileURLToPath(new URL("ca.pem", TLS)));
  try {
    const tls = {
      cert: await Deno.readTextFile(new URL("hooks_example.pem", TLS)),
      key: await Deno.readTextFile(new URL("hooks_example.key", TLS)),
    };
    await using site = await Site.open({
      egress: {
        allowHttp: true,
        allowAddresses: ["127.0.0.1"],
        resolve: () => Promise.resolve(["127.0.0.1"]),
      },
    });
    await using servers = new AsyncDisposableStack();
    const receivers = ([[408], [400], [200], [400, tls], [200, tls]] as const).map(([status, tls]) =>
      unasked(status, tls)
    );
    const ids: string[] = [];
    for (const { server } of receivers) {
      servers.use(server);
      ids.push((await site.endpoint(server.url.replace("127.0.0.1", "hooks.example"))).id);
    }
    const events: string[] = [];
    for (let count = 1; count <= 3; count++) {
      events.push(await site.record({ count }));
      for (const id of ids) await site.untilState(id, "delivered", count);
      // What nobody asked for is there before the next event.
      await new Promise((resolve) => setTimeout(resolve, 400));
    }
    for (const [index, endpointId] of ids.entries()) {
      const deliveries = await site.main.webhooks.deliveries({ endpointId });
      assertEquals(
        deliveries.map(({ state, attempts }) => [state, attempts]),
        Array(3).fill(["delivered", 1]),
      );
      assertEquals(receivers[index]!.ids, events);
      assertEquals((await site.main.webhooks.get(endpointId)).failingSince, null);
    }
  } finally {
    if (kept === undefined) Deno.env.delete("DENO_CERT");
    else Deno.env.set("DENO_CERT", kept);
  }
});

Deno.test("a dead first address costs no attempt", async () => {
  await using receiver = rawServer(async (connection) => {
    await connection.write(encoder.encode("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"));
  });
  await using site = await Site.open({
    egress: {
      allowHttp: true,
      allowAddresses: ["127.0.0.0/8", "::1"],
      resolve: () => Promise.resolve(["::1", "127.0.0.3", "127.0.0.2", "127.0.0.1"]),
    },
  });
  const { id } = await site.endpoint(receiver.url.replace("127.0.0.1", "hooks.example"));
  await site.record({});
  const [delivery] = await site.untilState(id, "delivered");
  assertEquals(delivery!.log.map(({ attempt, status, error }) => [attempt, status, error]), [[1, 200, null]]);
  assert(receiver.connections === 1);
});

Deno.test("a name of which one address is refused is refused as a whole, whatever the others are", async () => {
  await using receiver = rawServer(() => Promise.resolve());
  await using site = await Site.open({
    egress: {
      allowHttp: true,
      allowAddresses: ["127.0.0.1"],
      resolve: () => Promise.resolve(["127.0.0.1", "127.0.0.2"]),
    },
  });
  const { id } = await site.endpoint("http://127.0.0.1:8080/");
  await site.sql.unsafe(`update ${site.schema}.webhook_endpoint set url = $1`, [
    receiver.url.replace("127.0.0.1", "hooks.example"),
  ]);
  await site.record({});
  const [delivery] = await site.untilState(id, "discarded");
  assert(delivery!.reason!.startsWith("the URL is refused"), delivery!.reason!);
  assertEquals(receiver.connections, 0);
});
