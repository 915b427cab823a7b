import { assert, assertEquals, assertRejects } from "@std/assert";
import { channelName } from "../../adapters/postgres/sql/identifiers.ts";
import {
  captureChanges,
  EventNotFoundError,
  EventNotPoisonedError,
  type PostgresRuntime,
  silentLog,
  type Subscription,
} from "../../mod.ts";
import type { LogFields } from "../../ports/log.ts";
import { eventually, pause } from "../conformance/eventually.ts";
import { connectPostgres } from "../integration/support/connect.ts";
import { TcpProxy } from "../integration/support/tcp_proxy.ts";
import { Bus, keeping, placed } from "./support/bus.ts";

const DEADLINE_MS = 30_000;

async function settled(runtime: PostgresRuntime): Promise<void> {
  await eventually(async () => {
    const [{ waiting }, { states }] = await Promise.all([runtime.events.backlog(), runtime.overview()]);
    return waiting + states.pending + states.running + states.retryable === 0;
  }, DEADLINE_MS);
}

function sorted(subjects: readonly { readonly subject: string }[]): string[] {
  return subjects.map((event) => event.subject).sort();
}

Deno.test("a process whose relay can't start has claimed nothing, and starts once it can", async () => {
  await using bus = await Bus.open();
  const orders = keeping("orders");
  const runtime = bus.runtime([orders.subscription]);
  const id = await runtime.enqueue("orders", { order: 1 });
  await bus.sql.unsafe(`alter table ${bus.schema}.subscription_set rename to hidden`);
  await assertRejects(() => runtime.start());
  // Long enough for a claim, if anyone made one.
  await pause(500);
  const { state, attempt } = (await runtime.get(id))!;
  assertEquals([state, attempt, orders.got.length], ["pending", 0, 0]);
  await bus.sql.unsafe(`alter table ${bus.schema}.hidden rename to subscription_set`);
  await runtime.start();
  await runtime.recorder.record(placed(2));
  await eventually(() => orders.got.length === 2, DEADLINE_MS);
});

Deno.test("a transaction that took its number first and commits last loses nothing, however long it stays open", async () => {
  await using bus = await Bus.open();
  const orders = keeping("orders");
  // No sweep comes to help.
  const runtime = await bus.started([orders.subscription], { events: { sweepMs: 600_000 } });
  const late = Promise.withResolvers<void>();
  const first = Promise.withResolvers<string>();
  const open = bus.sql.begin(async (tx) => {
    first.resolve(await runtime.recorder.with(tx).record(placed(1)));
    await late.promise;
  });
  const firstId = await first.promise;
  const secondId = await runtime.recorder.record(placed(2));
  await eventually(() => orders.got.length === 1, DEADLINE_MS);
  assertEquals(orders.got[0]!.event_id, secondId);
  assertEquals(await runtime.events.awaitFanout(firstId, 300), { fannedOut: false, reason: "timeout" });
  late.resolve();
  await open;
  await eventually(() => orders.got.length === 2, DEADLINE_MS);
  assertEquals(orders.got[1]!.event_id, firstId);
});

Deno.test("200 writers that hold for random times and in part roll back: every committed event comes once", async () => {
  await using bus = await Bus.open();
  const orders = keeping("orders");
  const runtimes = [
    await bus.started([orders.subscription]),
    await bus.started([orders.subscription]),
  ];
  let next = 0;
  const committed: string[] = [];
  const write = async () => {
    for (let order = next++; order < 200; order = next++) {
      const rollsBack = order % 5 === 0;
      await bus.sql.begin(async (tx) => {
        await runtimes[0]!.recorder.with(tx).record(placed(order));
        await pause(Math.random() * 30);
        if (rollsBack) throw new Error("rolled back");
      }).then(() => committed.push(`order:${order}`), () => {});
    }
  };
  await Promise.all(Array.from({ length: 4 }, write));
  await eventually(() => orders.got.length >= 160, DEADLINE_MS);
  await settled(runtimes[0]!);
  assertEquals(sorted(orders.got), committed.sort());
});

