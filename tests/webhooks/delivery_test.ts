import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Webhook } from "standardwebhooks";
import { ENDPOINTS } from "../../webhooks/deliveries/fan_out.ts";
import { WebhookVerifier } from "../../events/signing/verify.ts";
import { eventually, pause } from "../conformance/eventually.ts";
import { Receiver } from "./support/receiver.ts";
import { Site } from "./support/site.ts";

Deno.test("an event reaches every endpoint that asks for its type, and is verified there", async () => {
  await using site = await Site.open();
  await using receiver = new Receiver();
  const all = await site.endpoint(receiver.url);
  const paid = await site.endpoint(receiver.url, { eventTypes: ["order.paid"], signature: "v1a" });
  const id = await site.record({ total: 1 });
  await site.untilState(all.id, "delivered");
  const other = await site.record({ total: 2 }, null, "order.paid");
  await site.record({}, null, "mail.sent");
  await site.untilState(paid.id, "delivered");
  await site.untilState(all.id, "delivered", 2);
  await pause(300);
  assertEquals(
    receiver.got.map(({ headers }) => headers.get("webhook-id")).sort(),
    [id, other, other].sort(),
  );
  const [first] = receiver.got;
  const verified = await new WebhookVerifier(all.secret).verify({
    headers: first!.headers,
    body: first!.body,
  });
  const { occurred_at, ...event } = verified.json();
  assertEquals(event, { id, type: "order.placed", subject: "order:1", data: { total: 1 } });
  assert(Math.abs(Date.parse(occurred_at) - Date.now()) < 60_000);
  new Webhook(all.secret).verify(first!.text, Object.fromEntries(first!.headers));
  const asymmetric = receiver.got.find(({ headers }) =>
    headers.get("webhook-signature")!.startsWith("v1a,")
  )!;
  await new WebhookVerifier(paid.secret).verify({ headers: asymmetric.headers, body: asymmetric.body });
  assertEquals(first!.headers.get("content-type"), "application/json");
});

Deno.test("500, 500, then 200: received once with 200, under one id and the same bytes, and the log says attempt 3", async () => {
  await using site = await Site.open();
  await using receiver = new Receiver();
  receiver.answer = (_, count) => new Response(`answer ${count}`, { status: count < 3 ? 500 : 200 });
  const { id, secret } = await site.endpoint(receiver.url);
  const eventId = await site.record({ name: "Zo\u00eb \u{1f389}" });
  const [delivery] = await site.untilState(id, "delivered");
  assertEquals(receiver.got.length, 3);
  for (const { headers, body } of receiver.got) {
    assertEquals(headers.get("webhook-id"), eventId);
    assertEquals(body, receiver.got[0]!.body);
    await new WebhookVerifier(secret).verify({ headers, body });
  }
  assertEquals(delivery!.attempts, 3);
  assertEquals(delivery!.log.map(({ attempt, status, answer, error }) => [attempt, status, answer, error]), [
    [1, 500, "answer 1", "the receiver answered 500"],
    [2, 500, "answer 2", "the receiver answered 500"],
    [3, 200, "answer 3", null],
  ]);
  const endpoint = await site.main.webhooks.get(id);
  assertEquals([endpoint.failingSince, endpoint.nextProbeAt], [null, null]);
});

Deno.test("429 and 503 with Retry-After, seconds or a date, spend no attempt and are followed", async () => {
  await using site = await Site.open();
  await using receiver = new Receiver();
  const { id } = await site.endpoint(receiver.url);
  for (
    const [status, retryAfter] of [[429, () => "1"], [
      503,
      () => new Date(Date.now() + 2000).toUTCString(),
    ]] as const
  ) {
    const before = receiver.got.length;
    receiver.answer = (_, count) =>
      count === before + 1
        ? new Response(null, { status, headers: { "retry-after": retryAfter() } })
        : new Response("ok");
    await site.record({});
    const deliveries = await site.untilState(id, "delivered", before === 0 ? 1 : 2);
    const delivery = deliveries.at(-1)!;
    assertEquals(delivery.attempts, 1);
    assertEquals(delivery.log.map((entry) => [entry.attempt, entry.status]), [[1, status], [1, 200]]);
    const [first, second] = receiver.got.slice(before);
    assert(second!.at - first!.at >= 900, String(second!.at - first!.at));
  }
});

