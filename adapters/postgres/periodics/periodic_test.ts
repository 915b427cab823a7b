import { assertEquals, assertLess } from "@std/assert";
import type { PeriodicRow } from "../../../ports/store.ts";
import { gate, newJob, until, withStore } from "../fixture_test.ts";
import type { PostgresStore } from "../postgres_store.ts";
import { JOB_STEPS } from "../schema/schema.ts";

const JOB = { kind: "periodic:sweep", queue: "q", priority: 2, maxAttempts: 1, args: "null" };

async function rowOf(store: PostgresStore): Promise<PeriodicRow> {
  return (await store.periodics(["sweep"])).rows[0]!;
}

/** Stores the periodic as due at an instant. */
async function plan(store: PostgresStore, nextTickMs: number | null): Promise<string[]> {
  const version = (await store.periodics(["sweep"])).rows[0]?.version ?? null;
  const spec = { schedule: { every: 1000 }, job: JOB };
  return await store.planPeriodics([{
    ...{ name: "sweep", version, spec, declaredMs: 1000, isDeclared: true, nextTickMs, countsAnew: false },
  }]);
}

/** Takes a tick of the periodic as it stands. */
async function take(store: PostgresStore, tickMs: number): Promise<string | null> {
  const { version } = await rowOf(store);
  const tick = { name: "sweep", version, tickMs, nextTickMs: tickMs + 1000 };
  return (await store.takeTicks([tick]))[0]?.jobId ?? null;
}

Deno.test("instants of a periodic are kept to the millisecond, and each change makes another version", () =>
  withStore(async ({ store, claim, finish }) => {
    const tickMs = 1_790_000_000_123;
    await plan(store, tickMs);
    const fresh = await rowOf(store);
    assertEquals([fresh.nextTickMs, fresh.lastTickMs, fresh.currentJobId, fresh.runs], [
      tickMs,
      null,
      null,
      [],
    ]);
    const id = await take(store, tickMs);
    const taken = await rowOf(store);
    assertEquals([taken.nextTickMs, taken.lastTickMs, taken.currentJobId], [tickMs + 1000, tickMs, id]);
    await finish(await claim());
    assertEquals((await rowOf(store)).version, taken.version);
    assertEquals(await store.resumePeriodic("sweep", fresh.version, null), false);
    assertEquals(fresh.version === taken.version, false);
  }));

Deno.test("a run by hand is made beside the schedule, also of a periodic without a row, or is the one that waits", () =>
  withStore(async ({ store }) => {
    const ids = await Promise.all([1, 2, 3].map(() => store.runPeriodic("sweep", JOB)));
    assertEquals(new Set(ids).size, 1);
    assertEquals((await rowOf(store)).lastTickMs, null);
    await plan(store, 1000);
    assertEquals(await take(store, 1000), null);
  }));