Deno.test("what is recorded while a relay is awake comes without a notification, also from a transaction that ends later", async () => {
  await using bus = await Bus.open();
  const orders = keeping("orders");
  const runtime = await bus.started([orders.subscription], { events: { sweepMs: 600_000 } });
  const awake = `select from ${bus.schema}.relay where awake_until > clock_timestamp()`;
  let count = 0;
  const late = Promise.withResolvers<void>();
  const open = await eventually(async () => {
    for (let each = 0; each < 50; each++) await runtime.recorder.record(placed(count++));
    if ((await bus.sql.unsafe(awake)).length === 0) return false;
    return {
      ended: bus.sql.begin(async (tx) => {
        await runtime.recorder.with(tx).record(placed(count++));
        await late.promise;
      }),
    };
  }, DEADLINE_MS);
  await eventually(async () => (await bus.sql.unsafe(awake)).length === 0, DEADLINE_MS);
  late.resolve();
  await open.ended;
  await eventually(() => orders.got.length === count, DEADLINE_MS);
});

Deno.test("where no relay is nobody is woken; one that begins finds what is committed after that, without a notification", async () => {
  await using bus = await Bus.open();
  const orders = keeping("orders");
  const runtime = bus.runtime([orders.subscription], { events: { sweepMs: 600_000 } });
  let notified = 0;
  const listener = connectPostgres(bus.url);
  const channel = channelName(bus.schema, "outbox");
  await listener.listen(channel, () => void notified++);
  const written = Promise.withResolvers<void>();
  const late = Promise.withResolvers<void>();
  const ended = bus.sql.begin(async (tx) => {
    await runtime.recorder.with(tx).record(placed(1));
    written.resolve();
    await late.promise;
  });
  await written.promise;
  await runtime.recorder.recordMany([placed(2), placed(3)]);
  await runtime.recorder.record(placed(4));
  await listener.notify(channel, "mark");
  await eventually(() => notified === 1, DEADLINE_MS);
  await runtime.start();
  await eventually(() => orders.got.length === 3, DEADLINE_MS);
  late.resolve();
  await ended;
  await eventually(() => orders.got.length === 4, DEADLINE_MS);
  await runtime.recorder.record(placed(5));
  await eventually(() => notified === 2, DEADLINE_MS);
  await listener.end();
});

Deno.test("several facts about one subject are several jobs; who coalesces gets one, of the latest", async () => {
  await using bus = await Bus.open();
  const [each, latest] = [keeping("each"), keeping("latest", { coalesce: true })];
  const runtime = bus.runtime([each.subscription, latest.subscription]);
  const ids = await runtime.recorder.recordMany([
    placed(1, { n: 1 }),
    { ...placed(1, { n: 2 }), ownerId: "other" },
    placed(2, { n: 3 }),
    placed(1, { n: 4 }),
  ]);
  await runtime.start();
  await settled(runtime);
  const numbers = (events: typeof each.got) => events.map(({ data }) => (data as { n: number }).n).sort();
  assertEquals(numbers(each.got), [1, 2, 3, 4]);
  assertEquals(numbers(latest.got), [2, 3, 4]);
  const [first, last] = [await runtime.events.get(ids[0]!), await runtime.events.get(ids[3]!)];
  assertEquals(first!.jobs!.latest, last!.jobs!.latest);
  assert(first!.jobs!.each !== last!.jobs!.each);
  assertEquals(first!.subscribers.map(({ subscription, state }) => `${subscription} ${state}`), [
    "each completed",
    "latest completed",
  ]);
});

