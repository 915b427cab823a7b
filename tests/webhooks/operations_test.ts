import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { toBase64 } from "../../events/signing/base64.ts";
import {
  type DeliveryFilter,
  EndpointNotFoundError,
  InvalidEndpointError,
  SecretKeyError,
  Webhooks,
} from "../../webhooks/mod.ts";
import { WebhookVerificationError, WebhookVerifier } from "../../events/signing/verify.ts";
import { CompositionError, createRuntime, InvalidOptionError, RuntimeStateError } from "../../mod.ts";
import { eventually } from "../conformance/eventually.ts";
import { Receiver } from "./support/receiver.ts";
import { SECRET_KEY, Site } from "./support/site.ts";

Deno.test("without a key nothing is built, and the message says how to make one", () => {
  const kept = Deno.env.get("MILLRACE_SECRET_KEY");
  Deno.env.delete("MILLRACE_SECRET_KEY");
  try {
    const queues = [{ name: "webhook", concurrency: 10 }];
    const build = (webhooks: Webhooks) => () =>
      createRuntime({ url: "postgres://nobody@127.0.0.1:1/none", registrars: [webhooks.registrar], queues });
    const error = assertThrows(build(new Webhooks()), CompositionError);
    assertStringIncludes(error.message, "MILLRACE_SECRET_KEY=$(openssl rand -base64 32)");
    assertThrows(
      build(new Webhooks({ secretKey: "short" })),
      CompositionError,
      "expected base64 of 32 bytes",
    );
  } finally {
    if (kept !== undefined) Deno.env.set("MILLRACE_SECRET_KEY", kept);
  }
});

Deno.test("operations before a runtime is built, and bad options, say what is wrong", async () => {
  await assertRejects(
    () => new Webhooks().list({ ownerId: null }),
    RuntimeStateError,
    "hand webhooks.registrar",
  );
  assertThrows(() => new Webhooks({ settings: { requestMs: 60_000 } }), InvalidOptionError, "requestMs");
  assertThrows(
    () => new Webhooks({ settings: { requestMs: 8000, leaseMs: 11_999 } }),
    InvalidOptionError,
    "leaseMs 11999: expected at least 12000",
  );
  new Webhooks({ settings: { requestMs: 8000, leaseMs: 12_000 } });
  assertThrows(() => new Webhooks({ settings: { scheduleMs: [] } }), InvalidOptionError, "scheduleMs");
  for (const permanentStatuses of [[204], [600], [400.5], ["400"], "400"] as unknown as number[][]) {
    assertThrows(
      () => new Webhooks({ settings: { permanentStatuses } }),
      InvalidOptionError,
      "from 300 to 599",
    );
  }
  assertThrows(() => new Webhooks({ egress: { allowAddresses: ["inside"] } }), TypeError, "inside");
  const misspelt: [Record<string, unknown>, string][] = [
    [{ queues: "x" }, "queues"],
    [{ settings: { maxAttempt: 3 } }, "maxAttempt"],
    [{ egress: { allowAddress: ["10.0.0.1"] } }, "allowAddress"],
  ];
  for (const [options, name] of misspelt) {
    assertThrows(() => new Webhooks(options), InvalidOptionError, `"${name}": expected `);
  }
});

Deno.test("a secret is shown once: not in lists, jobs, logs, errors, nor readable in the database", async () => {
  await using site = await Site.open();
  await using receiver = new Receiver();
  receiver.answer = (_, count) => new Response(null, { status: count === 1 ? 500 : 200 });
  const { id, secret } = await site.endpoint(receiver.url);
  await site.record({});
  await site.untilState(id, "delivered");
  const { webhooks, runtime, lines } = site.main;
  const jobs = await runtime.list({ limit: 100 });
  const details = await Promise.all(jobs.map((job) => runtime.get(job.id)));
  const rows = await site.sql.unsafe(
    `select endpoint::text from ${site.schema}.webhook_endpoint as endpoint`,
  );
  const shown = JSON.stringify([
    await webhooks.list({ ownerId: null }),
    await webhooks.deliveries({ endpointId: id }),
    details,
    rows,
  ]);
  const key = secret.slice("whsec_".length);
  assert(!shown.includes(key) && !lines.join("\n").includes(key));
  assert(!JSON.stringify([await webhooks.list({ ownerId: null }), details]).includes("sealed"));
});

