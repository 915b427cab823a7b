import { assert, assertEquals } from "@std/assert";
import { PostgresDatabase } from "../connection/database.ts";
import { databaseUrl, newJob, withStore } from "../fixture_test.ts";

Deno.test("a list holds live and ended jobs, newest first, and every filter narrows it", () =>
  withStore(async ({ store, claim, finish }) => {
    await store.insert([
      newJob({ kind: "a", args: '{"user": 1, "x": 2}', priority: 1 }),
      newJob({ kind: "b", args: '{"user": 1}' }),
      newJob({ kind: "a", queue: "other", args: '{"user": 2}' }),
    ]);
    await finish(await claim(1));
    const ids = async (filter: Parameters<typeof store.list>[0]) =>
      (await store.list(filter)).map(({ id }) => id);
    assertEquals(await ids({ limit: 10 }), ["3", "2", "1"]);
    assertEquals(await ids({ limit: 2 }), ["3", "2"]);
    assertEquals(await ids({ limit: 10, before: "2" }), ["1"]);
    assertEquals(await ids({ limit: 10, before: "x" }), []);
    assertEquals(await ids({ limit: 10, kind: "a" }), ["3", "1"]);
    assertEquals(await ids({ limit: 10, queue: "other" }), ["3"]);
    assertEquals(await ids({ limit: 10, state: "completed" }), ["1"]);
    assertEquals(await ids({ limit: 10, args: { user: 1 } }), ["2", "1"]);
  }));

Deno.test("an integer that JavaScript can't hold is shown digit by digit", () =>
  withStore(async ({ store }) => {
    const [{ id } = { id: "" }] = await store.insert([newJob({ args: '{"id": 1970670598291982290}' })]);
    const detail = await store.get(id);
    assertEquals(detail?.unsafeNumbers, [{ path: "args.id", digits: "1970670598291982290" }]);
    assertEquals(detail?.argsText, '{"id": 1970670598291982290}');
  }));

Deno.test("counts per kind and state, ages per queue and priority, sizes", () =>
  withStore(async ({ store, claim, finish }) => {
    const later = new Date(Date.now() + 60_000).toISOString();
    await store.insert([
      newJob({ priority: 1 }),
      newJob({ priority: 1 }),
      newJob({ priority: 4 }),
      newJob({ kind: "b", priority: 3, runAt: later }),
      newJob({ kind: "b", queue: "other" }),
    ]);
    const jobs = await claim(2);
    await finish(jobs.slice(0, 1));
    const all = await store.counts();
    const states = all.states.map(({ kind, state, count }) => `${kind} ${state} ${count}`).sort();
    assertEquals(states, ["b pending 2", "k completed 1", "k pending 1", "k running 1"]);
    assertEquals(all.waiting.map(({ queue, priority }) => `${queue} ${priority}`).sort(), ["other 2", "q 4"]);
    assert(all.waiting.every(({ oldestMs }) => oldestMs >= 0 && oldestMs < 60_000));
    assert(all.bytes > 0);
    const one = await store.counts("b");
    assertEquals(one.states, [{ kind: "b", state: "pending", count: 2 }]);
    assertEquals(one.waiting.map(({ queue }) => queue), ["other"]);
  }));

Deno.test("finals are the ended ones of the ids that were asked for, and which are not there", () =>
  withStore(async ({ store, claim }) => {
    await store.insert([newJob(), newJob(), newJob()]);
    const [one, two, three] = await claim();
    const error = { class: "error" as const, message: "failed" };
    await store.settle([
      { ...one!, to: "completed", output: '{"n": 1}', error: null },
      { ...two!, to: "discarded", output: null, error },
    ]);
    const { ended, missing } = await store.finals([one!.id, two!.id, three!.id, "x", "99"]);
    assertEquals(missing.map(({ id }) => id), ["x", "99"]);
    assertEquals(ended.toSorted((a, b) => Number(a.id) - Number(b.id)), [
      { id: one!.id, state: "completed", output: '{"n": 1}', error: null },
      { id: two!.id, state: "discarded", output: null, error: "failed" },
    ]);
  }));

Deno.test("the newest open transaction counts among those that may bring what is missing", () =>
  withStore(async ({ store }) => {
    await store.database.transaction(async (tx) => {
      const [{ id } = { id: "" }] = await store.insert([newJob()], tx);
      const [{ own } = { own: "" }] = await tx.unsafe("select pg_current_xact_id()::text as own", []);
      const [missing] = (await store.finals([id])).missing;
      assert(missing!.oldest <= Number(own) && Number(own) < missing!.next, JSON.stringify([missing, own]));
    });
    const [missing] = (await store.finals(["99"])).missing;
    assert(missing!.oldest >= missing!.next);
  }));

Deno.test("of open transactions only one that has written a job keeps a missing one from being gone", () =>
  withStore(async ({ store }) => {
    const elsewhere = new URL(databaseUrl());
    elsewhere.pathname = "/postgres";
    const other = PostgresDatabase.connect({ url: elsewhere.href, poolSize: 1, listen: "off" });
    const isGone = async () => {
      const [missing] = (await store.finals(["99"])).missing;
      return missing!.oldest >= missing!.next;
    };
    try {
      await store.database.query("create table {schema}.other (n int)");
      // Of another database, and of another table of this one.
      await other.transaction(async (foreign) => {
        await foreign.unsafe("select pg_current_xact_id()::text", []);
        await store.database.transaction(async (tx) => {
          await tx.unsafe("insert into {schema}.other values (1)", []);
          assert(await isGone());
          const [inserted] = await store.insert([newJob()], tx);
          assert(!await isGone());
          const [missing] = (await store.finals([inserted!.id])).missing;
          assert(missing!.oldest < missing!.next);
        });
        assert(await isGone());
      });
    } finally {
      await other.close();
    }
  }));

Deno.test("retention deletes in bounded steps, by the age of each sort", () =>
  withStore(async ({ store, claim, finish }) => {
    await store.insert(Array.from({ length: 6 }, () => newJob()));
    await finish(await claim(4));
    await finish(await claim(2), "discarded");
    assertEquals(await store.purge({ completedMs: 60_000, othersMs: 60_000, limit: 10 }), 0);
    assertEquals(await store.purge({ completedMs: 0, othersMs: 60_000, limit: 3 }), 3);
    assertEquals(await store.purge({ completedMs: 0, othersMs: 60_000, limit: 3 }), 1);
    assertEquals((await store.list({ limit: 10 })).map(({ state }) => state), ["discarded", "discarded"]);
    assertEquals(await store.purge({ completedMs: 0, othersMs: 0, limit: 3 }), 2);
  }));

Deno.test("args that somebody's SQL has nested too deep are told as text", () =>
  withStore(async ({ store, claim, finish }) => {
    const [{ id } = { id: "" }] = await store.insert([newJob()]);
    const deep = "[".repeat(6000) + "]".repeat(6000);
    await store.database.query("update {schema}.job set args = $1::text::jsonb", [deep]);
    assertEquals((await store.list({ limit: 10 })).length, 1);
    const job = (await store.get(id))!;
    assertEquals([job.args, job.argsText.length, job.unsafeNumbers], [null, 12_000, []]);
    await finish(await claim());
    await store.database.query("update {schema}.job_history set output = $1::text::jsonb", [deep]);
    assertEquals((await store.get(id))!.output, null);
  }));