Deno.test("a bad event holds up nobody, is poisoned after 5 failures, and comes after a requeue", async () => {
  await using bus = await Bus.open();
  const orders = keeping("orders");
  const runtime = bus.runtime([orders.subscription]);
  await bus.sql.unsafe(`
    create function ${bus.schema}.refuse() returns trigger language plpgsql as
      $$ begin if new.args ->> 'subject' = 'order:2' then raise 'order 2 is cursed'; end if; return new; end $$;
    create trigger refuse before insert on ${bus.schema}.job for each row execute function ${bus.schema}.refuse()`);
  const ids = await runtime.recorder.recordMany([placed(1), placed(2), placed(3)]);
  await runtime.start();
  await eventually(async () => (await runtime.events.backlog()).poisoned === 1, DEADLINE_MS);
  await eventually(() => orders.got.length === 2, DEADLINE_MS);
  assertEquals(sorted(orders.got), ["order:1", "order:3"]);
  assertEquals((await runtime.events.backlog()).waiting, 0);
  const [poisoned] = await runtime.events.list({ state: "poisoned" });
  assertEquals([poisoned!.id, poisoned!.failures, poisoned!.state], [ids[1]!, 5, "poisoned"]);
  assert(poisoned!.lastError!.includes("order 2 is cursed"), poisoned!.lastError!);
  assertEquals((await runtime.events.alerts()).map(({ name, value }) => [name, value]), [["poisoned", 1]]);
  await assertRejects(() => runtime.events.requeue(ids[0]!), EventNotPoisonedError, "fanned out");
  await assertRejects(() => runtime.events.requeue(crypto.randomUUID()), EventNotFoundError);
  await assertRejects(() => runtime.events.requeue("nonsense"), EventNotFoundError);
  await bus.sql.unsafe(`drop trigger refuse on ${bus.schema}.job`);
  await runtime.events.requeue(ids[1]!);
  await eventually(() => orders.got.length === 3, DEADLINE_MS);
  assertEquals(await runtime.events.alerts(), []);
});

Deno.test("a poisoned event can be dropped, and no other", async () => {
  await using bus = await Bus.open();
  const orders = keeping("orders");
  const runtime = bus.runtime([orders.subscription]);
  const ids = await runtime.recorder.recordMany([placed(1), placed(2)]);
  await assertRejects(() => runtime.events.drop(ids[0]!), EventNotPoisonedError, "waiting");
  await bus.sql.unsafe(`update ${bus.schema}.outbox set poisoned_at = now() where id = $1`, [ids[0]!]);
  await runtime.events.drop(ids[0]!);
  assertEquals(await runtime.events.get(ids[0]!), null);
  for (const id of [ids[0]!, crypto.randomUUID(), "nonsense"]) {
    await assertRejects(() => runtime.events.drop(id), EventNotFoundError);
  }
  await runtime.start();
  await eventually(() => orders.got.length === 1, DEADLINE_MS);
  await assertRejects(() => runtime.events.drop(ids[1]!), EventNotPoisonedError, "fanned out");
  assertEquals((await runtime.events.backlog()).poisoned, 0);
});

Deno.test("when nothing can be fanned out no event is to blame: all wait, and come when it can", async () => {
  await using bus = await Bus.open();
  const orders = keeping("orders");
  const runtime = bus.runtime([orders.subscription]);
  await bus.sql.unsafe(`
    create function ${bus.schema}.refuse() returns trigger language plpgsql as $$ begin raise 'no jobs today'; end $$;
    create trigger refuse before insert on ${bus.schema}.job for each row when (new.kind = 'orders')
      execute function ${bus.schema}.refuse()`);
  await runtime.recorder.recordMany([placed(1), placed(2)]);
  await runtime.start();
  // Longer than five failures take.
  await pause(600);
  const { waiting, poisoned } = await runtime.events.backlog();
  assertEquals({ waiting, poisoned }, { waiting: 2, poisoned: 0 });
  await bus.sql.unsafe(`drop trigger refuse on ${bus.schema}.job`);
  await eventually(() => orders.got.length === 2, DEADLINE_MS);
});

Deno.test("an event that another program wrote and that no job can hold is poisoned with the reason", async () => {
  await using bus = await Bus.open();
  const orders = keeping("orders");
  const runtime = await bus.started([orders.subscription]);
  await bus.sql.unsafe(
    `insert into ${bus.schema}.outbox (type, subject, data)
      values ('order.placed', '1', to_jsonb(repeat('x', 1024 * 1024)))`,
  );
  await runtime.recorder.record(placed(2));
  await eventually(async () => (await runtime.events.backlog()).poisoned === 1, DEADLINE_MS);
  const [poisoned] = await runtime.events.list({ state: "poisoned" });
  assert(poisoned!.lastError!.includes("1048576"), poisoned!.lastError!);
});

