import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import {
  captureChanges,
  createRuntime,
  InvalidJsonError,
  InvalidOptionError,
  silentLog,
  TooLargeError,
  UndeclaredEventTypeError,
} from "../../mod.ts";
import { eventually } from "../conformance/eventually.ts";
import { testDatabaseUrl } from "../support/test_database.ts";
import { TYPES } from "./support/settings.ts";
import { Bus, keeping, placed } from "./support/bus.ts";

Deno.test("an event of a committed transaction reaches each matching subscriber once, with all that was recorded", async () => {
  await using bus = await Bus.open();
  const [orders, mails, all] = [
    keeping("orders"),
    keeping("mails", { types: ["mail.*"] }),
    keeping("all", { types: ["*"] }),
  ];
  const runtime = await bus.started([orders.subscription, mails.subscription, all.subscription]);
  const id = await bus.sql.begin((tx) =>
    runtime.recorder.with(tx).record({ ...placed(1, { note: "é\u2028" }), ownerId: "tenant" })
  );
  const receipt = await runtime.events.awaitFanout(id, 20_000);
  assert(receipt.fannedOut);
  assertEquals(Object.keys(receipt.jobs).sort(), ["all", "orders"]);
  for (const job of Object.values(receipt.jobs)) {
    const result = await runtime.wait(job, 20_000);
    assert(result.done && result.state === "completed");
  }
  const { occurred_at, ...event } = orders.got[0]!;
  assertEquals(event, {
    event_id: id,
    type: "order.placed",
    subject: "order:1",
    owner_id: "tenant",
    data: { order: 1, note: "é\u2028" },
  });
  assertMatch(occurred_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  assertEquals([orders.got.length, mails.got.length, all.got.length], [1, 0, 1]);
});

Deno.test("in a schema with a name of quotes and capitals events are recorded, fanned out, read, captured and found", async () => {
  const url = await testDatabaseUrl();
  const schema = `It's "odd" ${crypto.randomUUID().slice(0, 8)}`;
  const orders = keeping("orders");
  const registrars = [{ eventTypes: TYPES, subscriptions: [orders.subscription] }];
  await using runtime = createRuntime({ url, schema, registrars, log: silentLog });
  const { database, events } = runtime;
  await runtime.migrate();
  await runtime.start();
  try {
    const id = await runtime.recorder.record(placed(1));
    assert((await events.awaitFanout(id, 20_000)).fannedOut);
    await eventually(() => orders.got.length === 1, 20_000);
    assertEquals((await events.latestFor("order:1"))?.id, id);
    assert((await events.backlog()).bytes > 0);
    const [capture] = [captureChanges({
      table: "Odd's",
      tableSchema: schema,
      key: ["id"],
      columns: ["id"],
      type: "order.placed",
      schema,
    })];
    await database.query(`create table {schema}."Odd's" (id int primary key)`);
    await database.transaction(async (tx) => {
      // Several statements go without parameters only.
      await tx.unsafe(capture.up, []);
      await tx.unsafe(`insert into ${database.quotedSchema}."Odd's" values (2)`, []);
    });
    await eventually(() => orders.got.length === 2, 20_000);
    assertEquals(orders.got[1]!.subject, "Odd's:2");
  } finally {
    await database.query("drop schema {schema} cascade");
  }
});

Deno.test("a rolled-back transaction leaves neither row nor event", async () => {
  await using bus = await Bus.open();
  const orders = keeping("orders");
  const runtime = await bus.started([orders.subscription]);
  await bus.sql.unsafe(`create table ${bus.schema}.orders (id int)`);
  await assertRejects(() =>
    bus.sql.begin(async (tx) => {
      await tx.unsafe(`insert into ${bus.schema}.orders values (1)`);
      await runtime.recorder.with(tx).record(placed(1));
      throw new Error("changed its mind");
    })
  );
  const id = await runtime.recorder.record(placed(2));
  await runtime.events.awaitFanout(id, 20_000);
  await eventually(() => orders.got.length > 0, 20_000);
  assertEquals(orders.got.map((event) => event.subject), ["order:2"]);
  assertEquals((await bus.sql.unsafe(`select from ${bus.schema}.orders`)).length, 0);
  assertEquals((await runtime.events.list()).length, 1);
});

Deno.test("recordMany() records all or none, with the ids in order, newest last", async () => {
  await using bus = await Bus.open();
  const runtime = bus.runtime([]);
  const ids = await runtime.recorder.recordMany([1, 2, 3].map((order) => placed(order)));
  const listed = await runtime.events.list();
  assertEquals(listed.map((event) => event.id), ids.toReversed());
  assertEquals(listed.map((event) => event.subject), ["order:3", "order:2", "order:1"]);
  const bad = { ...placed(5), data: { note: "a\0b" } };
  await assertRejects(() => runtime.recorder.recordMany([placed(4), bad]), InvalidJsonError, "data.note");
  assertEquals((await runtime.events.list()).length, 3);
  assertEquals(await runtime.recorder.recordMany([]), []);
});

Deno.test("record() refuses what it can't keep before any SQL is sent, and the transaction goes on", async () => {
  await using bus = await Bus.open();
  const runtime = bus.runtime([]);
  await bus.sql.begin(async (tx) => {
    const recorder = runtime.recorder.with(tx);
    await assertRejects(
      () => recorder.record({ type: "order.eaten", subject: "1" }),
      UndeclaredEventTypeError,
      '"order.eaten"',
    );
    await assertRejects(() => recorder.record({ ...placed(1), subject: "" }), InvalidOptionError, "subject");
    await assertRejects(() => recorder.record({ ...placed(1), subject: "\0" }), InvalidJsonError, "subject");
    await assertRejects(
      () => recorder.record({ ...placed(1), subject: "x".repeat(513) }),
      TooLargeError,
      "513",
    );
    await assertRejects(
      () => recorder.record({ ...placed(1), data: "x".repeat(1024 * 1024) }),
      TooLargeError,
      "bytes",
    );
    const misspelt = { ...placed(1), owner: "me" };
    await assertRejects(() => recorder.record(misspelt), InvalidOptionError, "owner");
    await recorder.record(placed(2));
  });
  assertEquals((await runtime.events.list()).map((event) => event.subject), ["order:2"]);
});
