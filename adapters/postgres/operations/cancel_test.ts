import { assertEquals, assertRejects } from "@std/assert";
import { gate, newJob, withStore } from "../fixture_test.ts";

Deno.test("a waiting job is cancelled, a running one asked, an ended one left, an unknown one gone", () =>
  withStore(async ({ store, claim, finish }) => {
    const [waiting, running, ended] = await store.insert([
      newJob(),
      newJob({ priority: 1 }),
      newJob({ priority: 1 }),
    ]);
    const jobs = await claim(2);
    await finish(jobs.filter(({ id }) => id === ended!.id));
    assertEquals(await store.cancel(waiting!.id), { result: "cancelled", state: "cancelled" });
    assertEquals(await store.cancel(running!.id), { result: "requested", state: "running" });
    assertEquals(await store.cancel(ended!.id), { result: "final", state: "completed" });
    assertEquals(await store.cancel(waiting!.id), { result: "final", state: "cancelled" });
    for (const id of ["999", "x", "", "-1", "1".repeat(40)]) {
      assertEquals(await store.cancel(id), { result: "gone", state: null });
    }
    assertEquals(await claim(), []);
  }));

Deno.test("in a transaction a cancel takes effect at the commit, and not at a rollback", () =>
  withStore(async ({ store, claim }) => {
    const [one, two] = await store.insert([newJob(), newJob({ kind: "stays" })]);
    await assertRejects(() =>
      store.database.transaction(async (tx) => {
        await store.cancel(two!.id, tx);
        throw new Error("roll back");
      })
    );
    await store.database.transaction(async (tx) => {
      assertEquals((await store.cancel(one!.id, tx)).result, "cancelled");
      assertEquals((await claim()).map(({ kind }) => kind), ["stays"]);
    });
    assertEquals((await store.get(one!.id))?.state, "cancelled");
  }));

Deno.test("a cancel that waits for a settlement sees the end that it made", () =>
  withStore(async ({ store, claim }) => {
    await store.insert([newJob()]);
    const [job] = await claim();
    const [written, commit] = [gate(), gate()];
    const ending = store.database.transaction(async (tx) => {
      await tx.unsafe(store.completion.text, [job!.id, job!.run, null]);
      written.open();
      await commit.opened;
    });
    await written.opened;
    const cancelled = store.cancel(job!.id);
    commit.open();
    await ending;
    assertEquals(await cancelled, { result: "final", state: "completed" });
  }));