Deno.test("rotateSecret(): both secrets sign during the overlap, a leaked one at once no longer", async () => {
  await using site = await Site.open();
  await using receiver = new Receiver();
  const { webhooks } = site.main;
  const { id, secret: first } = await site.endpoint(receiver.url);
  const verifies = async (secret: string): Promise<boolean> => {
    const { headers, body } = receiver.got.at(-1)!;
    return await new WebhookVerifier(secret).verify({ headers, body }).then(() => true, (error) => {
      assert(error instanceof WebhookVerificationError);
      return false;
    });
  };
  const send = async (): Promise<number> => {
    const { jobId } = await webhooks.sendTest(id);
    const result = await site.main.runtime.wait(jobId, 20_000);
    assert(result.done && result.state === "completed");
    return receiver.got.at(-1)!.headers.get("webhook-signature")!.split(" ").length;
  };
  const { secret: second, endpoint } = await webhooks.rotateSecret(id);
  const overlap = Date.parse(endpoint.rotationEndsAt!) - Date.now();
  assert(overlap > 23 * 3600_000 && overlap <= 24 * 3600_000 + 60_000);
  assertEquals(await send(), 2);
  assertEquals([await verifies(first), await verifies(second)], [true, true]);
  // To another sort of signature: both are sent.
  const { secret: third } = await webhooks.rotateSecret(id, { signature: "v1a" });
  assert(third.startsWith("whpk_"));
  assertEquals(await send(), 3);
  assertEquals([await verifies(first), await verifies(second), await verifies(third)], [true, true, true]);
  const { secret: fourth } = await webhooks.rotateSecret(id, { overlapMs: 0 });
  assertEquals(await send(), 1);
  assertEquals([await verifies(first), await verifies(third), await verifies(fourth)], [false, false, true]);
  const { endpoint: last } = await webhooks.rotateSecret(id, { overlapMs: 300 });
  assert(last.rotationEndsAt !== null);
  await eventually(async () => (await webhooks.get(id)).rotationEndsAt === null, 20_000);
  assertEquals(await send(), 1);
  assertEquals(await verifies(fourth), false);
  await assertRejects(() => webhooks.rotateSecret(id, { overlapMs: -1 }), InvalidOptionError, "overlapMs");
});

Deno.test("the sealing key can be rotated: reseal() seals all with the first key", async () => {
  await using site = await Site.open({ secretKey: `old:${SECRET_KEY}` });
  await using receiver = new Receiver();
  const { id, secret } = await site.endpoint(receiver.url);
  await site.endpoint(receiver.url, { signature: "v1a", eventTypes: ["order.paid"] });
  await site.main.webhooks.rotateSecret(id);
  const next = toBase64(crypto.getRandomValues(new Uint8Array(32)));
  const lost = site.build({ secretKey: `new:${next}` });
  await assertRejects(() => lost.webhooks.reseal(), SecretKeyError, "the key old, which is not in");
  const both = site.build({ secretKey: `new:${next},old:${SECRET_KEY}` });
  assertEquals(await both.webhooks.reseal(), 3);
  assertEquals(await both.webhooks.reseal(), 0);
  await site.main.runtime.stop(500);
  await lost.runtime.start();
  await lost.webhooks.sendTest(id);
  await receiver.until(1);
  const { headers, body } = receiver.got[0]!;
  await new WebhookVerifier(secret).verify({ headers, body });
});