Deno.test("an integer that only text can hold reaches the job digit by digit, and a subscriber without data runs", async () => {
  await using bus = await Bus.open();
  const [orders, bare] = [keeping("orders"), keeping("bare")];
  const runtime = await bus.started([orders.subscription, { ...bare.subscription, data: false }]);
  await bus.sql.unsafe(
    `insert into ${bus.schema}.outbox (type, subject, data) values ('order.placed', '1', '{"id": 1970670598291982290}')`,
  );
  await eventually(() => bare.got.length === 1, DEADLINE_MS);
  assertEquals(bare.got[0]!.data, null);
  // Read as a neighbouring number it would point the handler at another row.
  const [event] = await runtime.events.list();
  const job = (await runtime.get(event!.jobs!.orders!))!;
  await eventually(async () => (await runtime.get(job.id))!.state === "discarded", DEADLINE_MS);
  const reason = (await runtime.get(job.id))!.errors[0]!.message;
  assert(reason.includes("1970670598291982290") && reason.includes("args.data.id"), reason);
  assertEquals(
    JSON.stringify((await runtime.events.get(event!.id))!.event.data),
    '{"id":1970670598291982290}',
  );
});

Deno.test("in a rolling deploy the old program fans out nothing of what is recorded after the new one has started", async () => {
  await using bus = await Bus.open();
  const [old, added] = [keeping("old"), keeping("added")];
  const before = bus.runtime([old.subscription]);
  await before.start();
  const early = await before.recorder.record(placed(1));
  assert((await before.events.awaitFanout(early, DEADLINE_MS)).fannedOut);
  const after = await bus.started([old.subscription, added.subscription]);
  // The old one starts again meanwhile, as after a crash: it does not take over.
  const again = await bus.started([old.subscription]);
  const ids = await again.recorder.recordMany(Array.from({ length: 50 }, (_, order) => placed(100 + order)));
  for (const id of ids) {
    const receipt = await before.events.awaitFanout(id, DEADLINE_MS);
    assert(receipt.fannedOut);
    assertEquals(Object.keys(receipt.jobs).sort(), ["added", "old"]);
  }
  await settled(after);
  assertEquals(added.got.length, 50);
  const versions = await bus.sql.unsafe(`select version from ${bus.schema}.subscription_set`);
  assertEquals(versions.length, 2);
  // A roll-back: when the last process of the newer program has stopped, the old one fans out again.
  await after.stop();
  const back = await again.recorder.record(placed(999));
  const receipt = await again.events.awaitFanout(back, DEADLINE_MS);
  assert(receipt.fannedOut);
  assertEquals(Object.keys(receipt.jobs), ["old"]);
});

Deno.test("a subscription that is added later sees only what is recorded after it is deployed", async () => {
  await using bus = await Bus.open();
  const [old, added] = [keeping("old"), keeping("added")];
  const before = await bus.started([old.subscription]);
  const early = await before.recorder.record(placed(1));
  assert((await before.events.awaitFanout(early, DEADLINE_MS)).fannedOut);
  await before.stop();
  const after = await bus.started([old.subscription, added.subscription]);
  await after.recorder.record(placed(2));
  await eventually(() => added.got.length > 0 && old.got.length === 2, DEADLINE_MS);
  assertEquals(sorted(added.got), ["order:2"]);
});

Deno.test("when the listener's connection is cut the sweep finds what is recorded", async () => {
  await using bus = await Bus.open();
  await using proxy = new TcpProxy(bus.url);
  const orders = keeping("orders");
  await bus.started([orders.subscription], { url: proxy.url, events: { sweepMs: 300 } });
  // Whatever the outbox would send, nobody hears it.
  await bus.sql.unsafe(
    `create or replace function ${bus.schema}.wake_relay() returns void language sql as 'select'`,
  );
  proxy.cut();
  await bus.runtime([]).recorder.record(placed(1));
  await eventually(() => orders.got.length === 1, DEADLINE_MS);
});

Deno.test("without LISTEN, as behind a transaction pooler, events come by polling", async () => {
  await using bus = await Bus.open();
  const orders = keeping("orders");
  const runtime = await bus.started([orders.subscription], { listen: "off", events: { sweepMs: 600_000 } });
  for (const order of [1, 2]) {
    await runtime.recorder.record(placed(order));
    await eventually(() => orders.got.length === order, DEADLINE_MS);
  }
});

