import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { EndpointDisabledError } from "../../webhooks/mod.ts";
import { eventually, pause } from "../conformance/eventually.ts";
import { Receiver } from "./support/receiver.ts";
import { Site } from "./support/site.ts";

/** A port that nobody listens on. */
function closedPort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  return port;
}

Deno.test("refused connections alone: retried on schedule, then disabled once, with one notice; redelivered when enabled", async () => {
  await using site = await Site.open({ settings: { disableAfterMs: 1000, probeMs: 100, maxAttempts: 100 } });
  const port = closedPort();
  const { id } = await site.endpoint(`http://127.0.0.1:${port}/`);
  await site.record({});
  await site.record({});
  const endpoint = await eventually(async () => {
    const endpoint = await site.main.webhooks.get(id);
    return endpoint.enabled ? undefined : endpoint;
  }, 30_000);
  assertStringIncludes(endpoint.disabledReason!, "nothing but failures since");
  const deliveries = await site.untilState(id, "discarded", 2);
  for (const { reason, log } of deliveries) {
    assertStringIncludes(reason!, "the endpoint is disabled");
    assert(log.every(({ error, status }) => status === null && error === "the connection was refused"));
  }
  assert(deliveries.flatMap(({ log }) => log).length >= 3);
  const notices = () => site.main.lines.filter((line) => line.includes("a webhook endpoint was disabled"));
  await eventually(() => notices().length > 0);
  assertEquals(notices().length, 1);
  // Events that come meanwhile pass it by.
  const missed = await site.record({});
  const { runtime, webhooks } = site.main;
  await eventually(
    async () => (await runtime.events.get(missed))?.subscribers[0]?.state === "completed",
    20_000,
  );
  assertEquals((await webhooks.deliveries({ endpointId: id })).length, 2);
  await assertRejects(() => webhooks.redeliver(id), EndpointDisabledError, "Enable it first");
  await assertRejects(() => webhooks.sendTest(id), EndpointDisabledError);
  // Enabled again it starts afresh, and what was discarded can be sent.
  await using receiver = new Receiver();
  const changed = await webhooks.update(id, { url: receiver.url, enabled: true });
  assertEquals([changed.enabled, changed.disabledReason, changed.failingSince], [true, null, null]);
  assertEquals(await webhooks.redeliver(id), 2);
  await site.untilState(id, "delivered", 2);
  assertEquals(await webhooks.redeliver(id), 0);
});

Deno.test("a success in between: an endpoint that fails again after the window is not disabled", async () => {
  await using site = await Site.open({ settings: { disableAfterMs: 700 } });
  await using receiver = new Receiver();
  receiver.answer = (_, count) => new Response(null, { status: count === 2 ? 200 : 500 });
  const { id } = await site.endpoint(receiver.url);
  await site.record({});
  await site.untilState(id, "delivered");
  await pause(800);
  receiver.answer = () => new Response(null, { status: 500 });
  await site.record({});
  await receiver.until(4);
  assertEquals((await site.main.webhooks.get(id)).enabled, true);
});

Deno.test("an event that fails by itself disables no endpoint, however long it is tried; a second one that fails does", async () => {
  await using site = await Site.open({
    settings: { scheduleMs: [50], disableAfterMs: 300, probeMs: 50, maxAttempts: 1000 },
  });
  await using receiver = new Receiver();
  receiver.answer = () => new Response(null, { status: 400 });
  const { id } = await site.endpoint(receiver.url);
  await site.record({});
  const tries = async () =>
    (await site.main.webhooks.deliveries({ endpointId: id })).flatMap(({ log }) => log);
  await eventually(async () => {
    const log = await tries();
    return log.length > 2 && Date.parse(log.at(-1)!.at) - Date.parse(log[0]!.at) > 900;
  }, 20_000);
  assertEquals((await site.main.webhooks.get(id)).enabled, true);
  await site.record({});
  const { disabledReason } = await eventually(async () => {
    const endpoint = await site.main.webhooks.get(id);
    return endpoint.enabled ? undefined : endpoint;
  }, 20_000);
  assertStringIncludes(disabledReason!, "nothing but failures since");
});

