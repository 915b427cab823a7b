import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { TransactionConflictError } from "../../../ports/errors.ts";
import { ERRORS_KEPT_MAX } from "../../../ports/limits.ts";
import { back, gate, newJob, until, withStore } from "../fixture_test.ts";

Deno.test("each way of ending leaves the state, attempt and snoozes that it should", () =>
  withStore(async ({ store, claim }) => {
    await store.insert(Array.from({ length: 7 }, () => newJob()));
    const jobs = await claim();
    const error = { class: "error" as const, message: "no\0good", stack: "at x" };
    const settled = await store.settle([
      { ...jobs[0]!, to: "completed", output: '{"n": 1}', error: null },
      { ...jobs[1]!, to: "discarded", output: null, error },
      { ...jobs[2]!, to: "cancelled", output: null, error: null },
      { ...jobs[3]!, to: "retry", delayMs: 60_000, error, alone: false },
      { ...jobs[4]!, to: "snooze", delayMs: 60_000, error: null, alone: false },
      { ...jobs[5]!, to: "release", delayMs: 0, error: null, alone: true },
      { ...jobs[6]!, to: "put aside", delayMs: 0, error: null, alone: false },
    ]);
    const states = ["completed", "discarded", "cancelled", "retryable", "pending", "pending", "pending"];
    assertEquals(settled.map(String), states);
    const details = await Promise.all(jobs.map(({ id }) => store.get(id)));
    assertEquals(details.map((job) => String(job?.state)), states);
    assertEquals(details.map((job) => job?.attempt), [1, 1, 1, 1, 0, 0, 0]);
    assertEquals(details.map((job) => job?.snoozes), [0, 0, 0, 0, 1, 0, 0]);
    assertEquals(details.map((job) => job?.alone), [false, false, false, false, false, true, false]);
    assertEquals(details[0]?.output, { n: 1 });
    assertEquals(
      details[1]?.errors.map(({ message, class: of, attempt, stack }) => [message, of, attempt, stack]),
      [
        ["no\ufffdgood", "error", 1, "at x"],
      ],
    );
    assertMatch(details[1]!.errors[0]!.at, /^\d{4}-\d\d-\d\dT.*Z$/);
    assertMatch(details[0]!.finishedAt!, /^\d{4}-\d\d-\d\dT.*Z$/);
  }));

Deno.test("a run that is no longer the job's changes nothing", () =>
  withStore(async ({ store, claim }) => {
    await store.insert([newJob()]);
    const [first] = await claim();
    await store.settle([back(first!, "release")]);
    const zombie = { ...first!, to: "completed" as const, output: null, error: null };
    assertEquals(await store.settle([zombie]), ["fenced"]);
    const [second] = await claim();
    assertEquals(second?.run, 2);
    assertEquals(await store.settle([zombie]), ["fenced"]);
    await store.progress([{ ...first!, done: 0.5, note: null }]);
    assertEquals((await store.get(first!.id))?.progress, null);
    await store.progress([{ ...second!, done: 0.5, note: "half" }]);
    assertEquals((await store.get(first!.id))?.progress, { done: 0.5, note: "half" });
    assertEquals((await store.get(first!.id))?.state, "running");
    await store.settle([{ ...second!, to: "completed", output: null, error: null }]);
    assertEquals(await store.settle([back(second!, "retry")]), ["fenced"]);
  }));

Deno.test("a cancel that was asked for wins over every other end, and the output is dropped", () =>
  withStore(async ({ store, owner, claim }) => {
    await store.insert([newJob(), newJob({ unique: true })]);
    const jobs = await claim();
    for (const { id } of jobs) assertEquals((await store.cancel(id)).result, "requested");
    assertEquals((await store.beat(owner)).cancelRequested, jobs.map(({ id }) => id));
    const settled = await store.settle([
      { ...jobs[0]!, to: "completed", output: "1", error: null },
      back(jobs[1]!, "retry"),
    ]);
    assertEquals(settled, ["cancelled", "cancelled"]);
    const details = await Promise.all(jobs.map(({ id }) => store.get(id)));
    assertEquals(details.map((job) => [job?.state, job?.output, job?.errors.length]), [
      ["cancelled", null, 0],
      ["cancelled", null, 1],
    ]);
    assertEquals((await store.insert([newJob({ unique: true })]))[0]?.existed, false);
  }));