Deno.test("reseal() is not held up by a secret that has expired, nor by one that can't be opened", async () => {
  await using site = await Site.prepare({ secretKey: `old:${SECRET_KEY}` });
  const { webhooks } = site.main;
  const url = "http://127.0.0.1:8080/";
  const made = await Promise.all(
    [1, 2, 3].map(() => webhooks.create({ ownerId: null, url, eventTypes: ["order.*"] })),
  );
  const [damaged, ...fine] = made.map(({ endpoint }) => endpoint.id).sort();
  // Its first secret expires, and the key that sealed it is gone for good.
  await site.sql.unsafe(
    `update ${site.schema}.webhook_endpoint
     set secrets = secrets || jsonb_build_array(
       jsonb_build_object('sealed', 's1:gone:AAAA:AAAA', 'expires_at', now() - interval '1 s')
     )
     where id = $1`,
    [fine[0]!],
  );
  const next = toBase64(crypto.getRandomValues(new Uint8Array(32)));
  const { webhooks: both } = site.build({ secretKey: `new:${next},old:${SECRET_KEY}` });
  await site.sql.unsafe(
    `update ${site.schema}.webhook_endpoint
     set secrets = replace(secrets::text, 's1:old', 's1:lost')::jsonb where id = $1`,
    [damaged!],
  );
  const error = await assertRejects(() => both.reseal(), SecretKeyError, "the key lost, which is not in");
  assertStringIncludes(error.message, damaged!);
  assertStringIncludes(error.message, "2 others were sealed");
  const sealed = async () => {
    const rows = await site.sql.unsafe(
      `select id::text, jsonb_path_query_array(secrets, '$[*].sealed')::text as sealed
       from ${site.schema}.webhook_endpoint order by id`,
    );
    return rows.map((row) => (JSON.parse(row.sealed) as string[]).map((text) => text.split(":")[1]));
  };
  assertEquals(await sealed(), [["lost"], ["new"], ["new"]]);
  await webhooks.delete(damaged!);
  assertEquals(await both.reseal(), 0);
});

Deno.test("reseals and rotations at the same time lose no secret", async () => {
  await using site = await Site.prepare({ secretKey: `old:${SECRET_KEY}` });
  const { webhooks } = site.main;
  const url = "http://127.0.0.1:8080/";
  const made = await Promise.all(
    Array.from({ length: 20 }, () => webhooks.create({ ownerId: null, url, eventTypes: ["order.*"] })),
  );
  const next = toBase64(crypto.getRandomValues(new Uint8Array(32)));
  const [one, other] = [1, 2].map(() => site.build({ secretKey: `new:${next},old:${SECRET_KEY}` }).webhooks);
  const rotated = made.slice(0, 10).map(({ endpoint }) => other!.rotateSecret(endpoint.id));
  await Promise.all([one!.reseal(), other!.reseal(), one!.reseal(), ...rotated]);
  const rows = await site.sql.unsafe(
    `select jsonb_array_length(secrets) as secrets, secrets::text as text from ${site.schema}.webhook_endpoint`,
  );
  assertEquals(rows.map((row) => row.secrets).sort(), [...Array(10).fill(1), ...Array(10).fill(2)]);
  assert(rows.every((row) => !row.text.includes("s1:old")));
  const { runtime, webhooks: after } = site.build({ secretKey: `new:${next}` });
  await runtime.start();
  await using receiver = new Receiver();
  for (const { endpoint, secret } of made.slice(8, 12)) {
    await after.update(endpoint.id, { url: receiver.url });
    const { jobId } = await after.sendTest(endpoint.id);
    const result = await runtime.wait(jobId, 20_000);
    assert(result.done && result.state === "completed");
    const { headers, body } = receiver.got.at(-1)!;
    await new WebhookVerifier(secret).verify({ headers, body });
  }
});

