import { assertEquals } from "@std/assert";
import { gate, newJob, until, withStore } from "./fixture_test.ts";
import type { PostgresStore } from "./postgres_store.ts";
import { JOB_STEPS } from "./schema.ts";

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

/** Holds the row of the periodic while a function runs, and does something to it before the commit. */
async function whileHeld(store: PostgresStore, change: string, body: () => Promise<void>): Promise<void> {
  const [held, done] = [gate(), gate()];
  const holding = store.database.transaction(async (tx) => {
    await tx.unsafe("select from {schema}.periodic where name = 'sweep' for update", []);
    await tx.unsafe(change, []);
    held.open();
    await done.opened;
  });
  await held.opened;
  try {
    await body();
  } finally {
    done.open();
    await holding;
  }
}

Deno.test("a row that somebody holds is left out of the ticks, and holds up no end of a job, its own neither", () =>
  withStore(async ({ store, claim, finish }) => {
    const id = await store.runPeriodic(job, "sweep");
    await store.insert([newJob(), newJob()]);
    await whileHeld(store, "select", async () => {
      await finish(await claim());
      assertEquals((await store.get(id))?.state, "completed");
      assertEquals(await store.takeTick(take(null, 1000)), null);
      assertEquals((await store.periodics(["sweep"]))[0]?.runs.length, 1);
    });
    assertEquals((await store.takeTick(take(null, 1000))) !== null, true);
  }));

Deno.test("whoever waited for the row sees the run that was made meanwhile", () =>
  withStore(async ({ store, claim, finish }) => {
    const id = await store.runPeriodic(job, "sweep");
    await finish(await claim());
    let running: Promise<string>;
    await whileHeld(
      store,
      `with back as (
        insert into {schema}.job (id, kind, queue, priority, max_attempts, args, scheduled_at)
        values (${id}, 'periodic:sweep', 'q', 2, 1, 'null', now())
      )
      update {schema}.periodic set job_id = ${id} where name = 'sweep'`,
      async () => {
        running = store.runPeriodic(job, "sweep");
        await until("it waits for the row", async () => {
          const waiting = await store.database.query(
            "select from pg_stat_activity where wait_event_type = 'Lock' and query like $1",
            [`%${store.database.schema}%`],
          );
          return waiting.length > 0;
        });
      },
    );
    assertEquals(await running!, id);
  }));

Deno.test("a tick that can't be is read as it is, and put back while it is still that", () =>
  withStore(async ({ store }) => {
    await store.periodics(["sweep"]);
    for (const tick of ["infinity", "-infinity", "294000-01-01"]) {
      await store.database.query(`update {schema}.periodic set last_tick = '${tick}'`);
      const [row] = await store.periodics(["sweep"]);
      assertEquals(await store.resetTick("sweep", 1, 5000), false);
      await whileHeld(store, "select", async () => {
        assertEquals(await store.resetTick("sweep", row!.lastTickMs, 5000), false);
      });
      assertEquals(await store.resetTick("sweep", row!.lastTickMs, 5000), true);
      assertEquals((await store.periodics(["sweep"]))[0]?.lastTickMs, 5000);
    }
  }));

Deno.test("runs outlive the step that keeps them apart, there and back", () =>
  withStore(async ({ store }) => {
    for (let n = 0; n < 3; n++) await store.cancel(await store.runPeriodic(job, "sweep"));
    const runs = async () =>
      (await store.periodics(["sweep"]))[0]!.runs.map(({ jobId, state }) => [jobId, state]);
    const before = await runs();
    assertEquals(before.length, 3);
    const version = JOB_STEPS.find(({ name }) => name.includes("runs of periodics"))!.version;
    await store.migrateDown(version - 1);
    // One ends as it did before the step.
    const id = String(
      (await store.database.query(`
      insert into {schema}.job_history (
        id, kind, queue, state, priority, scheduled_at, enqueued_at, finished_at, attempt, max_attempts, run, snoozes,
        alone, args
      )
      values (900, 'periodic:sweep', 'q', 'completed', 2, now(), now(), now(), 1, 1, 1, 0, false, 'null')
      returning id`))[0]!.id,
    );
    await store.migrate();
    assertEquals(await runs(), [[id, "completed"], ...before]);
  }));
