import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { eventually } from "../conformance/eventually.ts";
import { connectPostgres } from "../integration/support/connect.ts";
import { testDatabaseUrl, uniqueSchema } from "../support/test_database.ts";
import { buildProcess } from "./support/composition.ts";
import { Receiver } from "./support/receiver.ts";
import { Site } from "./support/site.ts";

const DEADLINE_MS = 20_000;

/** Holds rows until it is let go. */
async function hold(site: Site, select: string): Promise<() => Promise<void>> {
  const sql = connectPostgres(site.url);
  const held = Promise.withResolvers<void>();
  const done = Promise.withResolvers<void>();
  const transaction = sql.begin(async (tx) => {
    await tx.unsafe(select);
    held.resolve();
    await done.promise;
  });
  await Promise.race([held.promise, transaction]);
  return async () => {
    done.resolve();
    await transaction;
    await sql.end();
  };
}

/** Makes the database refuse rows of deliveries to one endpoint. */
function refuse(site: Site, when: "insert" | "update", endpointId: string): Promise<unknown> {
  return site.sql.unsafe(`
    create function ${site.schema}.refuse() returns trigger language plpgsql as $$
      begin
        if new.endpoint_id = '${endpointId}' then raise exception 'refused by a trigger'; end if;
        return new;
      end $$;
    create trigger refuse before ${when} on ${site.schema}.webhook_delivery
      for each row execute function ${site.schema}.refuse()`);
}

Deno.test("a delivery whose row somebody holds holds up no other, and is noted when the row is let go", async () => {
  await using site = await Site.open();
  await using slow = new Receiver();
  await using quick = new Receiver();
  const gate = Promise.withResolvers<Response>();
  slow.answer = () => gate.promise;
  const { id: held } = await site.endpoint(slow.url, { eventTypes: ["order.paid"] });
  const { id: other } = await site.endpoint(quick.url, { eventTypes: ["order.placed"] });
  await site.record({}, null, "order.paid");
  await slow.until(1);
  const letGo = await hold(
    site,
    `select from ${site.schema}.webhook_delivery where endpoint_id = '${held}' for update`,
  );
  gate.resolve(new Response(null, { status: 204 }));
  for (let count = 1; count <= 5; count++) {
    await site.record({ count });
    await site.untilState(other, "delivered", count);
  }
  await letGo();
  await site.untilState(held, "delivered");
});

Deno.test("failing deliveries to an endpoint whose row somebody holds take no connection from the others", async () => {
  await using site = await Site.open({ settings: { inFlight: 20 } });
  await using broken = new Receiver();
  await using quick = new Receiver();
  broken.answer = () => new Response(null, { status: 503 });
  const { id: held } = await site.endpoint(broken.url, { eventTypes: ["order.paid"] });
  const { id: other } = await site.endpoint(quick.url, { eventTypes: ["order.placed"] });
  const letGo = await hold(
    site,
    `select from ${site.schema}.webhook_endpoint where id = '${held}' for update`,
  );
  // More than there are connections.
  for (let count = 0; count < 20; count++) await site.record({ count }, null, "order.paid");
  await broken.until(20);
  for (let count = 1; count <= 5; count++) {
    await site.record({ count });
    await site.untilState(other, "delivered", count);
  }
  await letGo();
  broken.answer = () => new Response(null, { status: 204 });
  await site.untilState(held, "delivered", 20);
});

Deno.test("a delivery whose record is refused fails by itself: those that are noted with it are noted", async () => {
  await using site = await Site.open();
  await using receiver = new Receiver();
  const { id: bad } = await site.endpoint(receiver.url);
  const { id: good } = await site.endpoint(receiver.url);
  await refuse(site, "update", bad);
  for (let count = 0; count < 10; count++) await site.record({ count });
  await site.untilState(good, "delivered", 10);
  await site.sql.unsafe(`drop trigger refuse on ${site.schema}.webhook_delivery`);
  await site.untilState(bad, "delivered", 10);
});