Deno.test("replay() sends the events of a time again, to one endpoint, with progress, within its limit", async () => {
  await using site = await Site.open();
  await using receiver = new Receiver();
  await using other = new Receiver();
  const { webhooks, runtime } = site.main;
  const bystander = await site.endpoint(other.url);
  const since = new Date(Date.now() - 60_000);
  const ids: string[] = [];
  for (let index = 0; index < 5; index++) ids.push(await site.record({ index }));
  await site.record({}, null, "mail.sent");
  await site.untilState(bystander.id, "delivered", 5);
  // It comes late, and recovers what was before it.
  const { id, secret } = await site.endpoint(receiver.url);
  const { jobId, replayId } = await webhooks.replay(id, { since });
  const result = await runtime.wait(jobId, 20_000);
  assert(result.done && result.state === "completed");
  assertEquals(result.output, { queued: 5, isWhole: true });
  assertEquals((await runtime.get(jobId))!.progress!.note, "5 events");
  const deliveries = await site.untilState(id, "delivered", 5);
  assertEquals(
    deliveries.map(({ eventId, replay }) => [eventId, replay]),
    ids.map((each) => [each, replayId]),
  );
  for (const { headers, body } of receiver.got) await new WebhookVerifier(secret).verify({ headers, body });
  // Again, though it has had them all; under the same ids, so that the receiver knows.
  const again = await webhooks.replay(id, { since, limit: 2 });
  const bounded = await runtime.wait(again.jobId, 20_000);
  assert(bounded.done);
  assertEquals(bounded.output, { queued: 2, isWhole: false });
  await site.untilState(id, "delivered", 7);
  assertEquals(new Set(receiver.got.map(({ headers }) => headers.get("webhook-id"))).size, 5);
  assertEquals(other.got.length, 5);
  await assertRejects(() => webhooks.replay(id, { since: new Date(NaN) }), InvalidOptionError, "since");
  await assertRejects(() => webhooks.replay(id, { since, limit: 0 }), InvalidOptionError, "limit");
  await assertRejects(() => webhooks.replay(id, { since, until: since }), InvalidOptionError, "before until");
});

Deno.test("redeliver() sends one delivery again, also when it was delivered and its job is gone", async () => {
  await using site = await Site.open();
  await using receiver = new Receiver();
  const { id } = await site.endpoint(receiver.url);
  const eventId = await site.record({});
  const [delivery] = await site.untilState(id, "delivered");
  assertEquals(await site.main.webhooks.redeliver(id, delivery!.id), 1);
  await receiver.until(2);
  const [again] = await site.untilState(id, "delivered");
  // Its job ends after it, and would leave its history behind the deletes.
  const ended = await site.main.runtime.wait(again!.jobId, 20_000);
  assert(ended.done && ended.state === "completed");
  await site.sql.unsafe(`delete from ${site.schema}.job_history where kind = 'webhook.deliver'`);
  await site.sql.unsafe(`delete from ${site.schema}.job_key where kind = 'webhook.deliver'`);
  assertEquals(await site.main.webhooks.redeliver(id, delivery!.id), 1);
  await receiver.until(3);
  assertEquals(receiver.got.map(({ headers }) => headers.get("webhook-id")), [eventId, eventId, eventId]);
});

Deno.test("retention deletes old deliveries with their messages, and keeps what waits with its event", async () => {
  await using site = await Site.open({ settings: { retentionMs: 0, scheduleMs: [60_000], probeMs: 60_000 } });
  await using receiver = new Receiver();
  await using broken = new Receiver();
  broken.answer = () => new Response(null, { status: 500 });
  const good = await site.endpoint(receiver.url);
  await site.record({});
  await site.untilState(good.id, "delivered");
  const bad = await site.endpoint(broken.url, { eventTypes: ["order.paid"] });
  const kept = await site.record({}, null, "order.paid");
  await broken.until(1);
  await site.untilState(good.id, "delivered", 2);
  const { runtime } = site.main;
  const job = await runtime.runPeriodic("webhooks.retention");
  const result = await runtime.wait(job, 20_000);
  assert(result.done);
  assertEquals(result.output, { deleted: 2 });
  const messages = await site.sql.unsafe(`select id from ${site.schema}.webhook_message`);
  assertEquals(messages.map((row) => row.id), [kept]);
  assertEquals((await site.main.webhooks.deliveries({ endpointId: bad.id })).length, 1);
});