Deno.test("Retry-After that is nonsense or past is an ordinary failure; a giant one is capped; never a hot loop", async () => {
  await using site = await Site.open({ settings: { retryAfterMs: 300, maxAttempts: 3 } });
  for (const status of [429, 503]) {
    for (const value of ["-5", "abc", "0", "Sun, 06 Nov 1994 08:49:37 GMT"]) {
      await using receiver = new Receiver();
      receiver.answer = (_, count) =>
        count === 1 ? new Response(null, { status, headers: { "retry-after": value } }) : new Response("ok");
      const { id } = await site.endpoint(receiver.url);
      await site.record({});
      const [delivery] = await site.untilState(id, "delivered");
      assertEquals([receiver.got.length, delivery!.attempts], [2, 2], value);
      await site.main.webhooks.delete(id);
    }
  }
  await using receiver = new Receiver();
  receiver.answer = (_, count) =>
    count === 1
      ? new Response(null, { status: 429, headers: { "retry-after": "9999999999" } })
      : new Response("ok");
  const { id } = await site.endpoint(receiver.url);
  await site.record({});
  const [delivery] = await site.untilState(id, "delivered");
  assertEquals(delivery!.attempts, 1);
  const [first, second] = receiver.got;
  assert(second!.at - first!.at >= 290);
});

Deno.test("whatever is no 2xx is retried, but for what is said to be permanent; 410 disables the endpoint", async () => {
  await using site = await Site.open({ settings: { permanentStatuses: [422, 302] } });
  await using elsewhere = new Receiver();
  for (
    const [status, state, attempts] of [
      [400, "delivered", 2],
      [401, "delivered", 2],
      [404, "delivered", 2],
      [301, "delivered", 2],
      [408, "delivered", 2],
      [502, "delivered", 2],
      [422, "discarded", 1],
      [302, "discarded", 1],
      [410, "discarded", 1],
    ] as const
  ) {
    await using receiver = new Receiver();
    receiver.answer = (_, count) =>
      new Response(null, { status: count === 1 ? status : 200, headers: { location: elsewhere.url } });
    const { id } = await site.endpoint(receiver.url);
    await site.record({});
    const [delivery] = await site.untilState(id, state);
    assertEquals([receiver.got.length, delivery!.attempts], [attempts, attempts], String(status));
    const endpoint = await site.main.webhooks.get(id);
    assertEquals(endpoint.enabled, status !== 410);
    if (status === 410) {
      assertStringIncludes(endpoint.disabledReason!, "410");
      // A disabled endpoint gets nothing.
      await site.record({});
      await pause(300);
      assertEquals(receiver.got.length, 1);
      assertEquals((await site.main.webhooks.deliveries({ endpointId: id })).length, 1);
    }
    await site.main.webhooks.delete(id);
  }
  assertEquals(elsewhere.got.length, 0);
});

for (const ordered of [false, true]) {
  const which = ordered ? "an ordered endpoint" : "an endpoint";
  Deno.test(`${which} of an owner gets that owner's events only, and of its types`, async () => {
    await using site = await Site.open();
    await using receiver = new Receiver();
    const own = { ordered, ownerId: "tenant 1" };
    const { id } = await site.endpoint(receiver.url, own);
    const paid = await site.endpoint(receiver.url, { ...own, eventTypes: ["order.paid"] });
    const everybody = await site.endpoint(receiver.url, { ordered });
    const mine = await site.record({}, "tenant 1");
    await site.record({}, "tenant 2");
    await site.record({});
    const mineToo = await site.record({}, "tenant 1", "order.paid");
    await site.untilState(everybody.id, "delivered", 4);
    const told = async (endpointId: string, count: number): Promise<string[]> =>
      (await site.untilState(endpointId, "delivered", count)).map(({ eventId }) => eventId).sort();
    assertEquals(await told(id, 2), [mine, mineToo].sort());
    assertEquals(await told(paid.id, 1), [mineToo]);
  });
}

