import { assertEquals } from "@std/assert";
import { back, gate, newJob, withStore } from "../fixture_test.ts";

const LOST = { message: "the process stopped renewing" };

async function beatOf(store: Parameters<Parameters<typeof withStore>[0]>[0]["store"], owner: string) {
  const row = await store.database.query(
    `select to_char(heartbeat_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as beat
      from {schema}.worker where id = $1::text::uuid`,
    [owner],
  );
  return String(row[0]?.beat);
}

Deno.test("what was started pays, what was only claimed is free, a cancel that was asked for is kept", () =>
  withStore(async ({ store, owner }) => {
    // By itself: where one of many has a key, they are written in the order of their keys.
    await store.insert([newJob({ kind: "last", maxAttempts: 1, unique: true })]);
    await store.insert([
      newJob({ kind: "again" }),
      newJob({ kind: "told" }),
      newJob({ kind: "cancelled" }),
      newJob({ kind: "free", maxAttempts: 1 }),
    ]);
    const jobs = await store.claim({ owner, queue: "q", limit: 10, free: 2 });
    const [last, again, told, cancelled, free] = jobs;
    await store.started(owner, [told!]);
    await store.started(owner, [told!]);
    await store.cancel(cancelled!.id);
    const rescued = await store.rescue(owner, await beatOf(store, owner), LOST);
    assertEquals(rescued, {
      retried: [again!.id, told!.id],
      discarded: [last!.id],
      released: [free!.id],
      cancelled: [cancelled!.id],
      refused: [],
      complete: true,
      queues: ["q"],
    });
    const details = await Promise.all(jobs.map(({ id }) => store.get(id)));
    assertEquals(details.map((job) => [job?.state, job?.attempt, job?.alone, job?.errors[0]?.class]), [
      ["discarded", 1, false, "worker lost"],
      ["retryable", 1, true, "worker lost"],
      ["retryable", 1, true, "worker lost"],
      ["cancelled", 1, false, undefined],
      ["pending", 0, false, undefined],
    ]);
    assertEquals((await store.beat(owner)).alive, false);
    assertEquals((await store.insert([newJob({ kind: "last", unique: true })]))[0]?.existed, false);
    const left = await store.database.query("select count(*)::int as n from {schema}.start_mark");
    assertEquals(left[0]?.n, 0);
  }));

Deno.test("a heartbeat that was renewed meanwhile is rescued by nobody", () =>
  withStore(async ({ store, owner, claim }) => {
    await store.insert([newJob()]);
    const [job] = await claim();
    const old = await beatOf(store, owner);
    assertEquals((await store.beat(owner)).alive, true);
    const rescued = await store.rescue(owner, old, LOST);
    assertEquals([rescued.complete, rescued.retried, rescued.released], [true, [], []]);
    assertEquals((await store.get(job!.id))?.state, "running");
  }));

Deno.test("of two rescuers at once one does it, and the other learns that it should come back or need not", () =>
  withStore(async ({ store, owner, claim }) => {
    await store.insert(Array.from({ length: 20 }, () => newJob()));
    await claim();
    const beat = await beatOf(store, owner);
    const both = await Promise.all([store.rescue(owner, beat, LOST), store.rescue(owner, beat, LOST)]);
    assertEquals(both.flatMap(({ retried }) => retried).length, 20);
    const again = await store.rescue(owner, beat, LOST);
    assertEquals([again.complete, again.retried], [true, []]);
  }));

Deno.test("a job that a handler's open transaction holds is left for later, and its completion stands", () =>
  withStore(async ({ store, owner, claim }) => {
    await store.insert([newJob(), newJob()]);
    const [one, two] = await claim();
    const [held, letGo] = [gate(), gate()];
    const handler = store.database.transaction(async (tx) => {
      await tx.unsafe(store.completion.text, [one!.id, one!.run, null]);
      held.open();
      await letGo.opened;
    });
    await held.opened;
    const beat = await beatOf(store, owner);
    const first = await store.rescue(owner, beat, LOST);
    assertEquals([first.retried, first.complete], [[two!.id], false]);
    // It learns that the other run is not its own any more, and can't keep the rest from a rescue.
    assertEquals((await store.beat(owner)).alive, false);
    letGo.open();
    await handler;
    const second = await store.rescue(owner, beat, LOST);
    assertEquals([second.retried, second.complete], [[], true]);
    assertEquals((await store.get(one!.id))?.state, "completed");
  }));

Deno.test("a process that leaves while a job of it runs stays on the record for a rescue", () =>
  withStore(async ({ store, owner, claim, finish }) => {
    await store.insert([newJob()]);
    const jobs = await claim();
    await store.unregister(owner);
    assertEquals((await store.beat(owner)).alive, true);
    await finish(jobs);
    await store.unregister(owner);
    assertEquals((await store.beat(owner)).alive, false);
  }));

Deno.test("records of starts are deleted when their runs have ended", () =>
  withStore(async ({ store, owner, claim, finish }) => {
    await store.insert(Array.from({ length: 30 }, () => newJob()));
    const count = async () =>
      (await store.database.query("select count(*)::int as n from {schema}.start_mark"))[0]?.n;
    const [first, second] = [await claim(10), await claim(20)];
    await finish(first);
    assertEquals(await count(), 2);
    await store.beat(owner);
    assertEquals(await count(), 1);
    await finish(second);
    await store.beat(owner);
    assertEquals(await count(), 0);
  }));

Deno.test("a row that the database refuses to change is left and named, and the others are put back", () =>
  withStore(async ({ store, owner, claim }) => {
    await store.insert(
      Array.from({ length: 600 }, (_, index) => newJob({ args: `{"poison": ${index === 99}}` })),
    );
    await claim(600);
    await store.database.query(`
      create function {schema}.refuse() returns trigger language plpgsql as $$
      begin
        if (old.args ->> 'poison')::boolean then raise exception 'not this one'; end if;
        return new;
      end $$`);
    await store.database.query(`
      create trigger refuse before update on {schema}.job for each row execute function {schema}.refuse()`);
    const beat = await beatOf(store, owner);
    const first = await store.rescue(owner, beat, LOST);
    assertEquals([first.retried.length, first.complete], [599, false]);
    assertEquals(first.refused?.map(({ id, sqlState }) => [id, sqlState]), [["100", "P0001"]]);
    await store.database.query("drop trigger refuse on {schema}.job");
    const second = await store.rescue(owner, beat, LOST);
    assertEquals([second.retried, second.refused, second.complete], [["100"], [], true]);
  }));

Deno.test("errors that are no list, as somebody's SQL may leave them, keep no job from a retry or a rescue", () =>
  withStore(async ({ store, owner, claim }) => {
    const texts = ["{}", "null", '"broken"', "7", "[]"];
    await store.insert(texts.flatMap(() => [newJob(), newJob()]));
    const jobs = await claim();
    for (const [index, text] of [...texts, ...texts].entries()) {
      const values = [jobs[index]!.id, text];
      await store.database.query(
        "update {schema}.job set errors = $2::text::jsonb where id = $1::text::bigint",
        values,
      );
    }
    const settled = await store.settle(jobs.slice(0, texts.length).map((job) => back(job, "retry")));
    assertEquals(new Set(settled), new Set(["retryable"]));
    const rescued = await store.rescue(owner, await beatOf(store, owner), LOST);
    assertEquals([rescued.retried.length, rescued.complete], [texts.length, true]);
    for (const { id } of jobs) {
      const { errors } = (await store.get(id))!;
      assertEquals(errors.at(-1)?.attempt, 1);
      for (const error of errors) assertEquals(typeof error.message, "string");
    }
  }));
