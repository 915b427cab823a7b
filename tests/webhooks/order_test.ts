import { assert, assertEquals, assertRejects } from "@std/assert";
import { DeliveryMadeError } from "../../webhooks/mod.ts";
import { orderedFanOut } from "../../webhooks/deliveries/fan_out_in_order.ts";
import { InvalidOptionError, silentLog } from "../../mod.ts";
import { eventually } from "../conformance/eventually.ts";
import { Receiver } from "./support/receiver.ts";
import { Site } from "./support/site.ts";

function numbers(receiver: Receiver): number[] {
  return receiver.got.map(({ text }) => JSON.parse(text).data.number);
}

Deno.test("an ordered endpoint gets one after the other, by two processes, and waits behind a failure", async () => {
  await using site = await Site.open({ settings: { scheduleMs: [100], probeMs: 100, leaseMs: 20_000 } });
  const second = site.build();
  await second.runtime.start();
  let [now, most] = [0, 0];
  await using receiver = new Receiver();
  const failures = new Map<number, number>([[5, 2], [11, 1]]);
  receiver.answer = async ({ text }) => {
    most = Math.max(most, ++now);
    await new Promise((resolve) => setTimeout(resolve, 2));
    now--;
    const { number } = JSON.parse(text).data;
    const left = failures.get(number) ?? 0;
    failures.set(number, left - 1);
    return new Response(null, { status: left > 0 ? 500 : 200 });
  };
  const { id } = await site.endpoint(receiver.url, { ordered: true });
  for (let number = 0; number < 20; number++) await site.record({ number });
  const deliveries = await site.untilState(id, "delivered", 20);
  assertEquals(most, 1);
  const order = deliveries.map(({ eventId }) => eventId);
  const came = receiver.got.map(({ headers }) => headers.get("webhook-id")!);
  // In the order of the fan-out, and each failure is repeated before anything else comes.
  assertEquals(came.filter((event, index) => event !== came[index + 1]), order);
  assertEquals(came.length, 23);
  assertEquals(numbers(receiver).filter((number) => number === 5).length, 3);
  const { attempts } = deliveries.find(({ log }) => log.length === 3)!;
  assertEquals(attempts, 3);
  // The jobs end as their deliveries did, whoever made those.
  for (const { jobId } of deliveries) {
    const result = await site.main.runtime.wait(jobId, 20_000);
    assert(result.done && result.state === "completed");
  }
});

Deno.test("a relay makes the deliveries of as many events as one transaction can bear, and of one event all", async () => {
  await using site = await Site.prepare();
  await site.sql.unsafe(`
    insert into ${site.schema}.webhook_endpoint
      (url, description, owner_id, event_types, signature, secrets, ordered)
    select 'https://hooks.example/', '', owner, '["order.*"]', 'v1', '[]', true
    from (values (null, 900), ('many', 1500)) as given (owner, count), generate_series(1, count)`);
  const { recorder } = site.main.runtime;
  const owners = [null, null, null, null, "many"];
  const ids = await recorder.recordMany(
    owners.map((ownerId) => ({ type: "order.placed", subject: "1", ownerId })),
  );
  const inOrder = orderedFanOut({ jobs: site.main.runtime, log: silentLog });
  const taken: number[] = [];
  for (let rest = ids; rest.length > 0; rest = ids.slice(taken.reduce((sum, count) => sum + count))) {
    taken.push(
      await site.sql.begin((tx) =>
        inOrder.take(
          {
            unsafe: (text, params) => tx.unsafe(text.replaceAll("{schema}", site.schema), params),
          },
          rest,
          false,
        )
      ),
    );
  }
  assertEquals(taken, [2, 2, 1]);
  const [row] = await site.sql.unsafe(`select count(*)::int as count from ${site.schema}.webhook_delivery`);
  assertEquals(row!.count, 4 * 900 + 2400);
});

Deno.test("an ordered endpoint does not wait for the fan-out's jobs", async () => {
  await using site = await Site.open();
  await using receiver = new Receiver();
  const { id } = await site.endpoint(receiver.url, { ordered: true });
  const other = await site.endpoint(receiver.url + "/any");
  // As if another worker held them: none of them runs.
  await site.sql.unsafe(`
    create function ${site.schema}.hold() returns trigger language plpgsql as
      'begin new.scheduled_at = clock_timestamp() + interval ''1 hour''; return new; end';
    create trigger hold before insert on ${site.schema}.job
      for each row when (new.kind = 'webhook.fanout') execute function ${site.schema}.hold()`).simple();
  for (let number = 0; number < 3; number++) await site.record({ number });
  await site.untilState(id, "delivered", 3);
  assertEquals(numbers(receiver), [0, 1, 2]);
  // Later they give the rest its own, and this one nothing twice.
  await site.sql.unsafe(
    `update ${site.schema}.job set scheduled_at = clock_timestamp() where kind = 'webhook.fanout'`,
  );
  await site.untilState(other.id, "delivered", 3);
  assertEquals((await site.main.webhooks.deliveries({ endpointId: id })).length, 3);
});

