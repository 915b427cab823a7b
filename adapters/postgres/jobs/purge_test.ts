import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { gate, newJob, until, withStore } from "../fixture_test.ts";
import type { PostgresStore } from "../postgres_store.ts";

const ALL = { completedMs: 0, othersMs: 0, limit: 1000 };

/** Purges until a condition holds: what lies behind is found by a look, which comes now and then. */
async function purgeUntil(store: PostgresStore, left: readonly string[]): Promise<void> {
  await until(`only ${left.join(", ")} are left`, async () => {
    // What can't be deleted is told of by an error, once all else is deleted.
    await store.purge(ALL).catch((error) => assertStringIncludes(error.message, "can't be deleted"));
    const rows = await store.database.query("select id::text from {schema}.job_history order by id");
    return JSON.stringify(rows.map((row) => row.id)) === JSON.stringify(left);
  });
}

async function ended(store: PostgresStore, count: number): Promise<string[]> {
  const jobs = await store.insert(Array.from({ length: count }, () => newJob()));
  for (const { id } of jobs) await store.cancel(id);
  return jobs.map(({ id }) => id);
}

Deno.test("a purge comes back for what was held or committed late, and skips what is held", () =>
  withStore(async ({ store }) => {
    const ids = await ended(store, 5);
    const [held, done] = [gate(), gate()];
    const holding = store.database.transaction(async (tx) => {
      await tx.unsafe("select from {schema}.job_history where id = $1::text::bigint for update", [ids[1]!]);
      held.open();
      await done.opened;
    });
    await held.opened;
    await purgeUntil(store, [ids[1]!]);
    done.open();
    await holding;
    await purgeUntil(store, []);
  }));

Deno.test("a job that can't be deleted is set aside with a line in the log, and the others are deleted", async () => {
  const said: unknown[] = [];
  const log = {
    debug: () => {},
    info: () => {},
    warn: () => {},
    error: (_event: string, fields?: Record<string, unknown>) => void said.push(fields?.jobId),
  };
  await withStore(async ({ store }) => {
    const ids = await ended(store, 20);
    await store.database.query(`
      create function {schema}.keep() returns trigger language plpgsql as $$
      begin raise exception 'this one stays'; end $$`);
    await store.database.query(`
      create trigger keep before delete on {schema}.job_history for each row when (old.id = ${ids[7]})
      execute function {schema}.keep()`);
    await purgeUntil(store, [ids[7]!]);
    await assertRejects(() => store.purge(ALL), Error, `job ${ids[7]} among them: this one stays`);
    assertEquals(said, [ids[7]]);
  }, { log });
});

Deno.test("refused jobs at the front, more than a step of them, keep none behind them, and are told of until they are gone", () =>
  withStore(async ({ store }) => {
    const ids = await ended(store, 24);
    const stay = ids.slice(0, 20);
    // All of one instant, as after one statement of a person: a place in the scan is more than a time.
    await store.database.query("update {schema}.job_history set finished_at = now() - interval '1 hour'");
    await store.database.query("create table {schema}.note (job_id bigint references {schema}.job_history)");
    await store.database.query("insert into {schema}.note select unnest($1::text::bigint[])", [
      `{${stay.join(",")}}`,
    ]);
    const step = { ...ALL, limit: 18 };
    // In the same step as 20 others, and behind more than a step.
    assertEquals(await store.purge(ALL), 4);
    await ended(store, 4);
    assertEquals(await store.purge(step), 4);
    const refusal = () => assertRejects(() => store.purge(step), Error, "can't be deleted");
    await refusal();
    // What else ends meanwhile is deleted, with and without a look from the start, and the fault stays.
    for (const until = performance.now() + 1500; performance.now() < until;) {
      await ended(store, 2);
      assertEquals(await store.purge(step), 2);
      await refusal();
    }
    await store.database.query("drop table {schema}.note");
    await store.database.query("delete from {schema}.job_history where id <= $1::text::bigint", [
      stay.at(-1)!,
    ]);
    // The next look comes the later the longer the first one took.
    const deadline = performance.now() + 60_000;
    while (await store.purge(step).then(() => false, () => true)) assert(performance.now() < deadline);
  }));

Deno.test("a step whose jobs are all held is no end of the purge", () =>
  withStore(async ({ store }) => {
    const ids = await ended(store, 30);
    const [held, done] = [gate(), gate()];
    const holding = store.database.transaction(async (tx) => {
      await tx.unsafe("select from {schema}.job_history where id <= $1::text::bigint for update", [ids[19]!]);
      held.open();
      await done.opened;
    });
    await held.opened;
    assertEquals(await store.purge({ ...ALL, limit: 10 }), 10);
    done.open();
    await holding;
    await purgeUntil(store, []);
  }));

Deno.test("a job whose unique key somebody holds is left for later, with its key", () =>
  withStore(async ({ store, claim, finish }) => {
    const [first] = await store.insert([newJob({ unique: true, args: '{"n": 1}' })]);
    await store.insert([newJob({ unique: true, args: '{"n": 2}' })]);
    await finish(await claim());
    const [held, done] = [gate(), gate()];
    const holding = store.database.transaction(async (tx) => {
      await tx.unsafe("select from {schema}.job_key where job_id = $1::text::bigint for update", [first!.id]);
      held.open();
      await done.opened;
    });
    await held.opened;
    await purgeUntil(store, [first!.id]);
    done.open();
    await holding;
    await purgeUntil(store, []);
    assertEquals((await store.database.query("select from {schema}.job_key")).length, 0);
  }));
