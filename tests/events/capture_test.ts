import { assert, assertEquals, assertThrows } from "@std/assert";
import { captureChanges, type CaptureOptions, InvalidOptionError } from "../../mod.ts";
import { eventually } from "../conformance/eventually.ts";
import { Bus, keeping } from "./support/bus.ts";

async function lines(bus: Bus): Promise<string[]> {
  const rows = await bus.sql.unsafe(
    `select type, subject, owner_id, data::text from ${bus.schema}.outbox order by seq`,
  );
  return rows.map((row) => [row.type, row.subject, row.owner_id, row.data].join(" "));
}

async function captured(bus: Bus, options: Partial<CaptureOptions> = {}): Promise<{ down: string }> {
  const sql = captureChanges({
    table: "orders",
    tableSchema: bus.schema,
    key: ["id"],
    columns: ["status"],
    type: { insert: "order.placed", update: "order.changed", delete: "order.gone" },
    schema: bus.schema,
    ...options,
  });
  await bus.sql.unsafe(sql.up);
  return sql;
}

Deno.test("captureChanges() records inserts, watched updates and deletes of any writer, and nothing else", async () => {
  await using bus = await Bus.open();
  const [table, sql] = [`${bus.schema}.orders`, bus.sql];
  await sql.unsafe(`create table ${table} (id int primary key, status text, note text, tenant text)`);
  const { down } = await captured(bus, {
    subject: "'order:' || changed.id",
    owner: "changed.tenant",
    data: "jsonb_build_object('s', changed.status)",
  });
  await sql.unsafe(`insert into ${table} values (1, 'new', 'a', 'acme'), (2, 'new', 'b', 'acme')`);
  await sql.unsafe(`update ${table} set note = 'unwatched'`);
  await sql.unsafe(`update ${table} set status = 'new'`);
  await sql.unsafe(`update ${table} set status = 'paid' where id = 2`);
  await sql.unsafe(`update ${table} set id = 7 where id = 1`);
  await sql.unsafe(`delete from ${table} where id = 2`);
  await sql.unsafe(`delete from ${table} where id = 99`);
  const expected = [
    'order.placed order:1 acme {"s": "new"}',
    'order.placed order:2 acme {"s": "new"}',
    'order.changed order:2 acme {"s": "paid"}',
    'order.changed order:7 acme {"s": "new"}',
    'order.gone order:2 acme {"s": "paid"}',
  ];
  assertEquals(await lines(bus), expected);
  await sql.begin(async (tx) => {
    await tx.unsafe(`insert into ${table} values (3, 'new')`);
    throw new Error("rolled back");
  }).catch(() => {});
  await sql.unsafe(down);
  await sql.unsafe(`insert into ${table} values (4, 'new')`);
  assertEquals(await lines(bus), expected);
});

Deno.test("captureChanges() takes quoted names, a composite key and columns of json, jsonb and other types", async () => {
  await using bus = await Bus.open();
  const table = `${bus.schema}."Order ""Lines"""`;
  await bus.sql.unsafe(
    `create table ${table} ("Order" int, "line no" int, doc jsonb, raw json, "at's \\" point, primary key ("Order", "line no"))`,
  );
  const options = {
    table: 'Order "Lines"',
    key: ["Order", "line no"],
    columns: ["doc", "raw", "at's \\"],
    type: "line.changed",
  };
  await captured(bus, options);
  // A migration that runs again replaces what is there.
  await captured(bus, options);
  await bus.sql.unsafe(`insert into ${table} values (1, 2, '{"a": 1}', '{"b":1}', '(1,2)')`);
  await bus.sql.unsafe(`update ${table} set doc = '{"a":1}', raw = '{"b":1}', "at's \\" = '(1,2)'`);
  await bus.sql.unsafe(`update ${table} set doc = '{"a":2}'`);
  await bus.sql.unsafe(`update ${table} set doc = null`);
  const head = `line.changed Order "Lines":1,2  `;
  const data = (doc: string) =>
    `${head}{"doc": ${doc}, "raw": {"b": 1}, "Order": 1, "at's \\\\": "(1,2)", "line no": 2}`;
  assertEquals(await lines(bus), [data('{"a": 1}'), data('{"a": 2}'), data("null")]);
});