for (const ordered of [false, true]) {
  const which = ordered ? "an ordered endpoint" : "an endpoint";
  Deno.test(`${which} whose deliveries are refused costs the others nothing, and gets them when they are not`, async () => {
    await using site = await Site.open();
    await using receiver = new Receiver();
    const { id: bad } = await site.endpoint(receiver.url, { ordered });
    const { id: good } = await site.endpoint(receiver.url, { ordered });
    await refuse(site, "insert", bad);
    const ids = [];
    for (let count = 0; count < 3; count++) ids.push(await site.record({ count }));
    const delivered = await site.untilState(good, "delivered", 3);
    // Jobs overtake each other where nobody asked for the order.
    const got = delivered.map(({ eventId }) => eventId);
    assertEquals(ordered ? got : got.toSorted(), ids);
    const { runtime, webhooks } = site.main;
    assertEquals((await runtime.events.backlog()).poisoned, 0);
    const failed = async () => {
      const jobs = await runtime.list({ kind: "webhook.fanout", state: "retryable" });
      return jobs.length === 3 ? await runtime.get(jobs[0]!.id) : undefined;
    };
    const job = await eventually(failed, DEADLINE_MS);
    assertStringIncludes(
      job!.errors[0]!.message,
      `webhook endpoint ${bad} could not be given this event, all others have it`,
    );
    assertStringIncludes(job!.errors[0]!.message, "refused by a trigger");
    await site.sql.unsafe(`drop trigger refuse on ${site.schema}.webhook_delivery`);
    for (const { id } of await runtime.list({ kind: "webhook.fanout", state: "retryable" })) {
      // One that has begun meanwhile needs no help.
      await runtime.retry(id).catch(() => {});
    }
    await site.untilState(bad, "delivered", 3);
    assertEquals((await webhooks.deliveries({ endpointId: good })).length, 3);
  });
}

Deno.test("an answer is noted also where the database's encoding lacks a character of it", async () => {
  const admin = connectPostgres(await testDatabaseUrl());
  const name = uniqueSchema();
  await admin.unsafe(`create database ${name} encoding 'LATIN1' locale 'C' template template0`);
  const url = new URL(await testDatabaseUrl());
  url.pathname = `/${name}`;
  try {
    await using receiver = new Receiver();
    receiver.answer = (_, count) => new Response("kaputt 💥", { status: count === 1 ? 500 : 200 });
    const { runtime, webhooks } = buildProcess({ url: url.href, schema: "millrace" }, {}, () => {});
    await using _runtime = runtime;
    await runtime.migrate();
    await runtime.start();
    const { endpoint } = await webhooks.create({ ownerId: null, url: receiver.url, eventTypes: ["order.*"] });
    await runtime.recorder.record({ type: "order.placed", subject: "order:1" });
    const [delivery] = await eventually(async () => {
      const all = await webhooks.deliveries({ endpointId: endpoint.id, state: "delivered" });
      return all.length === 1 ? all : undefined;
    }, DEADLINE_MS);
    assertEquals(receiver.got.length, 2);
    assertEquals(delivery!.log.map(({ answer }) => answer), ["kaputt ?", "kaputt ?"]);
    assert(delivery!.attempts === 2);
  } finally {
    await admin.unsafe(`drop database ${name} with (force)`);
    await admin.end();
  }
});

Deno.test("a replay goes on without an event that is refused, and names it", async () => {
  await using site = await Site.open();
  await using receiver = new Receiver();
  const ids: string[] = [];
  for (let count = 0; count < 5; count++) ids.push(await site.record({ count }));
  for (const id of ids) assert((await site.main.runtime.events.awaitFanout(id, DEADLINE_MS)).fannedOut);
  await site.sql.unsafe(`
    create function ${site.schema}.refuse() returns trigger language plpgsql as $$
      begin
        if new.message_id = '${ids[2]}' then raise exception 'refused by a trigger'; end if;
        return new;
      end $$;
    create trigger refuse before insert on ${site.schema}.webhook_delivery
      for each row execute function ${site.schema}.refuse()`);
  const { id } = await site.endpoint(receiver.url);
  const { jobId } = await site.main.webhooks.replay(id, { since: new Date(Date.now() - 60_000) });
  const result = await site.main.runtime.wait(jobId, DEADLINE_MS);
  assert(result.done && result.state === "completed", JSON.stringify(result));
  assertEquals(result.output, { queued: 4, isWhole: false });
  const told = site.main.lines.filter((line) => line.includes("could not be put in line again"));
  assertEquals(told.length, 1);
  assertStringIncludes(told[0]!, ids[2]!);
  const delivered = await site.untilState(id, "delivered", 4);
  assertEquals(delivered.map(({ eventId }) => eventId).sort(), ids.toSpliced(2, 1));
});
