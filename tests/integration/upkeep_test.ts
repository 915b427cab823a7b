import { assert, assertEquals } from "@std/assert";
import { type EnqueueOptions, type PostgresRuntime, silentLog } from "../../mod.ts";
import type { LogFields } from "../../ports/log.ts";
import type { UpkeepOverview } from "../../ports/upkeep.ts";
import { eventually } from "../conformance/eventually.ts";
import { Bus } from "../events/support/bus.ts";
import { SETTINGS } from "./programs/composition.ts";

async function taskOf(runtime: PostgresRuntime, name: string): Promise<UpkeepOverview> {
  const found = (await runtime.overview()).upkeep.find(({ task }) => task === name);
  assert(found !== undefined, `no task ${name}`);
  return found;
}

/** From now on deletes from a table are refused. */
async function refuseDeletes({ sql, schema }: Bus, table: string, when = ""): Promise<void> {
  await sql.unsafe(`
    create or replace function ${schema}.refuse() returns trigger language plpgsql as $$
    begin raise exception 'nothing is deleted here'; end $$;
    create trigger refuse before delete on ${schema}.${table} for each row ${when}
    execute function ${schema}.refuse()`);
}

/** Purges every job as soon as it has ended. */
const PURGING = { ...SETTINGS, purgeMs: 50, retentionOthersMs: 0 };
const REGISTRARS = [{
  kinds: [{ name: "plain", queue: "default", maxAttempts: 1, timeout: 5000, handler: () => {} }],
}];

/** Jobs that a purge would delete. */
async function ended(runtime: PostgresRuntime, count = 3, options: EnqueueOptions = {}): Promise<void> {
  const runAt = new Date(Date.now() + 60_000);
  for (let n = 0; n < count; n++) {
    await runtime.cancel(await runtime.enqueue("plain", null, { ...options, runAt }));
  }
}

Deno.test("a purge that is refused for ever stands in the overview of every process and in the alerts, until it works", async () => {
  await using bus = await Bus.open();
  await refuseDeletes(bus, "job_history");
  const said: string[] = [];
  const log = { ...silentLog, warn: (event: string) => void said.push(event) };
  const options = { settings: PURGING, events: { alertUpkeepMs: 0 }, registrars: REGISTRARS };
  const looking = bus.runtime([], options);
  await ended(looking);
  const working = await bus.started([], { ...options, log });
  const failing = await eventually(async () => {
    const task = await taskOf(looking, "purge jobs");
    assert(task.failuresInARow > 0);
    return task;
  }, 15_000);
  assert(failing.lastError!.includes("nothing is deleted here"), failing.lastError!);
  assert(failing.failingSince !== null && failing.lastErrorIn !== null && failing.failingForMs > 0);
  const [alert] = await looking.events.alerts();
  assertEquals(alert!.name, "upkeep");
  assert(
    alert!.message.includes("purge jobs") && alert!.message.includes("nothing is deleted here"),
    alert!.message,
  );
  assertEquals(said.filter((event) => event.includes("not purged")).length, 1);

  await bus.sql.unsafe(`drop trigger refuse on ${bus.schema}.job_history`);
  await eventually(async () => (await taskOf(looking, "purge jobs")).failuresInARow === 0, 15_000);
  assertEquals(await looking.events.alerts(), []);
  assertEquals((await taskOf(working, "purge jobs")).failingSince, null);
});

Deno.test("a purge that can't delete some keeps failing while it deletes the others", async () => {
  await using bus = await Bus.open();
  await refuseDeletes(bus, "job_history", "when (old.priority = 3)");
  const said: string[] = [];
  const log = { ...silentLog, info: (event: string) => void said.push(event) };
  const runtime = await bus.started([], { settings: PURGING, registrars: REGISTRARS, log });
  const left = async () => (await runtime.list()).length;
  await ended(runtime, 20, { priority: 3 });
  const failures = async () => (await taskOf(runtime, "purge jobs")).failuresInARow;
  await eventually(async () => await failures() > 0, 15_000);
  for (let round = 0; round < 5; round++) {
    await ended(runtime, 3);
    await eventually(async () => await left() === 20, 15_000);
  }
  assert(await failures() > 0);
  assertEquals(said.filter((event) => event === "upkeep works again"), []);
});

