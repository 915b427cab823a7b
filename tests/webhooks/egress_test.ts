import { assert, assertEquals, assertRejects } from "@std/assert";
import { fileURLToPath } from "node:url";
import { INSIDE } from "../../webhooks/sender/testdata/inside.ts";
import { InvalidEndpointError } from "../../webhooks/mod.ts";
import { Receiver } from "./support/receiver.ts";
import { Site } from "./support/site.ts";

Deno.test("no spelling of the inside is registered, nor delivered to when a row was changed by hand", async () => {
  let connections = 0;
  const count = (): Response => {
    connections++;
    return new Response();
  };
  await using four = Deno.serve({ hostname: "0.0.0.0", port: 0, onListen: () => {} }, count);
  const { port } = four.addr;
  await using six = Deno.serve({ hostname: "::1", port, onListen: () => {} }, count);
  assertEquals(six.addr.port, port);
  const names: Record<string, readonly string[]> = {
    "mapped.example": ["::ffff:127.0.0.1"],
    "mixed.example": ["93.184.216.34", "127.0.0.1"],
    "good.example": ["93.184.216.34"],
  };
  await using site = await Site.open({
    egress: { allowHttp: true, resolve: (name) => Promise.resolve(names[name] ?? ["127.0.0.1"]) },
  });
  const { webhooks } = site.main;
  const hosts = [...INSIDE, "mapped.example", "mixed.example", "anything.example"];
  for (const host of hosts) {
    const draft = { ownerId: null, url: `http://${host}:${port}/`, eventTypes: ["order.*"] };
    const error = await assertRejects(() => webhooks.create(draft), InvalidEndpointError);
    assertEquals(error.field, "url");
  }
  const { endpoint } = await webhooks.create({
    ownerId: null,
    url: "http://good.example/",
    eventTypes: ["order.*"],
  });
  await assertRejects(
    () => webhooks.update(endpoint.id, { url: `http://127.1:${port}/` }),
    InvalidEndpointError,
  );
  for (const [index, host] of hosts.entries()) {
    await site.sql.unsafe(`update ${site.schema}.webhook_endpoint set url = $1`, [`http://${host}:${port}/`]);
    await site.record({});
    const deliveries = await site.untilState(endpoint.id, "discarded", index + 1);
    const { reason, log } = deliveries.at(-1)!;
    assert(reason!.startsWith("the URL is refused"), `${host}: ${reason}`);
    assert(!/\d/.test(reason!), reason!);
    assertEquals([log[0]!.status, log[0]!.answer], [null, null]);
  }
  assertEquals(connections, 0);
});

Deno.test("over TLS the certificate is verified against the name, at the address that was checked", async () => {
  const folder = new URL("../../webhooks/sender/testdata/tls/", import.meta.url);
  const kept = Deno.env.get("DENO_CERT");
  Deno.env.set("DENO_CERT", fileURLToPath(new URL("ca.pem", folder)));
  try {
    await using receiver = new Receiver({
      cert: await Deno.readTextFile(new URL("hooks_example.pem", folder)),
      key: await Deno.readTextFile(new URL("hooks_example.key", folder)),
      host: "hooks.example",
    });
    await using site = await Site.open({
      egress: {
        allowAddresses: ["127.0.0.1"],
        // The names exist nowhere else: a second look-up would find nothing.
        resolve: () => Promise.resolve(["127.0.0.1"]),
      },
    });
    const right = await site.endpoint(receiver.url);
    const wrong = await site.endpoint(receiver.url.replace("hooks.example", "other.example"), {
      eventTypes: ["order.paid"],
    });
    await site.record({});
    await site.untilState(right.id, "delivered");
    await site.main.webhooks.sendTest(wrong.id);
    const [delivery] = await site.untilState(wrong.id, "discarded");
    assertEquals(delivery!.reason, "its certificate is not valid for its name, or its issuer not known");
    assertEquals(receiver.got.length, 1);
    await assertRejects(
      () => site.endpoint(receiver.url.replace("https", "http")),
      InvalidEndpointError,
      "http",
    );
  } finally {
    if (kept === undefined) Deno.env.delete("DENO_CERT");
    else Deno.env.set("DENO_CERT", kept);
  }
});