Deno.test("a fan-out reads the endpoints of its event's owner, not all of them", async () => {
  await using site = await Site.open();
  await site.sql.unsafe(`
    insert into ${site.schema}.webhook_endpoint
      (url, description, owner_id, event_types, signature, secrets, ordered)
    select 'https://hooks.example/', '', 'tenant-' || n, '["order.*"]', 'v1', '[]', false
    from generate_series(1, 5000) as n`);
  await site.sql.unsafe(`analyze ${site.schema}.webhook_endpoint`);
  const text = ENDPOINTS.replaceAll("{schema}", site.schema);
  const plan = await site.sql.unsafe(
    `explain ${text.replace("$1", "'tenant-7'").replace("$2", "gen_random_uuid()")}`,
  );
  const shown = plan.map((row) => row["QUERY PLAN"]).join("\n");
  assertStringIncludes(shown, "webhook_endpoint_owner");
  assertEquals(shown.includes("Seq Scan"), false, shown);
});

Deno.test("concurrent fan-outs of one event queue each delivery once", async () => {
  await using site = await Site.open();
  await using receiver = new Receiver();
  const { id } = await site.endpoint(receiver.url);
  const eventId = await site.record({});
  await site.untilState(id, "delivered");
  const { runtime } = site.main;
  const [job] = await runtime.list({ kind: "webhook.fanout" });
  const event = (await runtime.get(job!.id))!.args;
  const jobs = await runtime.enqueueMany(
    Array.from({ length: 20 }, () => ({ kind: "webhook.fanout", args: event })),
  );
  for (const job of jobs) assert((await runtime.wait(job, 20_000)).done);
  await pause(300);
  assertEquals(receiver.got.map(({ headers }) => headers.get("webhook-id")), [eventId]);
});

Deno.test("a test is sent at once and once, also while the endpoint fails", async () => {
  await using site = await Site.open({ settings: { probeMs: 60_000, scheduleMs: [60_000] } });
  await using receiver = new Receiver();
  receiver.answer = () => new Response("no", { status: 500 });
  const { id, secret } = await site.endpoint(receiver.url);
  await site.record({});
  await receiver.until(1);
  const failed = await site.main.webhooks.sendTest(id);
  const result = await site.main.runtime.wait(failed.jobId, 20_000);
  assert(result.done && result.state === "discarded");
  assertEquals(result.error, `webhook endpoint ${id}: the receiver answered 500`);
  receiver.answer = () => new Response("ok");
  const { jobId, eventId } = await site.main.webhooks.sendTest(id);
  const sent = await site.main.runtime.wait(jobId, 20_000);
  assert(sent.done && sent.state === "completed");
  const { headers, body } = receiver.got.at(-1)!;
  const verified = await new WebhookVerifier(secret).verify({ headers, body });
  assertEquals([verified.id, verified.json().type], [eventId, "webhook.test"]);
});

