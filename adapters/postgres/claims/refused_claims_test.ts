import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import type { Log, LogFields } from "../../../ports/log.ts";
import { back, freshSchema, newJob, type StoreFixture, until, withStore } from "../fixture_test.ts";

type Claim = StoreFixture["claim"];

/** A trigger of the application's that refuses to change some jobs. */
const REFUSE = `
  create function {schema}.refuse() returns trigger language plpgsql as $$
  begin
    if new.args ? 'poison' then raise exception 'not this one'; end if;
    return new;
  end $$;
  create trigger refuse before update on {schema}.job for each row execute function {schema}.refuse()`;
const ALLOW = "drop trigger refuse on {schema}.job";

const poison = { args: '{"poison":1}' };

/** A log that keeps its errors. */
function errorsOf(): { log: Log; errors: LogFields[] } {
  const errors: LogFields[] = [];
  const ignore = () => {};
  return {
    log: { debug: ignore, info: ignore, warn: ignore, error: (_, f) => void errors.push(f!) },
    errors,
  };
}

/** Claims until so many jobs were claimed; returns their ids. */
async function claimAll(claim: Claim, count: number, limit = 100): Promise<string[]> {
  const ids: string[] = [];
  await until(`${count} are claimed`, async () => {
    ids.push(...(await claim(limit)).map(({ id }) => id));
    return ids.length >= count;
  });
  return ids;
}

Deno.test("a job whose claim is refused stops no other, is named once, and is claimed when its cause is gone", () => {
  const { log, errors } = errorsOf();
  return withStore(async ({ store, claim, finish }) => {
    await store.database.query(REFUSE);
    const [first] = await store.insert([newJob(poison)]);
    const others = await store.insert(Array.from({ length: 20 }, () => newJob()));
    const jobs = await claim(8);
    assertEquals(jobs.map(({ id }) => id), others.slice(0, 8).map(({ id }) => id));
    await finish(jobs);
    assertEquals((await claimAll(claim, 12, 5)).length, 12);
    assertEquals(errors.length, 1);
    const { jobId, kind, queue, sqlState, error, remedy } = errors[0]!;
    assertEquals([jobId, kind, queue, sqlState, error], [first!.id, "k", "q", "P0001", "not this one"]);
    assertMatch(String(remedy), /cancel the job/);
    const fault = store.claimFault("q");
    assertEquals([fault?.message, store.claimFault("q") === fault], [
      `job ${first!.id} (k): not this one`,
      true,
    ]);
    const dueMs = await store.nextDue("q");
    assert(dueMs !== null && dueMs <= 1000);
    assertEquals((await store.get(first!.id))?.state, "pending");
    await store.database.query(ALLOW);
    assertEquals(await claimAll(claim, 1), [first!.id]);
    assertEquals(store.claimFault("q"), null);
    assertEquals(errors.length, 1);
  }, { log });
});

Deno.test("hundreds of refused jobs of all priorities are claimed around, late ones too, and none is looked at again at once", () => {
  const { log, errors } = errorsOf();
  return withStore(async ({ store, claim, finish }) => {
    await store.database.query(REFUSE);
    const jobs = Array.from(
      { length: 300 },
      (_, n) => newJob({ priority: 1 + n % 4, ...(n % 3 === 0 ? {} : poison) }),
    );
    await store.insert(jobs);
    assertEquals(new Set(await claimAll(claim, 100, 50)).size, 100);
    await until("all that are refused are known", async () => {
      await finish(await claim());
      return (store.claimFault("q")?.message ?? "").endsWith("and 190 more");
    });
    // Behind the positions, where a look finds it.
    await store.insert([newJob({ runAt: new Date(Date.now() - 60_000).toISOString() })]);
    assertEquals((await claimAll(claim, 1)).length, 1);
    assert(errors.length <= 5, `${errors.length} lines`);
    // A look finds none of them, or it would ask for a claim at once each time.
    await until("no claim is asked for at once", async () => {
      await claim();
      return await store.nextDue("q") !== 0;
    });
    await store.database.query(ALLOW);
    assertEquals(new Set(await claimAll(claim, 200)).size, 200);
    assertEquals(store.claimFault("q"), null);
  }, { log });
});

Deno.test("a counter at its end, and a CHECK of the application, refuse no claim but their own job's", () =>
  withStore(async ({ store, claim }) => {
    const [run, attempt, checked, well] = (await store.insert(Array.from({ length: 4 }, () => newJob())))
      .map(({ id }) => id);
    await store.database.query("update {schema}.job set run = 2147483647 where id = $1::text::bigint", [
      run!,
    ]);
    await store.database.query("update {schema}.job set attempt = 2147483647 where id = $1::text::bigint", [
      attempt!,
    ]);
    await store.database.query(
      `alter table {schema}.job add constraint own check (state <> 'running' or id <> ${checked})`,
    );
    assertEquals((await claim()).map(({ id }) => id), [well]);
    const fault = store.claimFault("q")!.message;
    for (const id of [run, attempt, checked]) assertStringIncludes(fault, `job ${id} (k): `);
    // Cancelled, it is refused no more.
    for (const id of [run, attempt, checked]) assertEquals((await store.cancel(id!)).result, "cancelled");
    await until("nothing is refused", async () => {
      assertEquals(await claim(), []);
      return store.claimFault("q") === null;
    });
  }));

Deno.test("of what lies aside a refused job stops no other either", () =>
  withStore(async ({ store, owner, claim }) => {
    await store.insert(Array.from({ length: 30 }, (_, n) => newJob(n % 10 === 0 ? poison : {})));
    await store.settle((await claim()).map((job) => back(job, "put aside")));
    await store.database.query(REFUSE);
    const take = () => store.claim({ owner, queue: "q", limit: 10, free: 10, aside: "k" });
    const counts = [(await take()).length, (await take()).length, (await take()).length];
    assertEquals(counts, [10, 10, 7]);
    assertEquals((await store.counts()).undeclared, 3);
    await store.database.query(ALLOW);
    assertEquals((await claimAll(claim, 3)).length, 3);
    assertEquals((await store.counts()).undeclared, 0);
  }));

Deno.test("of what was claimed singly the first count as started, and no other", () =>
  withStore(async ({ store, owner }) => {
    await store.database.query(REFUSE);
    await store.insert(Array.from({ length: 9 }, (_, n) => newJob(n === 4 ? poison : {})));
    const jobs = await store.claim({ owner, queue: "q", limit: 9, free: 3 });
    assertEquals(jobs.length, 8);
    await store.database.query(ALLOW);
    const { owners } = await store.beat(owner);
    const rescued = await store.rescue(owner, owners[0]!.beat, { message: "it died" });
    assertEquals(rescued.retried, jobs.slice(0, 3).map(({ id }) => id));
    assertEquals(rescued.released.length, 5);
  }));

Deno.test("where claims are refused whatever they take, no job is to blame", () =>
  withStore(async ({ store, claim }) => {
    await store.insert([newJob(), newJob()]);
    await store.database.query(`
      create function {schema}.refuse() returns trigger language plpgsql as $$
      begin raise exception 'no claims today'; end $$;
      create trigger refuse before update on {schema}.job execute function {schema}.refuse()`);
    await assertRejects(() => claim(), Error, "no claims today");
    assertEquals(store.claimFault("q"), null);
    await store.database.query(ALLOW);
    assertEquals((await claim()).length, 2);
  }, { schema: freshSchema() }));
