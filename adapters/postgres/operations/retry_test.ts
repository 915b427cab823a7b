import { assertEquals, assertRejects } from "@std/assert";
import { JobNotFoundError, JobRunningError, UniqueConflictError } from "../../../ports/errors.ts";
import { back, newJob, withStore } from "../fixture_test.ts";

Deno.test("an ended job comes back pending, with its errors and at least one more attempt", () =>
  withStore(async ({ store, claim }) => {
    await store.insert([newJob({ maxAttempts: 1 })]);
    const [job] = await claim();
    const error = { class: "error" as const, message: "first" };
    await store.settle([{ ...job!, to: "discarded", output: null, error }]);
    assertEquals(await store.retry(job!.id), "q");
    const detail = (await store.get(job!.id))!;
    assertEquals([detail.state, detail.attempt, detail.maxAttempts, detail.finishedAt], [
      "pending",
      1,
      2,
      null,
    ]);
    assertEquals(detail.errors.map(({ message }) => message), ["first"]);
    const [again] = await claim();
    assertEquals([again?.run, again?.attempt], [2, 2]);
  }));

Deno.test("a job that waits for its retry is due at once, a running one is a typed error", () =>
  withStore(async ({ store, claim }) => {
    await store.insert([newJob()]);
    const [job] = await claim();
    await assertRejects(() => store.retry(job!.id), JobRunningError);
    await store.settle([back(job!, "retry", 60_000)]);
    assertEquals(await claim(), []);
    await store.retry(job!.id);
    assertEquals((await store.get(job!.id))?.state, "pending");
    assertEquals((await claim()).length, 1);
  }));

Deno.test("a job that is not there is a typed error, whatever its id", () =>
  withStore(async ({ store }) => {
    for (const id of ["7", "nonsense"]) await assertRejects(() => store.retry(id), JobNotFoundError);
  }));

Deno.test("a job whose key a newer one holds stays ended, and the error names the holder", () =>
  withStore(async ({ store, claim, finish }) => {
    const [old] = await store.insert([newJob({ unique: true })]);
    await finish(await claim(), "discarded");
    const [newer] = await store.insert([newJob({ unique: true })]);
    const error = await assertRejects(() => store.retry(old!.id), UniqueConflictError);
    assertEquals(error.holderId, newer!.id);
    assertEquals((await store.get(old!.id))?.state, "discarded");
    await store.cancel(newer!.id);
    await store.retry(old!.id);
    assertEquals(await store.insert([newJob({ unique: true })]), [{ id: old!.id, existed: true }]);
  }));

Deno.test("a completed unique job takes its own key along", () =>
  withStore(async ({ store, claim, finish }) => {
    const [job] = await store.insert([newJob({ unique: true })]);
    await finish(await claim());
    await store.retry(job!.id);
    assertEquals(await store.insert([newJob({ unique: true })]), [{ id: job!.id, existed: true }]);
  }));