Deno.test("list() pages through everything newest first, by type, glob, subject, owner and state", async () => {
  await using bus = await Bus.open();
  const runtime = bus.runtime([keeping("orders").subscription]);
  await runtime.recorder.recordMany(Array.from({ length: 25 }, (_, order) => placed(order)));
  await runtime.recorder.record({ type: "mail.sent", subject: "mail:1", ownerId: "acme" });
  await runtime.recorder.record({ type: "order.item.added", subject: "item:1" });
  const seen: string[] = [];
  let page = await runtime.events.list({ type: "order.*", limit: 10 });
  while (page.length > 0) {
    seen.push(...page.map((event) => event.subject));
    page = await runtime.events.list({ type: "order.*", limit: 10, before: page.at(-1)!.id });
  }
  assertEquals(seen, ["item:1", ...Array.from({ length: 25 }, (_, order) => `order:${24 - order}`)]);
  const subjects = async (filter: Parameters<typeof runtime.events.list>[0]) =>
    (await runtime.events.list(filter)).map((event) => event.subject);
  assertEquals(await subjects({ type: "*.placed", limit: 1 }), ["order:24"]);
  assertEquals(await subjects({ type: "mail.sent" }), ["mail:1"]);
  assertEquals(await subjects({ ownerId: "acme" }), ["mail:1"]);
  assertEquals(await subjects({ subject: "order:7" }), ["order:7"]);
  assertEquals(await subjects({ state: "fanned out" }), []);
  assertEquals((await subjects({ state: "waiting", limit: 1000 })).length, 27);
  await assertRejects(() => runtime.events.list({ limit: 0 }), RangeError, "limit");
  await assertRejects(() => runtime.events.list({ before: "x" }), RangeError, "before");
  assertEquals(await runtime.events.get(crypto.randomUUID()), null);
});

Deno.test("retention deletes what was fanned out long ago, and neither what waits, nor poisoned, nor kept", async () => {
  await using bus = await Bus.open();
  const orders: Subscription = keeping("orders").subscription;
  const runtime = bus.runtime([], {
    events: { retentionMs: 60_000, purgeMs: 200 },
    registrars: [{
      eventTypes: [{ type: "order.placed", description: "It is placed", subject: "its id" }],
      subscriptions: [orders],
      keepEvents: async (tx, ids) => {
        const rows = await tx.unsafe(
          `select id::text from ${bus.schema}.outbox where subject = 'kept' and id = any($1::text::uuid[])`,
          [`{${ids.join(",")}}`],
        );
        return rows.map((row) => String(row.id));
      },
    }],
  });
  const old = (seconds: number) =>
    `('00000000-0000-7000-8000-' || lpad(to_hex(${seconds} + n), 12, '0'))::uuid, ` +
    `clock_timestamp() - ${seconds} * interval '1 s'`;
  await bus.sql.unsafe(`
    insert into ${bus.schema}.outbox (id, occurred_at, type, subject, fanned_out_at, poisoned_at, fanout)
    select ${
    old(100)
  }, 'x.y', 'old', clock_timestamp() - interval '90 s', null::timestamptz, '{}'::jsonb from generate_series(1, 2500) n
    union all
    select ${
    old(1e6)
  }, 'x.y', 'young', clock_timestamp() - interval '30 s', null, '{}' from generate_series(1, 3) n
    union all
    select ${old(2e6)}, 'x.y', 'poisoned', null, clock_timestamp(), null from generate_series(1, 3) n
    union all
    select ${
    old(3e6)
  }, 'x.y', 'kept', clock_timestamp() - interval '90 s', null, '{}' from generate_series(1, 3) n`);
  await runtime.start();
  const left = async () => {
    const rows = await bus.sql.unsafe(
      `select subject, count(*)::int as count from ${bus.schema}.outbox group by 1 order by 1`,
    );
    return Object.fromEntries(rows.map((row) => [row.subject, row.count]));
  };
  await eventually(async () => (await left()).old === undefined, DEADLINE_MS);
  assertEquals(await left(), { kept: 3, poisoned: 3, young: 3 });
});