Deno.test("many old deliveries in a row that can't be deleted keep none behind them from being deleted", async () => {
  await using site = await Site.open({ settings: { retentionMs: 0 } });
  const { id } = await site.endpoint("http://127.0.0.1:9999/");
  await site.sql.unsafe(`
    create function ${site.schema}.keep() returns trigger language plpgsql as $$
    begin raise exception 'this one stays'; end $$;
    create trigger keep before delete on ${site.schema}.webhook_delivery for each row when (old.seq <= 20)
    execute function ${site.schema}.keep();
    insert into ${site.schema}.webhook_message (id, type, body)
    select gen_random_uuid(), 'order.placed', '{}' from generate_series(1, 100);
    insert into ${site.schema}.webhook_delivery
      (endpoint_id, message_id, replay, job_id, state, created_at, queued_at, ended_at)
    select '${id}', id, '', '1', 'delivered', now() - interval '1 min', now() - interval '1 min', now() - interval '1 min'
    from ${site.schema}.webhook_message`);
  const { runtime } = site.main;
  await runtime.wait(await runtime.runPeriodic("webhooks.retention"), 20_000);
  const left = await site.sql.unsafe(`select seq::int from ${site.schema}.webhook_delivery order by seq`);
  assertEquals(left.map(({ seq }) => seq), Array.from({ length: 20 }, (_, at) => at + 1));
});

Deno.test("a delivery whose job ended without it says so, and can be redelivered", async () => {
  await using site = await Site.open({ settings: { scheduleMs: [60_000], probeMs: 60_000 } });
  await using receiver = new Receiver();
  receiver.answer = () => new Response(null, { status: 500 });
  const { id } = await site.endpoint(receiver.url);
  for (let count = 0; count < 3; count++) await site.record({ count });
  const [cancelled, gone, put] = await site.untilState(id, "waiting", 3);
  const { runtime, webhooks } = site.main;
  for (const { jobId } of [cancelled!, gone!]) {
    await eventually(
      async () => ["pending", "retryable"].includes((await runtime.get(jobId))!.state),
      30_000,
    );
    await runtime.cancel(jobId);
    await eventually(async () => (await runtime.get(jobId))!.state === "cancelled", 30_000);
  }
  await site.sql.unsafe(`delete from ${site.schema}.job_history where id = ${gone!.jobId}`);
  const look = async () => {
    const job = await runtime.runPeriodic("webhooks.jobless");
    const result = await runtime.wait(job, 20_000);
    assert(result.done);
    return result.output;
  };
  // Whoever redelivers may be about to make their jobs.
  assertEquals(await look(), { discarded: 0 });
  await site.sql.unsafe(`update ${site.schema}.webhook_delivery set queued_at = now() - interval '2 min'`);
  assertEquals(await look(), { discarded: 2 });
  const states = (await webhooks.deliveries({ endpointId: id })).toReversed();
  assertEquals(states.map(({ id, state }) => [id, state]), [
    [cancelled!.id, "discarded"],
    [gone!.id, "discarded"],
    [put!.id, "waiting"],
  ]);
  assert(states[0]!.reason!.startsWith("its job was cancelled before it was delivered"), states[0]!.reason!);
  assert(states[1]!.reason!.startsWith("its job is gone before it was delivered"), states[1]!.reason!);
  assert(states.slice(0, 2).every(({ endedAt }) => endedAt !== null));
  // What was cancelled was a person's doing.
  assertEquals((await runtime.events.alerts()).map(({ name, value }) => [name, value]), [["deliveries", 1]]);
  receiver.answer = () => new Response(null, { status: 204 });
  await webhooks.update(id, { enabled: true });
  assertEquals(await webhooks.redeliver(id), 2);
  await site.untilState(id, "delivered", 2);
  assertEquals(await runtime.events.alerts(), []);
});

