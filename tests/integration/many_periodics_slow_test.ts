import { assert, assertEquals, assertLess } from "@std/assert";

import { createRuntime } from "../../mod.ts";
import type { Periodic } from "../../ports/kind.ts";
import { silentLog } from "../../shared/log.ts";
import { eventually } from "../conformance/eventually.ts";
import { testDatabaseUrl, uniqueSchema } from "../support/test_database.ts";
import { connectPostgres } from "./support/connect.ts";

const COUNT = 10_000;
const ENQUEUED_WITHIN_MS = 5000;
const ZONES = ["UTC", "Europe/Vienna", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"];

const PERIODICS: readonly Periodic[] = Array.from({ length: COUNT }, (_, n): Periodic => {
  const common = { name: `p${n}`, kind: "tick", args: { n } };
  return n % 2 === 0
    ? { ...common, every: 3_600_000 }
    : { ...common, cron: `${n % 60} 3 * * *`, timezone: ZONES[n % ZONES.length]! };
});

Deno.test("10,000 periodics cost nothing between ticks, and when all are due at once each is enqueued once, within 5 s", async () => {
  await using stack = new AsyncDisposableStack();
  const url = await testDatabaseUrl();
  const sql = connectPostgres(url, 2);
  stack.defer(() => sql.end({ timeout: 2 }));
  const schema = uniqueSchema();
  stack.defer(async () => void await sql.unsafe(`drop schema if exists ${schema} cascade`));
  const runtime = createRuntime({
    url,
    schema,
    registrars: [{
      kinds: [{ name: "tick", queue: "ticks", maxAttempts: 3, timeout: 1000, handler: () => {} }],
      periodics: PERIODICS,
    }],
    queues: [{ name: "ticks", concurrency: 1 }],
    work: ["maintenance"],
    log: silentLog,
  });
  stack.defer(() => runtime.stop());
  await runtime.migrate();
  await runtime.start();
  const one = async (text: string) => (await sql.unsafe(text))[0]!;
  await eventually(async () => {
    const { planned } = await one(`
      select count(*)::int as planned from ${schema}.periodic where next_tick is not null`);
    return planned === COUNT;
  }, 60_000);
  await sql.unsafe(`analyze ${schema}.periodic`);

  // What is read of the table within some looks.
  const read = async () => {
    const { scans, rows } = await one(`
      select seq_scan::int as scans, (seq_tup_read + idx_tup_fetch)::int as rows
      from pg_stat_user_tables where schemaname = '${schema}' and relname = 'periodic'`);
    return { scans, rows };
  };
  await eventually(async () => {
    const before = await read();
    await new Promise((resolve) => setTimeout(resolve, 5000));
    const after = await read();
    return after.scans === before.scans && after.rows - before.rows < 50;
  }, 60_000);

  const { due } = await one(`
    with due as (select date_trunc('second', clock_timestamp()) + interval '3 s' as at), changed as (
      update ${schema}.periodic set next_tick = at from due
    )
    select extract(epoch from at)::float8 as due from due`);
  const jobs = () =>
    one(`
      select
        count(*)::int as made, count(distinct periodic)::int as periodics, count(distinct args)::int as args,
        extract(epoch from min(enqueued_at))::float8 as first, extract(epoch from max(enqueued_at))::float8 as last
      from ${schema}.job`);
  const made = await eventually(async () => {
    const found = await jobs();
    return found.made >= COUNT && found;
  }, 60_000);
  const [firstMs, lastMs] = [(made.first - due) * 1000, (made.last - due) * 1000];
  assert(firstMs >= 0, `the first was enqueued ${firstMs} ms after the tick`);
  assertLess(lastMs, ENQUEUED_WITHIN_MS);
  await new Promise((resolve) => setTimeout(resolve, 3000));
  const { periodics, args, made: total } = await jobs();
  assertEquals([total, periodics, args], [COUNT, COUNT, COUNT]);
});
