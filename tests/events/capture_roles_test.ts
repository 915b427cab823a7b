import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { captureChanges, type CaptureOptions, createLog } from "../../mod.ts";
import { TestRole } from "../support/test_role.ts";
import { Bus, keeping } from "./support/bus.ts";

function capture(bus: Bus, options: Partial<CaptureOptions> = {}): string {
  return captureChanges({
    table: "orders",
    tableSchema: `${bus.schema}_app`,
    key: ["id"],
    columns: ["status"],
    type: "order.changed",
    schema: bus.schema,
    ...options,
  }).up;
}

/** A bus with a table of an application in a schema of its own, which is captured. */
async function opened(
  options: Partial<CaptureOptions> = {},
  columns = "id varchar primary key, status varchar",
) {
  const bus = await Bus.open();
  const app = `${bus.schema}_app`;
  await bus.sql.unsafe(`create schema ${app}; create table ${app}.orders (${columns})`);
  await bus.sql.unsafe(capture(bus, options));
  return {
    bus,
    app,
    [Symbol.asyncDispose]: async () => {
      await bus.sql.unsafe(`drop schema ${app} cascade`);
      await bus[Symbol.asyncDispose]();
    },
  };
}

async function functionsOf(bus: Bus): Promise<string[]> {
  const rows = await bus.sql.unsafe(
    `select oid::regprocedure::text as name from pg_proc
    where pronamespace = '${bus.schema}'::regnamespace and prosecdef and proname like 'capture\\_%' order by 1`,
  );
  return rows.map((row) => String(row.name));
}

const DENIED = /permission denied for function/;

Deno.test("a role with USAGE on Millrace's schema can't attach a capture's function to a table of its own", async () => {
  await using open = await opened();
  const { bus } = open;
  await using stranger = await TestRole.make(bus.sql, "stranger");
  await bus.sql.unsafe(`grant usage on schema ${bus.schema} to ${stranger.name}`);
  const functions = await functionsOf(bus);
  assertEquals(functions.length, 3);
  // Also with a type of its own whose cast to json would run its code.
  await bus.sql.unsafe(`create schema ${stranger.name} authorization ${stranger.name}`);
  await stranger.sql.unsafe(`
    create type ${stranger.name}.bait as enum ('a');
    create function ${stranger.name}.spring(${stranger.name}.bait) returns json language plpgsql
      as 'begin raise exception ''ran as %'', current_user; end';
    create cast (${stranger.name}.bait as json) with function ${stranger.name}.spring(${stranger.name}.bait);
    create temp table forged (id ${stranger.name}.bait, status text);
  `);
  for (const name of functions) {
    const attach = `create trigger forge after insert on forged referencing new table as new_rows
      for each statement execute function ${name}`;
    const error = await assertRejects(() => stranger.sql.unsafe(attach));
    assert(DENIED.test(String(error)), String(error));
  }
  await stranger.sql.unsafe("insert into forged values ('a', 'forged')");
  assertEquals(await bus.sql.unsafe(`select from ${bus.schema}.outbox`).then((rows) => rows.length), 0);
});

Deno.test("rights that default privileges give others on a capture's functions are taken away by up", async () => {
  await using open = await opened();
  const { bus } = open;
  await using stranger = await TestRole.make(bus.sql, "stranger");
  const change = (words: string) =>
    bus.sql.unsafe(`alter default privileges in schema ${bus.schema} ${words} ${stranger.name}`);
  await change("grant execute on functions to");
  try {
    await bus.sql.unsafe(capture(bus));
    for (const name of await functionsOf(bus)) {
      const [row] = await bus.sql`select has_function_privilege(${stranger.name}, ${name}, 'execute') as can`;
      assertEquals(row!.can, false, name);
    }
  } finally {
    await change("revoke execute on functions from");
  }
});