Deno.test("captureChanges() works for a writer who has no right on the outbox, and wakes the relay at the commit", async () => {
  await using bus = await Bus.open();
  const orders = keeping("orders");
  await bus.sql.unsafe(`create table ${bus.schema}.orders (id int primary key, status text)`);
  await captured(bus, { type: "order.placed" });
  const runtime = await bus.started([orders.subscription], { events: { sweepMs: 600_000 } });
  const role = `${bus.schema}_writer`;
  await bus.sql.unsafe(`create role ${role}; grant usage on schema ${bus.schema} to ${role};
    grant insert on ${bus.schema}.orders to ${role}`);
  try {
    await bus.sql.begin(async (tx) => {
      await tx.unsafe(`set local role ${role}`);
      await tx.unsafe(`insert into ${bus.schema}.orders values (5, 'new')`);
    });
    await eventually(() => orders.got.length === 1, 20_000);
    assertEquals(orders.got[0]!.data, { id: 5, status: "new" });
    const latest = await runtime.events.latestFor("orders:5");
    assertEquals(latest?.id, orders.got[0]!.event_id);
    assertEquals(await runtime.events.latestFor("orders:6"), null);
  } finally {
    await bus.sql.unsafe(`drop owned by ${role}; drop role ${role}`);
  }
});

Deno.test("captureChanges() records a bulk update in one statement, also after single rows have made its plan", async () => {
  await using bus = await Bus.open();
  await bus.sql.unsafe(`create table ${bus.schema}.orders (id int primary key, status text)`);
  await captured(bus, { type: { update: "order.changed" } });
  await bus.sql.unsafe(`insert into ${bus.schema}.orders select n, 'new' from generate_series(1, 10000) n`);
  const times = await bus.sql.reserve();
  try {
    for (let id = 1; id <= 8; id++) {
      await times.unsafe(`update ${bus.schema}.orders set status = 'one' where id = ${id}`);
    }
    // A nested loop over two lists of 10,000 would take minutes.
    await times.unsafe("set statement_timeout = '20s'");
    await times.unsafe(`update ${bus.schema}.orders set status = 'all'`);
    await times.unsafe("reset statement_timeout");
  } finally {
    times.release();
  }
  const [row] = await bus.sql.unsafe(
    `select count(*)::int as events, count(distinct xmin::text)::int as writers from ${bus.schema}.outbox`,
  );
  assertEquals({ ...row }, { events: 10_008, writers: 9 });
});

Deno.test("captureChanges() refuses what can't be captured", () => {
  const options = { table: "orders", key: ["id"], columns: ["status"], type: "order.changed" };
  const refused: readonly [Partial<Record<keyof CaptureOptions, unknown>>, string][] = [
    [{ table: "" }, "table"],
    [{ key: [] }, "key"],
    [{ columns: undefined }, "columns"],
    [{ type: {} }, "type"],
    [{ type: { truncate: "order.gone" } }, "truncate"],
    [{ type: { insert: "" } }, "type.insert"],
    [{ columns: ["status", "status"] }, "each name once"],
    [{ data: [] }, "data"],
    [{ subject: "" }, "subject"],
    [{ subject: 5 }, "subject"],
    [{ owner: " " }, "owner"],
    [{ schema: "" }, "schema"],
    [{ schema: "a$capture$b" }, "schema"],
    [{ table: "x".repeat(64) }, "table"],
    [{ tableSchema: "{channel outbox}" }, "tableSchema"],
    [{ columns: ["a\0"] }, "columns"],
    [{ type: "no type" }, "type.insert"],
    [{ data: "'$capture$'" }, "data"],
  ];
  for (const [change, message] of refused) {
    assertThrows(
      () => captureChanges({ ...options, ...change } as CaptureOptions),
      InvalidOptionError,
      message,
    );
  }
  assertThrows(
    () => captureChanges({ ...options, column: [] } as CaptureOptions),
    InvalidOptionError,
    "column",
  );
  const long = captureChanges({ ...options, table: "é".repeat(31) }).up;
  for (const [, name] of long.matchAll(/create trigger "([^"]+)"/g)) {
    assert(new TextEncoder().encode(name!).length <= 63, name);
  }
});