Deno.test("an ordered endpoint goes on behind what is given up", async () => {
  const settings = { scheduleMs: [200], probeMs: 200, maxAttempts: 3, permanentStatuses: [400] };
  await using site = await Site.open({ settings });
  await using receiver = new Receiver();
  receiver.answer = ({ text }) => {
    const { number } = JSON.parse(text).data;
    return new Response(null, { status: number === 1 ? 500 : number === 2 ? 400 : 200 });
  };
  const { id } = await site.endpoint(receiver.url, { ordered: true });
  for (let number = 0; number < 4; number++) {
    await site.record({ number });
    await receiver.until(number + 1);
    if (number === 0) await site.untilState(id, "delivered");
  }
  const deliveries = await site.untilState(id, "delivered", 2);
  assertEquals(deliveries.map(({ state, attempts }) => [state, attempts]), [
    ["delivered", 1],
    ["discarded", 3],
    ["discarded", 1],
    ["delivered", 1],
  ]);
  assertEquals(numbers(receiver), [0, 1, 1, 1, 2, 3]);
  const result = await site.main.runtime.wait(deliveries[1]!.jobId, 20_000);
  assert(result.done && result.state === "discarded");
  assertEquals(result.error, `webhook endpoint ${id}: the receiver answered 500`);
});

Deno.test("an ordered endpoint gives up the first of its line once that was answered 4xx for so long; nothing else counts", async () => {
  const settings = { scheduleMs: [50], probeMs: 50, holdMs: 1500, maxAttempts: 1000 };
  await using site = await Site.open({ settings });
  await using receiver = new Receiver();
  let status = 500;
  receiver.answer = ({ text }) =>
    new Response(null, { status: JSON.parse(text).data.number === 0 ? status : 200 });
  const { id } = await site.endpoint(receiver.url, { ordered: true });
  for (let number = 0; number < 2; number++) await site.record({ number });
  const from = async (next: number, forMs: number) => {
    status = next;
    const seen = receiver.got.length;
    await receiver.until(seen + 2);
    const since = performance.now();
    await eventually(() => performance.now() - since > forMs && receiver.got.length > seen + 3, 30_000);
    assertEquals(new Set(numbers(receiver)), new Set([0]));
  };
  // Longer than it may be held up, but not by refusals; nor by those that are shorter.
  for (const [next, forMs] of [[500, 1600], [404, 0], [429, 1600]] as const) await from(next, forMs);
  status = 404;
  const deliveries = await site.untilState(id, "delivered");
  assertEquals(deliveries.map(({ state }) => state), ["discarded", "delivered"]);
  const { reason } = deliveries[0]!;
  assert(/^it held up the others for \d+ s: the receiver answered 404$/.test(reason!), reason!);
  assertEquals((await site.main.runtime.events.alerts()).map(({ name, value }) => [name, value]), [
    ["deliveries", 1],
  ]);
});

Deno.test("skip() lets an ordered endpoint go on behind the first of its line, at once", async () => {
  await using site = await Site.open({ settings: { scheduleMs: [60_000], probeMs: 60_000 } });
  await using receiver = new Receiver();
  receiver.answer = ({ text }) =>
    new Response(null, { status: JSON.parse(text).data.number === 0 ? 500 : 200 });
  const { webhooks, runtime } = site.main;
  const { id } = await site.endpoint(receiver.url, { ordered: true });
  for (let number = 0; number < 3; number++) await site.record({ number });
  await receiver.until(1);
  const [first] = await eventually(async () => {
    const all = (await webhooks.deliveries({ endpointId: id })).toReversed();
    return all.length === 3 && all[0]!.log.length === 1 ? all : undefined;
  }, 30_000);
  await webhooks.skip(first!.id);
  const deliveries = await site.untilState(id, "delivered", 2);
  assertEquals([deliveries[0]!.state, deliveries[0]!.reason], ["discarded", "skipped by hand"]);
  assertEquals(numbers(receiver), [0, 1, 2]);
  // A person's doing is no alert; and it can be put back.
  assertEquals(await runtime.events.alerts(), []);
  receiver.answer = () => new Response();
  assertEquals(await webhooks.redeliver(id, first!.id), 1);
  await site.untilState(id, "delivered", 3);
  await assertRejects(() => webhooks.skip(first!.id), DeliveryMadeError);
  await assertRejects(() => webhooks.skip("nonsense"), InvalidOptionError, "deliveryId");
});

Deno.test("a test that an ordered endpoint has put off is not in its line", async () => {
  await using site = await Site.open();
  await using receiver = new Receiver();
  const { id } = await site.endpoint(receiver.url, { ordered: true });
  const putOff = { status: 429, headers: { "retry-after": "60" } };
  receiver.answer = ({ text }) =>
    JSON.parse(text).type === "webhook.test" ? new Response(null, putOff) : new Response();
  const { webhooks } = site.main;
  const { eventId } = await webhooks.sendTest(id);
  await eventually(async () => (await webhooks.deliveries({ endpointId: id }))[0]!.log.length > 0, 30_000);
  // The pause that was asked for is over.
  await webhooks.update(id, { enabled: true });
  await site.record({});
  await site.untilState(id, "delivered");
  assertEquals(receiver.got.filter(({ headers }) => headers.get("webhook-id") === eventId).length, 1);
});
