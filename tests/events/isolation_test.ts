import { assertEquals } from "@std/assert";
import { createLog, createRuntime } from "../../mod.ts";
import { eventually } from "../conformance/eventually.ts";
import { connectPostgres } from "../integration/support/connect.ts";
import { testDatabaseUrl, uniqueSchema } from "../support/test_database.ts";
import { Bus, keeping, placed } from "./support/bus.ts";
import { EVENT_SETTINGS, TYPES } from "./support/settings.ts";

const DEADLINE_MS = 20_000;

/** Makes the database refuse rows of a table, in SQL over `new`. */
function refuse(bus: Bus, table: string, when: string): Promise<unknown> {
  return bus.sql.unsafe(`
    create function ${bus.schema}.refuse() returns trigger language plpgsql
      as $$ begin if ${when} then raise exception 'refused by a trigger'; end if; return new; end $$;
    create trigger refuse before insert on ${bus.schema}.${table}
      for each row execute function ${bus.schema}.refuse()`);
}

/** Holds rows, until it is disposed of. */
async function holding(bus: Bus, select: string): Promise<AsyncDisposable> {
  const sql = connectPostgres(bus.url);
  const held = Promise.withResolvers<void>();
  const done = Promise.withResolvers<void>();
  const transaction = sql.begin(async (tx) => {
    await tx.unsafe(select);
    held.resolve();
    await done.promise;
  });
  await Promise.race([held.promise, transaction]);
  return {
    [Symbol.asyncDispose]: async () => {
      done.resolve();
      await transaction;
      await sql.end();
    },
  };
}

Deno.test("a subscriber whose jobs are refused costs the others nothing, and requeue() goes on with it alone", async () => {
  await using bus = await Bus.open();
  const [bad, good] = [keeping("bad"), keeping("good")];
  await refuse(bus, "job", "new.kind = 'bad'");
  const runtime = await bus.started([bad.subscription, good.subscription]);
  const ids = await runtime.recorder.recordMany([1, 2, 3].map((order) => placed(order)));
  await eventually(() => good.got.length === 3, DEADLINE_MS);
  await eventually(async () => (await runtime.events.backlog()).poisoned === 3, DEADLINE_MS);
  const [event] = await runtime.events.list({ limit: 1 });
  assertEquals(Object.keys(event!.jobs!), ["good"]);
  assertEquals(event!.lastError?.includes("refused by a trigger"), true);
  // What came later is not held up either.
  ids.push(await runtime.recorder.record(placed(4)));
  await eventually(() => good.got.length === 4, DEADLINE_MS);
  await eventually(async () => (await runtime.events.backlog()).poisoned === 4, DEADLINE_MS);
  await bus.sql.unsafe(`drop trigger refuse on ${bus.schema}.job`);
  for (const id of ids) await runtime.events.requeue(id);
  await eventually(() => bad.got.length === 4, DEADLINE_MS);
  for (const id of ids) {
    const detail = await runtime.events.get(id);
    assertEquals([detail!.state, Object.keys(detail!.jobs!).sort()], ["fanned out", ["bad", "good"]]);
  }
  assertEquals(good.got.map(({ event_id }) => event_id).sort(), ids.toSorted());
  assertEquals(bad.got.map(({ event_id }) => event_id).sort(), ids.toSorted());
});

Deno.test("rows of the outbox that somebody holds hold up no other event, and come when they are let go", async () => {
  await using bus = await Bus.open();
  const orders = keeping("orders");
  const runtime = bus.runtime([orders.subscription]);
  const ids = await runtime.recorder.recordMany([1, 2, 3, 4].map((order) => placed(order)));
  {
    await using _held = await holding(
      bus,
      `select from ${bus.schema}.outbox where id in ('${ids[0]}', '${ids[2]}') for update`,
    );
    await runtime.start();
    await eventually(() => orders.got.length === 2, DEADLINE_MS);
    await runtime.recorder.record(placed(5));
    await eventually(() => orders.got.length === 3, DEADLINE_MS);
  }
  await eventually(() => orders.got.length === 5, DEADLINE_MS);
});

Deno.test("rows of the relays that somebody holds hold up no fan-out", async () => {
  await using bus = await Bus.open();
  const orders = keeping("orders");
  const runtime = await bus.started([orders.subscription], { events: { sweepMs: 400 } });
  // One of a process that is long dead, which is to be forgotten.
  await bus.sql.unsafe(`insert into ${bus.schema}.relay (owner, fingerprint, renewed_at)
    values (gen_random_uuid(), 'gone', now() - interval '1 day')`);
  {
    await using _held = await holding(bus, `select from ${bus.schema}.relay for update`);
    const end = performance.now() + 1500;
    let count = 0;
    while (performance.now() < end) {
      await runtime.recorder.record(placed(++count));
      await eventually(() => orders.got.length === count, 5000);
    }
  }
  await eventually(
    async () => (await bus.sql.unsafe(`select from ${bus.schema}.relay`)).length === 1,
    DEADLINE_MS,
  );
});

Deno.test("why an event was refused is noted also where the database's encoding lacks a character of it", async () => {
  const admin = connectPostgres(await testDatabaseUrl());
  const name = uniqueSchema();
  await admin.unsafe(`create database ${name} encoding 'LATIN1' locale 'C' template template0`);
  const url = new URL(await testDatabaseUrl());
  url.pathname = `/${name}`;
  const lines: string[] = [];
  try {
    const good = keeping("good", { types: ["mail.*"] });
    await using runtime = createRuntime({
      url: url.href,
      registrars: [{
        eventTypes: TYPES,
        subscriptions: [good.subscription, {
          name: "bad",
          types: ["order.*"],
          handler: () => {},
          inOrder: {
            isWanted: () => Promise.resolve(true),
            take: () => Promise.reject(new Error("broken 💥")),
          },
        }],
      }],
      settings: { pollMs: 100 },
      events: EVENT_SETTINGS,
      log: createLog({ write: (line) => void lines.push(line) }),
    });
    await runtime.migrate();
    await runtime.start();
    const id = await runtime.recorder.record(placed(1));
    await runtime.recorder.record({ type: "mail.sent", subject: "mail:1" });
    await eventually(() => good.got.length === 1, DEADLINE_MS);
    await eventually(async () => (await runtime.events.get(id))?.state === "poisoned", DEADLINE_MS);
    assertEquals((await runtime.events.get(id))!.lastError, "broken ?");
  } finally {
    await admin.unsafe(`drop database ${name} with (force)`);
    await admin.end();
  }
});