Deno.test("an old event that can't be deleted, and one that is held, keep no other from being deleted", async () => {
  await using bus = await Bus.open();
  const said: unknown[] = [];
  const log = {
    ...silentLog,
    error: (_event: string, fields?: LogFields) => void said.push(fields?.eventId),
  };
  const options = { events: { retentionMs: 0, purgeMs: 1000 }, log };
  const runtime = bus.runtime([keeping("orders").subscription], options);
  const id = (n: number) => `00000000-0000-7000-8000-${String(n).padStart(12, "0")}`;
  await bus.sql.unsafe(`
    insert into ${bus.schema}.outbox (id, type, subject, fanned_out_at, fanout)
    select ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'x.y', n::text, now() - interval '1 min', '{}'
    from generate_series(1, 300) as n;
    create function ${bus.schema}.keep() returns trigger language plpgsql as $$
    begin raise exception 'this one stays'; end $$;
    create trigger keep before delete on ${bus.schema}.outbox for each row when (old.subject = '7')
    execute function ${bus.schema}.keep()`);
  const holder = await bus.sql.reserve();
  await holder.unsafe(`begin; select from ${bus.schema}.outbox where subject = '9' for update`);
  const left = async () => {
    const rows = await bus.sql.unsafe(`select id::text from ${bus.schema}.outbox order by id limit 3`);
    return JSON.stringify(rows.map((row) => row.id));
  };
  try {
    await runtime.start();
    await eventually(async () => await left() === JSON.stringify([id(7), id(9)]), DEADLINE_MS);
  } finally {
    await holder.unsafe("rollback");
    holder.release();
  }
  await eventually(async () => await left() === JSON.stringify([id(7)]), DEADLINE_MS);
  assertEquals(new Set(said), new Set([id(7)]));
});

Deno.test("many old events in a row that can't be deleted keep none behind them from being deleted", async () => {
  await using bus = await Bus.open();
  const runtime = bus.runtime([keeping("orders").subscription], {
    events: { retentionMs: 0, purgeMs: 1000 },
  });
  await bus.sql.unsafe(`
    insert into ${bus.schema}.outbox (id, type, subject, fanned_out_at, fanout)
    select ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'x.y', n::text, now() - interval '1 min', '{}'
    from generate_series(1, 300) as n;
    create function ${bus.schema}.keep() returns trigger language plpgsql as $$
    begin raise exception 'this one stays'; end $$;
    create trigger keep before delete on ${bus.schema}.outbox for each row when (old.subject::int <= 20)
    execute function ${bus.schema}.keep()`);
  await runtime.start();
  await eventually(async () => {
    const [row] = await bus.sql.unsafe(
      `select count(*)::int as count, max(subject::int) as last from ${bus.schema}.outbox`,
    );
    return row!.count === 20 && row!.last === 20;
  }, DEADLINE_MS);
});

Deno.test("a program without events takes no part, and one whose outbox is missing does not start", async () => {
  await using bus = await Bus.open();
  const runtime = await bus.started([], { registrars: [] });
  assertEquals((await bus.sql.unsafe(`select from ${bus.schema}.relay`)).length, 0);
  assertEquals(await runtime.periodic(), []);
  await bus.sql.unsafe(`delete from ${bus.schema}.migration where part = 'outbox'`);
  await assertRejects(() => bus.runtime([]).start(), Error, "(outbox): it is at version 0");
});

Deno.test("captureChanges() and the rest live in any schema", async () => {
  await using bus = await Bus.open();
  const runtime = bus.runtime([], { schema: `${bus.schema} "q"` });
  try {
    await runtime.migrate();
    await runtime.start();
    await bus.sql.unsafe(`create table "${bus.schema}".t (id int primary key, v int)`);
    const schema = `${bus.schema} "q"`;
    const sql = captureChanges({
      table: "t",
      tableSchema: bus.schema,
      key: ["id"],
      columns: ["v"],
      type: "order.paid",
      schema,
    });
    await bus.sql.unsafe(sql.up);
    await bus.sql.unsafe(`insert into ${bus.schema}.t values (1, 1)`);
    const [event] = await runtime.events.list();
    assert((await runtime.events.awaitFanout(event!.id, DEADLINE_MS)).fannedOut);
  } finally {
    await runtime.stop();
    await bus.sql.unsafe(`drop schema "${bus.schema} ""q""" cascade`);
  }
});