Deno.test("a process tells of its own upkeep while nothing can be stored", async () => {
  await using bus = await Bus.open();
  await refuseDeletes(bus, "job_history");
  await bus.sql.unsafe(`
    create trigger refuse before insert or update on ${bus.schema}.upkeep
    for each statement execute function ${bus.schema}.refuse()`);
  const runtime = bus.runtime([], { settings: PURGING, registrars: REGISTRARS });
  await ended(runtime);
  await runtime.start();
  await eventually(async () => (await taskOf(runtime, "purge jobs")).failuresInARow > 3, 15_000);
});

Deno.test("a periodic's row that is held, and one whose tick is no instant, hold up no other periodic and no job", async () => {
  await using bus = await Bus.open();
  const ran: string[] = [];
  const periodics = ["broken", "held", "right"].map((name) => ({
    name,
    every: 200,
    handler: () => void ran.push(name),
  }));
  const said: string[] = [];
  const log = { ...silentLog, warn: (event: string) => void said.push(event) };
  const runtime = bus.runtime([], { registrars: [...REGISTRARS, { periodics }], log });
  // As a program leaves them that stores no schedules.
  await bus.sql.unsafe(`
    insert into ${bus.schema}.periodic (name, last_tick) values ('broken', 'infinity'), ('held', null)`);
  assertEquals((await runtime.periodic())[0]!.lastTickAt, null);
  const holder = await bus.sql.reserve();
  await holder.unsafe(`begin; select from ${bus.schema}.periodic where name = 'held' for update`);
  try {
    await runtime.start();
    const count = (name: string) => ran.filter((each) => each === name).length;
    await eventually(() => count("right") >= 3 && count("broken") >= 3, 15_000);
    const ids = await runtime.enqueueMany(Array.from({ length: 20 }, () => ({ kind: "plain" })));
    for (const id of ids) assertEquals((await runtime.wait(id, 10_000)).done, true);
    assertEquals(count("held"), 0);
    assertEquals(said.filter((event) => event.includes("further ahead")).length, 1);
  } finally {
    await holder.unsafe("rollback");
    holder.release();
  }
  await eventually(() => ran.includes("held"), 15_000);
});

Deno.test("a periodic whose job is refused is named, and the others run", async () => {
  await using bus = await Bus.open();
  const ran: string[] = [];
  const periodics = ["cursed", "right"].map((name) => ({
    name,
    every: 200,
    handler: () => void ran.push(name),
  }));
  await bus.sql.unsafe(`
    create function ${bus.schema}.refuse() returns trigger language plpgsql as $$
    begin raise exception 'not this one'; end $$;
    create trigger refuse before insert on ${bus.schema}.job for each row when (new.kind = 'periodic:cursed')
    execute function ${bus.schema}.refuse()`);
  const said: Record<string, unknown>[] = [];
  const log = {
    ...silentLog,
    error: (event: string, fields?: LogFields) => {
      if (event.includes("tick of a periodic")) said.push({ ...fields });
    },
  };
  const runtime = await bus.started([], { registrars: [{ periodics }], log });
  await eventually(() => ran.length >= 3, 15_000);
  const task = await eventually(async () => {
    const found = await taskOf(runtime, "take ticks");
    return found.failuresInARow > 0 ? found : undefined;
  }, 15_000);
  assert(task.lastError!.startsWith("cursed: "), task.lastError!);
  assert(!ran.includes("cursed"));
  // Once, though it was tried several times, with a pause that grows.
  assertEquals(said.length, 1);
  assertEquals([said[0]!.periodic, said[0]!.sqlState, said[0]!.refused], ["cursed", "P0001", 1]);
  await bus.sql.unsafe(`drop trigger refuse on ${bus.schema}.job`);
  await eventually(() => ran.includes("cursed"), 15_000);
  await eventually(async () => (await taskOf(runtime, "take ticks")).failuresInARow === 0, 15_000);
});

Deno.test("claims that fail for ever stand in the overview, by their queue", async () => {
  await using bus = await Bus.open();
  await bus.sql.unsafe(`
    create function ${bus.schema}.refuse() returns trigger language plpgsql as $$
    begin raise exception 'no claims'; end $$;
    create trigger refuse before update on ${bus.schema}.job for each statement execute function ${bus.schema}.refuse()`);
  const runtime = await bus.started([], { registrars: REGISTRARS });
  await runtime.enqueue("plain");
  const task = await eventually(async () => {
    const found = await taskOf(runtime, "claim from default");
    return found.failuresInARow > 1 ? found : undefined;
  }, 15_000);
  assert(task.lastError!.includes("no claims"), task.lastError!);
  assertEquals((await taskOf(runtime, "renew the heartbeat")).failuresInARow, 0);
});