for (const ordered of [false, true]) {
  const which = ordered ? "an ordered endpoint" : "an endpoint";
  Deno.test(`${which} that was down gets all as soon as it works again, retries in a backoff of days included`, async () => {
    await using site = await Site.open({
      settings: { scheduleMs: [50, 3_600_000], probeMs: 200, maxAttempts: 3 },
    });
    const port = closedPort();
    const { id } = await site.endpoint(`http://127.0.0.1:${port}/`, { ordered });
    for (let count = 0; count < 12; count++) await site.record({ count });
    // Many more tries than there are attempts: those before their time spend none.
    await eventually(async () => {
      const all = await site.main.webhooks.deliveries({ endpointId: id });
      return all.length === 12 && all.flatMap(({ log }) => log).length >= 15;
    }, 20_000);
    const waiting = await site.untilState(id, "waiting", 12);
    assert(waiting.every(({ attempts }) => attempts <= 2), JSON.stringify(waiting));
    const server = Deno.serve(
      { hostname: "127.0.0.1", port, onListen: () => {} },
      () => new Response(null, { status: 204 }),
    );
    try {
      await site.untilState(id, "delivered", 12);
    } finally {
      await server.shutdown();
    }
  });
}

Deno.test("one delivery that nobody answers is tried again and again before its time, and holds up no other", async () => {
  await using site = await Site.open({
    settings: { scheduleMs: [50, 3_600_000], probeMs: 100, requestMs: 200, maxAttempts: 3 },
  });
  await using receiver = new Receiver();
  const end = Promise.withResolvers<Response>();
  receiver.answer = ({ text }) => JSON.parse(text).data.good ? new Response() : end.promise;
  const { id } = await site.endpoint(receiver.url);
  await site.record({});
  await receiver.until(5);
  assertEquals((await site.main.webhooks.deliveries({ endpointId: id }))[0]!.attempts, 2);
  assertEquals((await site.main.webhooks.get(id)).paused, false);
  await site.record({ good: true });
  await site.untilState(id, "delivered");
  end.resolve(new Response());
  await site.untilState(id, "delivered", 2);
});

Deno.test("what fails by itself says nothing of its endpoint: its neighbours never wait, and the endpoint is well", async () => {
  await using site = await Site.open({ settings: { scheduleMs: [30], probeMs: 30, maxAttempts: 1000 } });
  await using receiver = new Receiver();
  receiver.answer = ({ text }) =>
    new Response(null, { status: JSON.parse(text).type === "order.paid" ? 500 : 204 });
  const { id } = await site.endpoint(receiver.url);
  await site.record({}, null, "order.paid");
  await receiver.until(3);
  for (let good = 1; good <= 5; good++) {
    await site.record({});
    await site.untilState(id, "delivered", good);
  }
  const before = receiver.got.length;
  await receiver.until(before + 5);
  const endpoint = await site.main.webhooks.get(id);
  assertEquals([endpoint.failingSince, endpoint.paused], [null, false]);
});

Deno.test("a healthy endpoint has a bounded number of deliveries under way", async () => {
  await using site = await Site.open({ settings: { inFlight: 3 } });
  let [now, most] = [0, 0];
  await using receiver = new Receiver();
  receiver.answer = async () => {
    most = Math.max(most, ++now);
    await pause(10);
    now--;
    return new Response();
  };
  const { id } = await site.endpoint(receiver.url);
  await site.main.runtime.recorder.recordMany(
    Array.from({ length: 24 }, () => ({ type: "order.placed", subject: "order:1" })),
  );
  await site.untilState(id, "delivered", 24);
  assert(most <= 3, `${most} were under way at once`);
});

Deno.test("a lease that its process left behind expires by itself", async () => {
  await using site = await Site.open();
  await using receiver = new Receiver();
  const { id } = await site.endpoint(receiver.url, { ordered: true });
  // As a process that was killed in the middle of a delivery leaves it.
  await site.sql.unsafe(
    `update ${site.schema}.webhook_endpoint
     set busy_until = clock_timestamp() + interval '1 s', busy_by = gen_random_uuid()`,
  );
  const began = performance.now();
  await site.record({});
  await site.untilState(id, "delivered");
  assert(performance.now() - began > 700);
});