Deno.test("what is given up is an alert until it is redelivered or skipped, no warning, and its job names the endpoint", async () => {
  await using site = await Site.open({ settings: { maxAttempts: 2, permanentStatuses: [404] } });
  await using receiver = new Receiver();
  const { runtime, webhooks, lines } = site.main;
  receiver.answer = ({ text }) => new Response(null, { status: JSON.parse(text).data.lost ? 500 : 404 });
  const { id } = await site.endpoint(`${receiver.url}?token=hidden`);
  await site.record({});
  await site.record({ lost: true });
  const [refused, exhausted] = (await site.untilState(id, "discarded", 2))
    .toSorted((one, other) => one.attempts - other.attempts);
  assertEquals([refused!.attempts, exhausted!.attempts], [1, 2]);
  const result = await runtime.wait(refused!.jobId, 20_000);
  assert(result.done && result.state === "discarded");
  assertEquals(result.error, `webhook endpoint ${id}: the receiver answered 404`);
  assertEquals(lines.map((line) => JSON.parse(line)).filter(({ level }) => level !== "info"), []);
  assertEquals(lines.join("").includes("hidden"), false);
  // A test that fails is looked at by whoever sends it.
  await webhooks.sendTest(id);
  await site.untilState(id, "discarded", 3);
  const [alert, ...others] = await runtime.events.alerts();
  assertEquals([alert!.name, alert!.value, alert!.bound, others.length], ["deliveries", 2, 0, 0]);
  assertStringIncludes(alert!.message, `2 webhook deliveries were given up, the newest to endpoint ${id}`);
  await webhooks.skip(refused!.id);
  const [skipped] = (await webhooks.deliveries({ endpointId: id })).filter((each) => each.id === refused!.id);
  assertEquals([skipped!.state, skipped!.reason], ["discarded", "the receiver answered 404"]);
  assertEquals((await runtime.events.alerts()).map(({ value }) => value), [1]);
  receiver.answer = () => new Response();
  await webhooks.redeliver(id, exhausted!.id);
  assertEquals(await runtime.events.alerts(), []);
  const missing = await runtime.enqueue("webhook.replay", {
    endpoint_id: crypto.randomUUID(),
    replay_id: "",
    since: "",
    until: "",
    limit: 1,
  });
  assert((await runtime.wait(missing, 20_000)).done);
  const [discarded] = await runtime.events.alerts();
  assertEquals([discarded!.name, discarded!.value], ["discarded", 1]);
  assertStringIncludes(discarded!.message, "1 webhook.replay");
});

Deno.test("what waits for an endpoint that disables itself is an alert, what a person disables is none", async () => {
  await using site = await Site.open({ settings: { scheduleMs: [60_000] } });
  await using receiver = new Receiver();
  const { runtime, webhooks } = site.main;
  // A failing endpoint is tried now and then, also before the person comes.
  let status = 500;
  receiver.answer = () => new Response(null, { status });
  const { id } = await site.endpoint(receiver.url);
  for (let count = 1; count <= 2; count++) {
    await site.record({});
    await receiver.until(count);
  }
  const values = async () => (await runtime.events.alerts()).map(({ name, value }) => [name, value]);
  await webhooks.update(id, { enabled: false });
  for (const { jobId } of await webhooks.deliveries({ endpointId: id })) {
    // That the receiver has answered is on record some time later: until then the job runs.
    await eventually(() => runtime.retry(jobId).then(() => true));
  }
  await site.untilState(id, "discarded", 2);
  assertEquals(await values(), []);
  // Enabled again it is sent what comes, and answers that it is gone.
  status = 410;
  await webhooks.update(id, { enabled: true });
  await site.record({});
  await site.untilState(id, "discarded", 3);
  assertEquals(await values(), [["deliveries", 1]]);
  assertStringIncludes((await webhooks.get(id)).disabledReason!, "410");
});

Deno.test("no receiver is asked for longer than it may: the longest Retry-After, and not a quarter more", async () => {
  await using site = await Site.open();
  await using receiver = new Receiver();
  receiver.answer = () => new Response(null, { status: 429, headers: { "retry-after": "36000" } });
  const { id } = await site.endpoint(receiver.url);
  await site.main.runtime.recorder.recordMany(
    Array.from({ length: 3 }, () => ({ type: "order.placed", subject: "order:1" })),
  );
  const waits = await eventually(async () => {
    const rows = await site.sql.unsafe(
      `select extract(epoch from scheduled_at - clock_timestamp())::float8 as waits
       from ${site.schema}.job where kind = 'webhook.deliver' and state <> 'running' and snoozes > 0`,
    );
    return rows.length === 3 ? rows.map((row) => Number(row.waits)) : undefined;
  }, 30_000);
  assertEquals((await site.main.webhooks.deliveries({ endpointId: id })).length, 3);
  // What comes back together is spread by a minute at most, beside the longest pause of an endpoint.
  assert(waits.every((wait) => wait > 35_900 && wait < 36_061), waits.join());
});