Deno.test("a row that another transaction holds is left out as locked, and holds up nobody else", () =>
  withStore(async ({ store, claim }) => {
    await store.insert(Array.from({ length: 5 }, () => newJob()));
    const jobs = await claim();
    const [held, letGo] = [gate(), gate()];
    const holder = store.database.transaction(async (tx) => {
      assertEquals((await store.cancel(jobs[2]!.id, tx)).result, "requested");
      held.open();
      await letGo.opened;
    });
    await held.opened;
    const ends = jobs.map((job) => ({ ...job, to: "completed" as const, output: null, error: null }));
    const settled = await store.settle(ends);
    assertEquals(settled, ["completed", "completed", "locked", "completed", "completed"]);
    letGo.open();
    await holder;
    assertEquals(await store.settle(ends), ["fenced", "fenced", "cancelled", "fenced", "fenced"]);
  }));

Deno.test("completeIn commits with the handler's writes, is fenced, and loses to a cancel that came first", () =>
  withStore(async ({ store, claim }) => {
    await store.insert([newJob(), newJob(), newJob()]);
    const [one, two, three] = await claim();
    const complete = (job: { id: string; run: number }, output: string | null) =>
      store.database.transaction((tx) =>
        Promise.resolve(tx.unsafe(store.completion.text, [job.id, job.run, output]))
      );
    assertEquals((await complete(one!, '{"n": 1}')).length, 1);
    assertEquals((await store.get(one!.id))?.output, { n: 1 });
    assertEquals((await complete(one!, null)).length, 0);
    await store.cancel(two!.id);
    assertEquals((await complete(two!, null)).length, 0);
    await assertRejects(() =>
      store.database.transaction(async (tx) => {
        await tx.unsafe(store.completion.text, [three!.id, three!.run, null]);
        throw new Error("roll back");
      })
    );
    const settled = await store.settle([back(three!, "retry")]);
    assertEquals(settled, ["retryable"]);
  }));

Deno.test("progress that is told after a handler's REPEATABLE READ began is no conflict for its completion", () =>
  withStore(async ({ store, claim }) => {
    await store.insert([newJob()]);
    const [job] = await claim();
    await store.database.transaction(async (tx) => {
      await tx.unsafe("select count(*) from {schema}.job", []);
      await store.progress([{ ...job!, done: 0.5, note: "half" }]);
      assertEquals((await tx.unsafe(store.completion.text, [job!.id, job!.run, null])).length, 1);
    }, { isolation: "repeatable read" });
    const { state, progress } = (await store.get(job!.id))!;
    assertEquals([state, progress], ["completed", { done: 0.5, note: "half" }]);
    await store.database.query("update {schema}.job_history set finished_at = now() - interval '1 s'");
    assertEquals(await store.purge({ completedMs: 0, othersMs: 0, limit: 10 }), 1);
    assertEquals((await store.database.query("select from {schema}.job_progress")).length, 0);
  }));

Deno.test("a cancel that comes after a handler's REPEATABLE READ began is a typed conflict, and the job ends cancelled", () =>
  withStore(async ({ store, claim }) => {
    await store.insert([newJob()]);
    const [job] = await claim();
    const completing = store.database.transaction(async (tx) => {
      await tx.unsafe("select count(*) from {schema}.job", []);
      assertEquals((await store.cancel(job!.id)).result, "requested");
      await tx.unsafe(store.completion.text, [job!.id, job!.run, null]);
    }, { isolation: "repeatable read" });
    await assertRejects(() => completing, TransactionConflictError);
    assertEquals(await store.settle([back(job!, "retry")]), ["cancelled"]);
  }));

Deno.test("of many errors the first and the newest are kept", () =>
  withStore(async ({ store, claim }) => {
    const [{ id } = { id: "" }] = await store.insert([newJob({ maxAttempts: 1000 })]);
    for (let attempt = 1; attempt <= ERRORS_KEPT_MAX + 5; attempt++) {
      let [job] = await claim(1);
      await until("the retry is due", async () => (job ??= (await claim(1))[0]) !== undefined);
      await store.settle([back(job!, "retry")]);
    }
    const attempts = (await store.get(id))!.errors.map(({ attempt }) => attempt);
    assertEquals(attempts.length, ERRORS_KEPT_MAX);
    assertEquals(attempts.slice(0, 2), [1, 7]);
    assertEquals(attempts.at(-1), ERRORS_KEPT_MAX + 5);
  }));

Deno.test("a snooze waits at least its time by the database's clock, and huge counters overflow nothing", () =>
  withStore(async ({ store, owner, claim }) => {
    const [{ id } = { id: "" }] = await store.insert([newJob()]);
    await store.database.query(
      "update {schema}.job set attempt = 40000, snoozes = 40000, max_attempts = 1000000",
    );
    const [job] = await claim();
    const before = (await store.beat(owner)).nowMs;
    await store.settle([back(job!, "snooze", 800)]);
    const detail = (await store.get(id))!;
    assert(Date.parse(detail.scheduledAt) >= Math.floor(before + 800), detail.scheduledAt);
    assertEquals([detail.attempt, detail.snoozes], [40_000, 40_001]);
  }));