Deno.test("what a role creates in the captured table's schema is not found by the capture", async () => {
  await using open = await opened();
  const { bus, app } = open;
  await using stranger = await TestRole.make(bus.sql, "stranger");
  await bus.sql.unsafe(`grant usage, create on schema ${app} to ${stranger.name}`);
  for (const [left, right] of [["varchar", "varchar"], ["text", "text"], ["text", "varchar"]]) {
    await stranger.sql.unsafe(`
      create function ${app}.spring(${left}, ${right}) returns boolean language plpgsql
        as 'begin raise exception ''ran as %'', current_user; end';
      create operator ${app}.= (function = ${app}.spring, leftarg = ${left}, rightarg = ${right});
      create operator ${app}.|| (function = ${app}.spring, leftarg = ${left}, rightarg = ${right});
    `);
  }
  await stranger.sql.unsafe(`
    create function ${app}.concat_ws(text, varchar) returns text language plpgsql
      as 'begin raise exception ''ran as %'', current_user; end';
    create function ${app}.jsonb_build_object(text, varchar, text, varchar) returns jsonb language plpgsql
      as 'begin raise exception ''ran as %'', current_user; end';
  `);
  await using writer = await TestRole.make(bus.sql, "writer");
  await bus.sql.unsafe(`grant usage on schema ${app} to ${writer.name};
    grant select, insert, update, delete on ${app}.orders to ${writer.name}`);
  await writer.sql.unsafe(`set search_path = ${app}, public`);
  await writer.sql.unsafe("insert into orders values ('1', 'new')");
  await writer.sql.unsafe("update orders set status = 'paid' where id operator(pg_catalog.=) '1'");
  await writer.sql.unsafe("delete from orders where id operator(pg_catalog.=) '1'");
  const rows = await bus.sql.unsafe(
    `select data->>'status' as status from ${bus.schema}.outbox order by seq`,
  );
  assertEquals(rows.map((row) => row.status), ["new", "paid", "paid"]);
});

Deno.test("up refuses a searchPath in which others may create, and takes one in which nobody else may", async () => {
  await using open = await opened();
  const { bus, app } = open;
  await bus.sql.unsafe(
    `create function ${app}.name_of(varchar) returns text language sql as $$ select 'order ' || $1 $$`,
  );
  const options = { subject: "name_of(changed.id)", searchPath: [app] };
  await assertRejects(() => bus.sql.unsafe(capture(bus, { subject: options.subject })), Error, "name_of");
  await bus.sql.unsafe(capture(bus, options));
  await bus.sql.unsafe(`insert into ${app}.orders values ('1', 'new')`);
  const [event] = await bus.sql.unsafe(`select subject from ${bus.schema}.outbox`);
  assertEquals(event!.subject, "order 1");
  await using stranger = await TestRole.make(bus.sql, "stranger");
  const group = `group_${stranger.name}`;
  await bus.sql.unsafe(`create role ${group} nologin; grant ${group} to ${stranger.name} with inherit false`);
  try {
    for (const grantee of [stranger.name, group, "public"]) {
      await bus.sql.unsafe(`grant create on schema ${app} to ${grantee}`);
      const error = await assertRejects(() => bus.sql.unsafe(capture(bus, options)));
      assertStringIncludes(String(error), `may create in the schema ${app} of searchPath`);
      await bus.sql.unsafe(`revoke create on schema ${app} from ${grantee}`);
    }
    await bus.sql.unsafe(capture(bus, options));
  } finally {
    await bus.sql.unsafe(`drop role ${group}`);
  }
});

Deno.test("up refuses a table, and a column's type, of a role that would gain its caller's rights", async () => {
  await using open = await opened();
  const { bus, app } = open;
  await using owner = await TestRole.make(bus.sql, "owner");
  await bus.sql.unsafe(`
    grant usage, create on schema ${app} to ${owner.name};
    grant usage, create on schema ${bus.schema} to ${owner.name};
    grant insert on ${bus.schema}.outbox to ${owner.name};
    grant select on ${bus.schema}.relay to ${owner.name}`);
  await owner.sql.unsafe(`
    create type ${app}.mood as enum ('fine');
    create table ${app}.own (id int primary key, status text)`);
  const own = capture(bus, { table: "own" });
  const error = await assertRejects(() => bus.sql.unsafe(own));
  assertStringIncludes(String(error), `the table belongs to ${owner.name}`);
  await bus.sql.unsafe(`create table ${app}.moody (id int primary key, status ${app}.mood)`);
  const typed = await assertRejects(() => bus.sql.unsafe(capture(bus, { table: "moody" })));
  assertStringIncludes(
    String(typed),
    `the type of its column status is, or is made of, one of ${owner.name}`,
  );
  // Its owner makes it: the function then has the owner's rights, and no others.
  await owner.sql.unsafe(own);
  await owner.sql.unsafe(`insert into ${app}.own values (1, 'new')`);
  assertEquals((await bus.sql.unsafe(`select from ${bus.schema}.outbox`)).length, 1);
});

