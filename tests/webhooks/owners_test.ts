import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { type EventDraft, type EventFilter, InvalidOptionError } from "../../mod.ts";
import {
  DeliveryMadeError,
  DeliveryNotFoundError,
  type EndpointDraft,
  EndpointNotFoundError,
  InvalidEndpointError,
  type OwnerWebhooks,
  Webhooks,
} from "../../webhooks/mod.ts";
import { Receiver } from "./support/receiver.ts";
import { Site } from "./support/site.ts";

const URL_IN = "http://127.0.0.1:8080/";
const TYPES = ["order.*"];

Deno.test("an endpoint's owner is said by whoever makes or lists endpoints: one that was forgotten is nobody's", async () => {
  await using site = await Site.open();
  const { webhooks } = site.main;
  const forgotten: readonly unknown[] = [undefined, "", 7, "x".repeat(501), "a\0b"];
  for (const ownerId of forgotten) {
    const draft = { url: URL_IN, eventTypes: TYPES, ownerId } as EndpointDraft;
    const error = await assertRejects(() => webhooks.create(draft), InvalidEndpointError);
    assertEquals(error.field, "ownerId");
    assertStringIncludes(error.message, "or null for an endpoint of everybody's events");
    const filter = { ownerId } as { ownerId: string };
    await assertRejects(
      () => webhooks.list(filter),
      InvalidOptionError,
      "or null for the endpoints of everybody",
    );
    assertThrows(() => webhooks.of(ownerId as string), InvalidOptionError, "an owner's id");
  }
  assertThrows(() => webhooks.of(null as unknown as string), InvalidOptionError, "an owner's id");
  const unsaid = { url: URL_IN, eventTypes: TYPES } as unknown as EndpointDraft;
  await assertRejects(() => webhooks.create(unsaid), InvalidEndpointError, "ownerId");
  await assertRejects(() => webhooks.list({} as { ownerId: null }), InvalidOptionError, "ownerId");
  await assertRejects(() => webhooks.list(undefined as unknown as { ownerId: null }), InvalidOptionError);
  assertEquals(await webhooks.list({ ownerId: null }), []);
});

Deno.test("of(ownerId) sees and changes the endpoints of that owner alone; another's is none", async () => {
  await using site = await Site.open();
  await using receiver = new Receiver();
  const { webhooks } = site.main;
  const [one, two] = [webhooks.of("one"), webhooks.of("two")];
  assertEquals(one.ownerId, "one");
  const draft = { url: receiver.url, eventTypes: TYPES };
  const { endpoint: mine } = await one.create(draft);
  const { endpoint: everybodys } = await webhooks.create({ ...draft, ownerId: null });
  assertEquals([mine.ownerId, everybodys.ownerId], ["one", null]);
  await assertRejects(
    () => one.create({ ...draft, ownerId: "two" } as EndpointDraft),
    InvalidEndpointError,
    "no such member here",
  );
  assertEquals((await one.list()).map(({ id }) => id), [mine.id]);
  assertEquals((await webhooks.list({ ownerId: "one" })).map(({ id }) => id), [mine.id]);
  assertEquals(await two.list(), []);
  assertEquals((await webhooks.list({ ownerId: null })).length, 2);
  await site.record({}, "one");
  await receiver.until(2);
  const [delivery] = await site.untilState(mine.id, "delivered");

  const nobody = crypto.randomUUID();
  const calls: readonly ((view: OwnerWebhooks, id: string) => Promise<unknown>)[] = [
    (view, id) => view.get(id),
    (view, id) => view.update(id, { enabled: false }),
    (view, id) => view.rotateSecret(id),
    (view, id) => view.rotateSecret(id, { overlapMs: 0, signature: "v1" }),
    (view, id) => view.sendTest(id),
    (view, id) => view.deliveries({ endpointId: id }),
    (view, id) => view.redeliver(id),
    (view, id) => view.redeliver(id, delivery!.id),
    (view, id) => view.replay(id, { since: new Date(0) }),
    (view, id) => view.delete(id),
  ];
  for (const call of calls) {
    const answer = async (id: string) => {
      const error = await assertRejects(() => call(two, id), EndpointNotFoundError);
      return error.message.replace(id, "ID");
    };
    const expected = await answer(nobody);
    assertEquals(await answer(mine.id), expected);
    assertEquals(await answer(everybodys.id), expected);
  }
  // Nothing has happened to them.
  assertEquals(await webhooks.get(mine.id), mine);
  assertEquals(await webhooks.get(everybodys.id), everybodys);
  assertEquals((await webhooks.deliveries({ endpointId: mine.id })).length, 1);

  // Nor is a delivery reached through an endpoint of one's own.
  const { endpoint: theirs } = await two.create(draft);
  for (const id of [delivery!.id, "999999999"]) {
    await assertRejects(() => two.redeliver(theirs.id, id), DeliveryNotFoundError, id);
    await assertRejects(() => two.skip(id), DeliveryNotFoundError, id);
  }
  await assertRejects(() => one.skip(delivery!.id), DeliveryMadeError, delivery!.id);

  // With its own all of it works.
  assertEquals((await one.get(mine.id)).id, mine.id);
  assertEquals((await one.deliveries({ endpointId: mine.id })).map(({ id }) => id), [delivery!.id]);
  assertEquals((await one.update(mine.id, { description: "mine" })).description, "mine");
  assertEquals((await one.rotateSecret(mine.id)).endpoint.id, mine.id);
  assertEquals(await one.redeliver(mine.id, delivery!.id), 1);
  await one.sendTest(mine.id);
  await one.replay(mine.id, { since: new Date(Date.now() - 60_000) });
  await receiver.until(5);
  assertEquals(one.eventTypes(), webhooks.eventTypes());
  await one.delete(mine.id);
  assertEquals(await one.list(), []);
});

Deno.test("of() is not there before a runtime is built with the webhooks", () => {
  assertThrows(() => new Webhooks().of("one"), Error, "hand webhooks.registrar");
});

Deno.test("an event's owner that was forgotten is refused, by record(), recordMany() and list()", async () => {
  await using site = await Site.open();
  const { recorder, events } = site.main.runtime;
  const draft = { type: "order.placed", subject: "order:1", ownerId: undefined } as unknown as EventDraft;
  await assertRejects(() => recorder.record(draft), InvalidOptionError, "or null for nobody's event");
  await assertRejects(() => recorder.recordMany([draft]), InvalidOptionError, "ownerId");
  for (const ownerId of [undefined, "", null] as unknown[]) {
    await assertRejects(() => events.list({ ownerId } as EventFilter), InvalidOptionError, "ownerId");
  }
  assertEquals(await events.list(), []);
});