Deno.test("what only waits is given up in the end", async () => {
  await using site = await Site.open({ settings: { giveUpAfterMs: 500, retryAfterMs: 100 } });
  await using receiver = new Receiver();
  receiver.answer = () => new Response(null, { status: 429, headers: { "retry-after": "1" } });
  const { id } = await site.endpoint(receiver.url);
  await site.record({});
  const [delivery] = await site.untilState(id, "discarded");
  assertStringIncludes(delivery!.reason!, "could not be delivered within");
  assertEquals(delivery!.log.every(({ status }) => status === 429), true);
});

Deno.test("what the old URL answers says nothing of the new one", async () => {
  await using site = await Site.open({ settings: { scheduleMs: [60_000], probeMs: 60_000 } });
  await using old = new Receiver();
  await using receiver = new Receiver();
  const { webhooks } = site.main;
  for (const status of [410, 500]) {
    const held = Promise.withResolvers<Response>();
    old.answer = () => held.promise;
    const { id } = await site.endpoint(old.url);
    const before = old.got.length;
    await site.record({});
    await old.until(before + 1);
    await webhooks.update(id, { url: receiver.url });
    held.resolve(new Response(null, { status }));
    await eventually(
      async () => (await webhooks.deliveries({ endpointId: id }))[0]!.log.length === 1,
      30_000,
    );
    const endpoint = await webhooks.get(id);
    assertEquals([endpoint.enabled, endpoint.failingSince, endpoint.nextProbeAt], [true, null, null]);
    // What comes now goes to where it points, at once.
    await site.record({});
    await site.untilState(id, "delivered");
    await webhooks.delete(id);
  }
});

Deno.test("a new URL starts afresh, and the same one again does not", async () => {
  await using site = await Site.open({ settings: { scheduleMs: [60_000], probeMs: 60_000 } });
  await using broken = new Receiver();
  await using receiver = new Receiver();
  broken.answer = () => new Response(null, { status: 500 });
  const { webhooks } = site.main;
  const { id } = await site.endpoint(broken.url);
  await site.record({});
  await eventually(async () => (await webhooks.get(id)).failingSince !== null, 30_000);
  const same = await webhooks.update(id, { url: broken.url, description: "still down" });
  assert(same.failingSince !== null && same.nextProbeAt !== null);
  const moved = await webhooks.update(id, { url: receiver.url });
  assertEquals([moved.failingSince, moved.nextProbeAt], [null, null]);
  await site.record({});
  await site.untilState(id, "delivered");
});

Deno.test("an endpoint that is deleted or disabled while it answers: that answer is its last", async () => {
  await using site = await Site.open();
  await using receiver = new Receiver();
  const { webhooks, runtime, lines } = site.main;
  for (const status of [200, 500]) {
    for (const change of ["delete", "disable"] as const) {
      const { id } = await site.endpoint(receiver.url, { ordered: status === 500 });
      const held = Promise.withResolvers<Response>();
      receiver.answer = () => held.promise;
      const before = receiver.got.length;
      await site.record({});
      await receiver.until(before + 1);
      await site.record({});
      const all = await site.untilState(id, "waiting", 2);
      if (change === "delete") await webhooks.delete(id);
      else await webhooks.update(id, { enabled: false });
      held.resolve(new Response(null, { status }));
      for (const { jobId } of all) {
        const result = await runtime.wait(jobId, 30_000);
        assert(result.done && ["completed", "discarded"].includes(result.state), JSON.stringify(result));
      }
      // A second one may have been under way at the same time.
      assert(receiver.got.length <= before + 2);
      if (change === "delete") continue;
      const states = (await webhooks.deliveries({ endpointId: id })).map(({ state }) => state);
      assert(!states.includes("waiting"), states.join());
      await webhooks.delete(id);
    }
  }
  assertEquals(lines.filter((line) => line.includes('"error"') && line.includes('"level":"error"')), []);
});