Deno.test("every way of ending is a recorded run, newest first, 20 at most", () =>
  withStore(async ({ store, claim }) => {
    await store.cancel(await store.runPeriodic("sweep", JOB));
    await store.runPeriodic("sweep", JOB);
    const [handled] = await claim();
    await store.database.transaction(async (tx) => {
      await tx.unsafe(store.completion.text, [handled!.id, handled!.run, '{"n": 1}']);
    });
    await store.runPeriodic("sweep", JOB);
    const [failed] = await claim();
    const error = { class: "error" as const, message: "it failed" };
    await store.settle([{ ...failed!, to: "discarded", output: null, error }]);
    const { rows: [row] } = await store.periodics(["sweep"]);
    assertEquals(row?.runs.map(({ state, output, error }) => [state, output, error]), [
      ["discarded", null, "it failed"],
      ["completed", { n: 1 }, null],
      ["cancelled", null, null],
    ]);
    for (let n = 0; n < 20; n++) await store.cancel(await store.runPeriodic("sweep", JOB));
    assertEquals((await store.periodics(["sweep"])).rows[0]?.runs.length, 20);
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

Deno.test("a row that somebody holds is left out of all that is shared, and holds up no end of a job, its own neither", () =>
  withStore(async ({ store, claim, finish }) => {
    await plan(store, 1000);
    const id = await store.runPeriodic("sweep", JOB);
    await store.insert([newJob(), newJob()]);
    await whileHeld(store, "select", async () => {
      await finish(await claim());
      assertEquals((await store.get(id))?.state, "completed");
      assertEquals(await take(store, 1000), null);
      assertEquals(await plan(store, 5000), []);
      assertEquals((await store.duePeriodics({ after: null, limit: 1 })).rows.length, 1);
      assertEquals((await rowOf(store)).runs.length, 1);
    });
    assertEquals((await take(store, 1000)) !== null, true);
  }));

Deno.test("a run in backoff whose job somebody holds is not superseded, and nobody waits for it", () =>
  withStore(async ({ store, claim }) => {
    await plan(store, 1000);
    const id = (await take(store, 1000))!;
    const [claimed] = await claim();
    const back = { to: "retry", delayMs: 60_000, error: null, alone: false } as const;
    await store.settle([{ ...claimed!, ...back }]);
    const [held, done] = [gate(), gate()];
    const holding = store.database.transaction(async (tx) => {
      await tx.unsafe("select from {schema}.job where id = $1::text::bigint for update", [id]);
      held.open();
      await done.opened;
    });
    await held.opened;
    try {
      assertEquals(await take(store, 2000), null);
      assertEquals(await store.runPeriodic("sweep", JOB), id);
    } finally {
      done.open();
      await holding;
    }
    assertEquals((await take(store, 2000)) !== null, true);
    assertEquals((await store.get(id))?.state, "cancelled");
  }));

Deno.test("whoever waited for the row sees the run that was made meanwhile", () =>
  withStore(async ({ store, claim, finish }) => {
    const id = await store.runPeriodic("sweep", JOB);
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
        running = store.runPeriodic("sweep", JOB);
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

Deno.test("instants that can't be are read as they are, and put right while they are still that", () =>
  withStore(async ({ store }) => {
    await plan(store, 1000);
    for (
      const [text, ms] of [["infinity", Infinity], ["-infinity", -Infinity], [
        "294000-01-01",
        9215576668800000,
      ]] as const
    ) {
      await store.database.query(`update {schema}.periodic set next_tick = '${text}', last_tick = '${text}'`);
      const row = await rowOf(store);
      assertEquals([row.nextTickMs, row.lastTickMs], [ms, ms]);
      const due = await store.duePeriodics({ after: null, limit: 5 });
      assertEquals(due.rows.length, ms < 0 ? 1 : 0);
      assertEquals(await plan(store, 5000), ["sweep"]);
      assertEquals((await rowOf(store)).nextTickMs, 5000);
    }
  }));

Deno.test("a run that an older program made is recorded, and comes back as one", () =>
  withStore(async ({ store, claim, finish }) => {
    await store.database.query("insert into {schema}.periodic (name) values ('sweep')");
    assertEquals((await rowOf(store)).spec, null);
    const [job] = await store.insert([newJob({ kind: "periodic:sweep" })]);
    await store.database.query("update {schema}.periodic set job_id = $1::text::bigint", [job!.id]);
    assertEquals(await store.runPeriodic("sweep", JOB), job!.id);
    await finish(await claim());
    assertEquals((await rowOf(store)).runs.map(({ jobId }) => jobId), [job!.id]);
    await store.retry(job!.id);
    assertEquals((await rowOf(store)).currentJobId, job!.id);
  }));

Deno.test("runs outlive the step that keeps them apart, there and back", () =>
  withStore(async ({ store }) => {
    for (let n = 0; n < 3; n++) await store.cancel(await store.runPeriodic("sweep", JOB));
    const runs = async () =>
      (await store.periodics(["sweep"])).rows[0]!.runs.map(({ jobId, state }) => [jobId, state]);
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

Deno.test("10,000 periodics are read by their names as fast as all of them are", () =>
  withStore(async ({ store }) => {
    await store.database.query(`
      insert into {schema}.periodic (name, kind, queue, priority, max_attempts, args, every_ms)
      select 'tenant:' || n, 'k', 'q', 2, 1, 'null', 60000 from generate_series(1, 10000) as n`);
    await store.database.query(`
      insert into {schema}.periodic_run (name, job_id, finished_at, state)
      values ('tenant:7', 1, 'infinity', 'cancelled'), ('tenant:7', 2, '2026-12-01', 'completed')`);
    const names = Array.from({ length: 10_000 }, (_, n) => `tenant:${n + 1}`);
    const timed = async (read: () => Promise<{ rows: readonly unknown[] }>) => {
      const began = performance.now();
      assertEquals((await read()).rows.length, 10_000);
      return performance.now() - began;
    };
    const allMs = await timed(() => store.periodics());
    const namedMs = await timed(() => store.periodics(names));
    // An array that was searched for each row took 50 times as long.
    assertLess(namedMs, 1000 + 5 * allMs);
    const { runs } = (await store.periodics(["tenant:7"])).rows[0]!;
    assertEquals(runs.map(({ jobId, finishedAt }) => [jobId, finishedAt.slice(0, 10)]), [
      ["2", "2026-12-01"],
      ["1", "1970-01-01"],
    ]);
  }));
