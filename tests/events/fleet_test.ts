import { assertEquals } from "@std/assert";
import { channelName } from "../../adapters/postgres/sql/identifiers.ts";
import { eventually } from "../conformance/eventually.ts";
import { Program } from "../programs/program.ts";
import { Bus } from "./support/bus.ts";

const DEADLINE_MS = 60_000;

async function seed(bus: Bus, events: number): Promise<void> {
  await bus.sql.unsafe(
    `insert into ${bus.schema}.outbox (type, subject, data)
     select 'order.placed', 'order:' || n, jsonb_build_object('order', n) from generate_series(1, $1::int) as n`,
    [events],
  );
}

async function counts(
  bus: Bus,
): Promise<{ jobs: number; subjects: number; waiting: number; agree: boolean }> {
  const [row] = await bus.sql.unsafe(`
    select
      (select count(*)::int from ${bus.schema}.job where kind = 'counted') as jobs,
      (select count(distinct args ->> 'event_id')::int from ${bus.schema}.job where kind = 'counted') as subjects,
      (select count(*)::int from ${bus.schema}.outbox where fanned_out_at is null) as waiting,
      not exists (
        select from ${bus.schema}.job join ${bus.schema}.outbox on outbox.id = (job.args ->> 'event_id')::uuid
        where outbox.fanout ->> 'counted' is distinct from job.id::text
      ) as agree`);
  return row as unknown as { jobs: number; subjects: number; waiting: number; agree: boolean };
}

async function fannedOut(bus: Bus): Promise<void> {
  const waiting = `select from ${bus.schema}.outbox where fanned_out_at is null limit 1`;
  await eventually(async () => (await bus.sql.unsafe(waiting)).length === 0, DEADLINE_MS);
}

async function withFleet(
  options: { processes: number; relays: number },
  body: (bus: Bus, fleet: Program[]) => Promise<void>,
): Promise<void> {
  await using bus = await Bus.open();
  const config = JSON.stringify({ url: bus.url, schema: bus.schema, relays: options.relays });
  const fleet = Array.from(
    { length: options.processes },
    () => new Program("../tests/events/programs/relays", [config]),
  );
  try {
    await body(bus, fleet);
  } finally {
    for (const program of fleet) await program[Symbol.asyncDispose]();
  }
}

Deno.test("eight relays in four processes fan 20,000 events out once each", async () => {
  await withFleet({ processes: 4, relays: 2 }, async (bus, fleet) => {
    await seed(bus, 10_000);
    await Promise.all(fleet.map((program) => program.event("started")));
    await seed(bus, 10_000);
    await bus.sql.notify(channelName(bus.schema, "outbox"), "");
    await fannedOut(bus);
    assertEquals(await counts(bus), { jobs: 20_000, subjects: 20_000, waiting: 0, agree: true });
  });
});

Deno.test("a relay that is killed in the middle of a batch loses nothing and repeats nothing", async () => {
  await withFleet({ processes: 2, relays: 1 }, async (bus, fleet) => {
    // It holds every batch for a while between its jobs and its marks.
    await bus.sql.unsafe(`
      create function ${bus.schema}.hold() returns trigger language plpgsql as
        $$ begin perform pg_sleep(0.3); return null; end $$;
      create trigger hold after insert on ${bus.schema}.job for each statement execute function ${bus.schema}.hold()`);
    await seed(bus, 600);
    await eventually(async () => {
      const rows = await bus.sql`
        select from pg_stat_activity where wait_event = 'PgSleep' and query like ${`%${bus.schema}%`}`;
      return rows.length > 0;
    }, DEADLINE_MS);
    fleet[0]!.signal("SIGKILL");
    await fannedOut(bus);
    assertEquals(await counts(bus), { jobs: 600, subjects: 600, waiting: 0, agree: true });
  });
});