Deno.test("create() and update() name what can't be used", async () => {
  await using site = await Site.open();
  const { webhooks } = site.main;
  const url = "http://127.0.0.1:8080/";
  const bad: [Record<string, unknown>, string, string][] = [
    [{ url: "nonsense" }, "url", "can't be read"],
    [{ eventTypes: [] }, "eventTypes", "1 to 100"],
    [{ eventTypes: ["mail.*"] }, "eventTypes", '"mail.*" matches no event type that is exposed'],
    [{ eventTypes: "order.*" }, "eventTypes", "a list"],
    [{ description: "x".repeat(501) }, "description", "500 characters"],
    [{ description: "a\0b" }, "description", "500 characters"],
    [{ signature: "v2" }, "signature", '"v2" was given'],
    [{ ordered: "yes" }, "ordered", "true or false"],
    [{ owner: "tenant-7" }, "owner", "no such member here, expected url, eventTypes, description, ownerId"],
  ];
  for (const [change, field, message] of bad) {
    const draft = { ownerId: null, url, eventTypes: ["order.*"], ...change };
    const error = await assertRejects(() => webhooks.create(draft), InvalidEndpointError, message);
    assertEquals(error.field, field);
  }
  assertEquals(await webhooks.list({ ownerId: null }), []);
  const { endpoint } = await webhooks.create({
    ownerId: null,
    url,
    eventTypes: ["order.paid"],
    description: "Ada's",
  });
  await assertRejects(() => webhooks.update(endpoint.id, { eventTypes: ["none.*"] }), InvalidEndpointError);
  // It would have been left as it is, and nobody told.
  const moved = { ownerId: "tenant-7" } as Record<string, unknown>;
  await assertRejects(() => webhooks.update(endpoint.id, moved), InvalidEndpointError, "ownerId");
  const nothing = undefined as unknown as Parameters<typeof webhooks.create>[0];
  await assertRejects(() => webhooks.create(nothing), InvalidEndpointError, "an object of url");
  const filter = { endpointId: endpoint.id, state: "pending" } as unknown as DeliveryFilter;
  await assertRejects(() => webhooks.deliveries(filter), InvalidOptionError, '"pending"');
  const changed = await webhooks.update(endpoint.id, { enabled: false, ordered: true });
  assertEquals([changed.enabled, changed.disabledReason, changed.ordered], [false, "disabled by hand", true]);
  assertEquals([changed.url, changed.description, changed.eventTypes], [url, "Ada's", ["order.paid"]]);
  await webhooks.delete(endpoint.id);
  for (const id of [endpoint.id, "nonsense", "'; drop table x"]) {
    await assertRejects(() => webhooks.get(id), EndpointNotFoundError);
    await assertRejects(() => webhooks.delete(id), EndpointNotFoundError);
    await assertRejects(() => webhooks.update(id, {}), EndpointNotFoundError);
    await assertRejects(() => webhooks.sendTest(id), EndpointNotFoundError);
    await assertRejects(() => webhooks.deliveries({ endpointId: id }), EndpointNotFoundError);
  }
  assertEquals(webhooks.eventTypes().map(({ type }) => type), ["order.placed", "order.paid"]);
});

Deno.test("replay() takes the years 1 to 9999 and refuses what the database can't read", async () => {
  await using site = await Site.open();
  await using receiver = new Receiver();
  const { webhooks, runtime } = site.main;
  const { id } = await site.endpoint(receiver.url);
  await site.record();
  await site.untilState(id, "delivered");
  const [earliest, latest] = [new Date("0001-01-01T00:00:00Z"), new Date("9999-12-31T23:59:59.999Z")];
  const queued = async (since: Date, until: Date): Promise<unknown> => {
    const { jobId } = await webhooks.replay(id, { since, until });
    const result = await runtime.wait(jobId, 20_000);
    assert(result.done && result.state === "completed", JSON.stringify(result));
    return (result.output as { queued: number }).queued;
  };
  assertEquals(await queued(earliest, latest), 1);
  assertEquals(await queued(new Date(-1), latest), 1);
  assertEquals(await queued(new Date(0), latest), 1);
  assertEquals(await queued(new Date("7000-01-01T00:00:00Z"), latest), 0);
  const beyond = [new Date(-8.64e15), new Date(8.64e15), new Date(earliest.getTime() - 1), new Date(NaN)];
  for (const date of [...beyond, 0, "2026-01-01T00:00:00Z", null] as Date[]) {
    const since = { since: date, until: latest };
    await assertRejects(
      () => webhooks.replay(id, since),
      InvalidOptionError,
      "from the year 1 to the year 9999",
    );
    if (date === null) continue;
    const until = { since: earliest, until: date };
    await assertRejects(() => webhooks.replay(id, until), InvalidOptionError, "until");
  }
});