Deno.test("up refuses a column of a type that is made of such a role's type, however deep", async () => {
  await using open = await opened();
  const { bus, app } = open;
  await using owner = await TestRole.make(bus.sql, "owner");
  await bus.sql.unsafe(`grant usage, create on schema ${app} to ${owner.name}`);
  await owner.sql.unsafe(`create type ${app}.mood as enum ('fine')`);
  await bus.sql.unsafe(`
    create domain ${app}.alias as ${app}.mood;
    create domain ${app}.alias_of_alias as ${app}.alias;
    create type ${app}.pair as (a int, b ${app}.mood[]);
    create table ${app}.other (a ${app}.pair)`);
  const made = ["alias[]", "alias_of_alias", "pair", "pair[]", "other"];
  for (const [at, type] of made.entries()) {
    await bus.sql.unsafe(`create table ${app}.deep_${at} (id int primary key, status ${app}.${type})`);
    const error = await assertRejects(
      () => bus.sql.unsafe(capture(bus, { table: `deep_${at}` })),
      Error,
      undefined,
      type,
    );
    assertStringIncludes(
      String(error),
      `the type of its column status is, or is made of, one of ${owner.name}`,
    );
  }
  // One of the caller's own is taken.
  await bus.sql.unsafe(`
    create type ${app}.own_pair as (a int, b text[]);
    create table ${app}.plain (id int primary key, status ${app}.own_pair)`);
  await bus.sql.unsafe(capture(bus, { table: "plain" }));
});

Deno.test("a capture that was made by an older release, or is open to others, is named at the start", async () => {
  await using open = await opened();
  const { bus, app } = open;
  const lines: string[] = [];
  const log = createLog({ write: (line) => void lines.push(line) });
  const start = async () => {
    lines.length = 0;
    const runtime = await bus.started([keeping("orders").subscription], { log });
    await runtime.stop();
    return lines.map((line) => JSON.parse(line)).filter((line) => /^a capture/.test(line.event));
  };
  assertEquals(await start(), []);
  const [first, second] = await functionsOf(bus);
  await bus.sql.unsafe(`grant execute on function ${first} to public; comment on function ${second} is null`);
  const told = await start();
  assertEquals(told.map((line) => [line.level, line.function, line.tables]), [
    ["warn", first, `${app}.orders`],
    ["warn", second, `${app}.orders`],
  ]);
  assertStringIncludes(told[0].run, `captureChanges({ tableSchema: "${app}", table: "orders"`);
  await bus.sql.unsafe(capture(bus));
  assertEquals(await start(), []);
});

Deno.test("Millrace's functions find nothing that others put on their caller's search_path", async () => {
  await using bus = await Bus.open();
  await using stranger = await TestRole.make(bus.sql, "stranger");
  const own = stranger.name;
  await bus.sql.unsafe(`create schema ${own} authorization ${own}; grant usage on schema ${own} to public`);
  const spring = "language plpgsql as 'begin raise exception ''ran as %'', current_user; end'";
  // Each fits better than what PostgreSQL has of its own, where both are looked at.
  await stranger.sql.unsafe(`
    create function ${own}.to_json(text) returns json ${spring};
    create function ${own}.greatest_of(numeric, int) returns numeric ${spring};
    create operator ${own}.* (function = ${own}.greatest_of, leftarg = numeric, rightarg = int);
    create function ${own}.less(timestamptz, text) returns boolean ${spring};
    create function ${own}.joined(text, bigint) returns text ${spring};
    create operator ${own}.|| (function = ${own}.joined, leftarg = text, rightarg = bigint);
    create function ${own}.jsonb_build_object(text, text, text, text, text, text, text, jsonb, text, text)
      returns jsonb ${spring};
    create function ${own}.jsonb_build_array(jsonb) returns jsonb ${spring};
  `);
  const runtime = await bus.started([keeping("orders").subscription]);
  await bus.sql.begin(async (tx) => {
    await tx.unsafe(`set local search_path = ${own}, public`);
    await tx.unsafe(`select ${bus.schema}.enqueue('orders', '{"a": 1}', unique_by_args => true)`);
    await tx.unsafe(`insert into ${bus.schema}.outbox (type, subject) values ('order.placed', 'order:1')`);
    await tx.unsafe(`select ${bus.schema}.wake_relay()`);
    await tx.unsafe(`insert into ${bus.schema}.job_history
      (id, scheduled_at, enqueued_at, finished_at, attempt, max_attempts, run, snoozes, priority, alone, kind, queue,
        state, args)
      values (9000, now(), now(), now(), 1, 1, 1, 0, 2, false, 'periodic:outbox.retention', 'default', 'completed', '{}')`);
  });
  await runtime.stop();
});
