import { assertEquals, assertGreaterOrEqual } from "@std/assert";
import { eventually } from "../conformance/eventually.ts";
import type { Program } from "../programs/program.ts";
import type { Settings } from "../../runtime/settings.ts";
import { testDatabaseUrl } from "../support/test_database.ts";
import { Site } from "./support/site.ts";
import { TcpProxy } from "./support/tcp_proxy.ts";

const PERIOD_MS = 200;

/** Two workers with the same periodic, the leader first. */
async function twoLeaders(
  site: Site,
  settings: Partial<Settings> = {},
  leaderUrl?: string,
): Promise<[Program, Program]> {
  const config = { tick: { everyMs: PERIOD_MS, journal: site.journal.path }, settings };
  await logTicks(site);
  const leader = await site.working({ ...config, ...(leaderUrl === undefined ? {} : { url: leaderUrl }) });
  await leader.event("leading");
  return [leader, await site.working(config)];
}

/** Waits for so many runs after now. */
async function runs(site: Site, count: number): Promise<void> {
  const before = site.journal.starts().length;
  await eventually(() => site.journal.starts().length >= before + count, 20_000);
}

/** Writes down each tick as it is taken, whatever becomes of its job. */
async function logTicks({ sql, schema }: Site): Promise<void> {
  await sql.unsafe(`
    create table ${schema}.taken (tick timestamptz, job_id bigint);
    create function ${schema}.note_taken() returns trigger language plpgsql as $$
    begin
      insert into ${schema}.taken values (new.last_tick, new.job_id);
      return null;
    end $$;
    create trigger note_taken after update of job_id on ${schema}.periodic
      for each row execute function ${schema}.note_taken()`);
}

/** No slot has two jobs, no job ran twice, and what ran was a slot's. */
async function assertOnePerSlot(site: Site): Promise<void> {
  const starts = site.journal.starts().map(({ id }) => id);
  assertEquals(new Set(starts).size, starts.length, "a job ran twice");
  const taken = await site.sql.unsafe(
    `select extract(epoch from tick)::text as tick, job_id from ${site.schema}.taken`,
  );
  assertEquals(new Set(taken.map(({ tick }) => tick)).size, taken.length, "a slot was taken twice");
  const jobs = new Set(taken.map(({ job_id }) => String(job_id)));
  assertEquals(starts.filter((id) => !jobs.has(id)), [], "a job of no slot ran");
}

Deno.test("a leader frozen past its lease: the other leads, and the thawed one takes no slot again", async () => {
  await using site = await Site.open();
  const [leader, other] = await twoLeaders(site);
  await runs(site, 3);
  leader.signal("SIGSTOP");
  await other.event("leading");
  await runs(site, 4);
  leader.signal("SIGCONT");
  await runs(site, 10);
  await assertOnePerSlot(site);
  assertEquals(other.log.some((line) => line.event === "no longer leading"), false);
});

Deno.test("a leader whose connections are cut for longer than its lease: one job per slot all the while", async () => {
  await using site = await Site.open();
  await using proxy = new TcpProxy(await testDatabaseUrl());
  const [leader, other] = await twoLeaders(site, {}, proxy.url);
  await runs(site, 3);
  proxy.refuse();
  await other.event("leading");
  await runs(site, 3);
  proxy.restore();
  await leader.event("listening again");
  await runs(site, 10);
  await assertOnePerSlot(site);
});

Deno.test("two workers of one host and one name are two leaders, each known by its own id", async () => {
  await using site = await Site.open();
  const [leader, other] = await twoLeaders(site);
  // The name is for people alone. Here both get the same.
  await site.sql.unsafe(`update ${site.schema}.worker set name = 'twin:1'`);
  await runs(site, 5);
  leader.signal("SIGTERM");
  await other.event("leading");
  await runs(site, 5);
  await assertOnePerSlot(site);
  const leading = await site.sql.unsafe(`select owner from ${site.schema}.leader`);
  assertEquals(leading.map((row) => row.owner), [(await other.event("started")).owner]);
});

Deno.test("retention that deletes at once gives no slot a second job", async () => {
  await using site = await Site.open();
  await twoLeaders(site, { retentionCompletedMs: 0, purgeMs: 50 });
  await runs(site, 10);
  await eventually(async () =>
    (await site.runtime.list({ kind: "periodic:tick", state: "completed" })).length <= 1
  );
  await assertOnePerSlot(site);
  assertGreaterOrEqual(site.journal.starts().length, 10);
});
