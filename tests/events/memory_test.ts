import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { createMemoryStore } from "../../adapters/memory/memory_store.ts";
import {
  CompositionError,
  createMemoryRuntime,
  createRuntime,
  deliverTwice,
  type Parts,
  type RecordedEvent,
  silentLog,
  UndeclaredEventTypeError,
} from "../../mod.ts";
import { eventually } from "../conformance/eventually.ts";
import { SETTINGS } from "../integration/programs/composition.ts";
import { Bus, keeping, placed } from "./support/bus.ts";
import { TYPES } from "./support/settings.ts";

const common = { settings: SETTINGS, log: silentLog };

Deno.test("in memory an event reaches its subscribers if and only if its transaction commits", async () => {
  const orders = keeping("orders");
  const store = createMemoryStore();
  const registrars = [{ eventTypes: TYPES, subscriptions: [orders.subscription] }];
  await using runtime = createMemoryRuntime({ registrars, store, ...common });
  await runtime.start();
  await using rolledBack = store.begin();
  await runtime.recorder.with(rolledBack).record(placed(1));
  await rolledBack.rollback();
  await using tx = store.begin();
  const ids = await runtime.recorder.with(tx).recordMany([placed(2), placed(3)]);
  assertEquals(orders.got.length, 0);
  await tx.commit();
  await eventually(() => orders.got.length === 2);
  assertEquals(orders.got.map((event) => event.event_id).sort(), ids.toSorted());
  assertEquals(orders.got[0]!.owner_id, null);
  await assertRejects(() => runtime.recorder.record({ type: "x.y", subject: "1" }), UndeclaredEventTypeError);
});

Deno.test("in memory who coalesces gets the latest of one call", async () => {
  const latest = keeping("latest", { coalesce: true });
  const registrars = [{ eventTypes: TYPES, subscriptions: [latest.subscription] }];
  await using runtime = createMemoryRuntime({ registrars, ...common });
  await runtime.start();
  await runtime.recorder.recordMany([placed(1, { n: 1 }), placed(1, { n: 2 })]);
  await eventually(() => latest.got.length === 1);
  assertEquals(latest.got[0]!.data, { order: 1, n: 2 });
});

Deno.test("deliverTwice() shows a handler that is idempotent by event_id, and one that is not", async () => {
  const seen = new Set<string>();
  let effects = 0;
  const once = (event: RecordedEvent) => {
    if (!seen.has(event.event_id)) effects++;
    seen.add(event.event_id);
  };
  const careless = keeping("careless", { coalesce: true });
  const subscriptions = [{ name: "once", types: ["order.*"], handler: once }, careless.subscription];
  await using runtime = createMemoryRuntime({
    registrars: [{ eventTypes: TYPES, subscriptions }],
    ...common,
  });
  await runtime.start();
  const events = await deliverTwice(runtime, [placed(1), placed(1)]);
  assertEquals(events.length, 2);
  assertEquals(effects, 2);
  assertEquals(careless.got.length, 4);
});

Deno.test("deliverTwice() works on PostgreSQL, and names the subscription whose job was given up", async () => {
  await using bus = await Bus.open();
  const failing = {
    name: "failing",
    types: ["order.paid"],
    maxAttempts: 1,
    handler: () => Promise.reject(new Error("no")),
  };
  const orders = keeping("orders", { types: ["order.placed"] });
  const runtime = await bus.started([orders.subscription, failing]);
  const [event] = await deliverTwice(runtime, [placed(1)]);
  assertEquals(orders.got.map((got) => got.event_id), [event!.event_id, event!.event_id]);
  const paid = [{ type: "order.paid", subject: "1" }];
  await assertRejects(() => deliverTwice(runtime, paid), Error, "delivered to failing");
});

Deno.test("a registrar may be a function of the parts, which work in handlers", async () => {
  await using bus = await Bus.open();
  let done: string | undefined;
  const registrar = ({ database, jobs, recorder, log }: Parts) => ({
    eventTypes: TYPES,
    migrations: [{
      part: "shop",
      steps: [{
        version: 1,
        name: "create mails",
        up: "create table {schema}.mails (id text)",
        down: "drop table {schema}.mails",
      }],
    }],
    kinds: [{
      name: "note",
      queue: "default",
      maxAttempts: 1,
      timeout: 5000,
      handler: () => void (done = "noted"),
    }],
    subscriptions: [{
      name: "mails",
      types: ["order.placed"],
      handler: async (event: RecordedEvent) => {
        log.info("mailing");
        await database.transaction(async (tx) => {
          await tx.unsafe("insert into {schema}.mails values ($1::text)", [event.event_id]);
          await jobs.with(tx).enqueue("note");
          await recorder.with(tx).record({ type: "mail.sent", subject: event.event_id });
        });
      },
    }],
  });
  const runtime = bus.runtime([], { registrars: [registrar] });
  await assertRejects(() => runtime.start(), Error, "(shop)");
  await runtime.migrate();
  await runtime.start();
  const id = await runtime.recorder.record(placed(1));
  await eventually(() => done === "noted", 20_000);
  assertEquals((await runtime.events.latestFor(id))?.type, "mail.sent");
  assertEquals((await runtime.database.query("select id from {schema}.mails"))[0]!.id, id);
});

Deno.test("a registrar function that uses the parts too early, or throws, is a fault of the composition", () => {
  const error = assertThrows(() =>
    createMemoryRuntime({
      registrars: [({ jobs }) => {
        jobs.with({ unsafe: () => Promise.resolve([]) });
        return {};
      }, function shop() {
        throw new Error("closed today");
      }],
      log: silentLog,
    }), CompositionError);
  assert(error.faults[0]!.includes("keep the parts, and use them in handlers"), error.message);
  assertEquals(error.faults[1], "the registrar shop threw: closed today");
});

Deno.test("in memory the database of the parts says that there is none", async () => {
  let refused = "";
  const registrar = ({ database }: Parts) => ({
    eventTypes: TYPES,
    subscriptions: [{
      name: "orders",
      types: ["order.*"],
      handler: () => {
        try {
          database.query("select 1");
        } catch (error) {
          refused = (error as Error).message;
        }
      },
    }],
  });
  await using runtime = createMemoryRuntime({ registrars: [registrar], ...common });
  await runtime.start();
  await runtime.recorder.record(placed(1));
  await eventually(() => refused.includes("a runtime in memory has none"));
});

Deno.test("a setting of events out of its range is refused at construction", () => {
  const options = { registrars: [], log: silentLog };
  assertThrows(
    () => createRuntime({ ...options, url: "postgres://localhost/x", events: { sweepMs: 0 } }),
    RangeError,
    "events.sweepMs",
  );
  assertThrows(
    () => createMemoryRuntime({ ...options, events: { sweeps: 1 } as object }),
    RangeError,
    "sweeps",
  );
});
