import { assertEquals } from "@std/assert";
import { newJob, withStore } from "./fixture_test.ts";

const job = newJob({ kind: "periodic:sweep", maxAttempts: 1 });
const take = (expectedMs: number | null, tickMs: number) => ({ periodic: "sweep", expectedMs, tickMs, job });

Deno.test("a tick is taken once, however many want it, and not while a run waits or runs", () =>
  withStore(async ({ store, claim, finish }) => {
    const [fresh] = await store.periodics(["sweep"]);
    assertEquals([fresh?.lastTickMs, fresh?.currentJobId, fresh?.runs], [null, null, []]);
    const taken = await Promise.all([1, 2, 3, 4].map(() => store.takeTick(take(null, 1_790_000_000_123))));
    assertEquals(taken.filter((id) => id !== null).length, 1);
    assertEquals(await store.takeTick(take(1_790_000_000_123, 1_790_000_001_000)), null);
    await finish(await claim());
    assertEquals(await store.takeTick(take(null, 1_790_000_001_000)), null);
    const [row] = await store.periodics(["sweep"]);
    assertEquals([row?.lastTickMs, row?.currentJobId], [1_790_000_000_123, null]);
    const next = await store.takeTick(take(1_790_000_000_123, 1_790_000_001_000));
    assertEquals((await store.periodics(["sweep"]))[0]?.currentJobId, next);
  }));

Deno.test("a run by hand is made beside the schedule, or is the one that waits already", () =>
  withStore(async ({ store }) => {
    const ids = await Promise.all([1, 2, 3].map(() => store.runPeriodic(job, "sweep")));
    assertEquals(new Set(ids).size, 1);
    assertEquals((await store.periodics(["sweep"]))[0]?.lastTickMs, null);
    assertEquals(await store.takeTick(take(null, 1000)), null);
  }));

Deno.test("every way of ending is a recorded run, newest first, 20 at most", () =>
  withStore(async ({ store, owner, claim }) => {
    await store.cancel(await store.runPeriodic(job, "sweep"));
    await store.runPeriodic(job, "sweep");
    const [handled] = await claim();
    await store.database.transaction(async (tx) => {
      await tx.unsafe(store.completion.text, [handled!.id, handled!.run, '{"n": 1}']);
    });
    await store.runPeriodic(job, "sweep");
    const [failed] = await claim();
    const error = { class: "error" as const, message: "it failed" };
    await store.settle(owner, [{ ...failed!, to: "discarded", output: null, error }]);
    const [row] = await store.periodics(["sweep"]);
    assertEquals(row?.runs.map(({ state, output, error }) => [state, output, error]), [
      ["discarded", null, "it failed"],
      ["completed", { n: 1 }, null],
      ["cancelled", null, null],
    ]);
    for (let n = 0; n < 20; n++) await store.cancel(await store.runPeriodic(job, "sweep"));
    assertEquals((await store.periodics(["sweep"]))[0]?.runs.length, 20);
  }));
