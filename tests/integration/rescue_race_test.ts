import { assert, assertEquals } from "@std/assert";
import type postgres from "postgres";
import { createPostgresStore, type PostgresStore } from "../../adapters/postgres/postgres_store.ts";
import { runSql } from "../drivers/postgres_transaction.ts";
import { testDatabaseUrl, uniqueSchema } from "../support/test_database.ts";
import { bareJob } from "../conformance/stage.ts";
import { connectPostgres } from "./support/connect.ts";

const LOST = { message: "it died" };

/** A store with a worker that has started jobs and now looks dead, and a lock on its row that holds every rescuer. */
interface Scene {
  readonly store: PostgresStore;
  readonly schema: string;
  readonly dead: string;
  readonly ids: readonly string[];
  readonly beat: string;
  readonly sql: postgres.Sql;
}

async function scene(jobs: number, body: (scene: Scene) => Promise<void>): Promise<void> {
  const url = await testDatabaseUrl();
  const schema = uniqueSchema();
  const store = createPostgresStore({ url, schema, listen: "off" });
  const sql = connectPostgres(url);
  try {
    await store.migrate();
    const dead = crypto.randomUUID();
    await store.register({ id: dead, name: "dead", queues: ["default"] });
    await store.insert(Array.from({ length: jobs }, (_, n) => bareJob("k", { n })));
    const ids = (await store.claim({ owner: dead, queue: "default", limit: jobs, free: jobs })).map((
      { id },
    ) => id);
    const beat = await beatOf(store, dead);
    await body({ store, schema, dead, ids, beat, sql });
  } finally {
    await store.close();
    await sql.end();
    await runSql(url, `drop schema if exists ${schema} cascade`);
  }
}

async function beatOf(store: PostgresStore, owner: string): Promise<string> {
  return (await store.beat("00000000-0000-0000-0000-000000000000")).owners.find(({ id }) => id === owner)!
    .beat;
}

/** Holds a job's row in a transaction while a function runs: what a rescuer meets between its look and its write. */
async function holding(
  scene: Scene,
  id: string,
  body: (tx: postgres.TransactionSql) => Promise<void>,
): Promise<void> {
  await scene.sql.begin(async (tx) => {
    await tx.unsafe(`select from ${scene.schema}.job where id = ${id} for update`);
    await body(tx);
  });
}

const ended = (to: "completed" | "cancelled") => (id: string) =>
  ({ id, run: 1, to, output: null, error: null }) as const;

for (const to of ["completed", "cancelled"] as const) {
  Deno.test(`a rescuer that is late finds the job ${to}: nothing of it changes, its neighbours are rescued`, async () => {
    await scene(3, async (it) => {
      const [first, ...others] = it.ids;
      // The rescuer has picked the process by its beat; the job ends before it writes.
      await it.store.settle([ended(to)(first!)]);
      const before = await it.store.get(first!);
      const rescued = await it.store.rescue(it.dead, it.beat, LOST);
      assertEquals([rescued.retried.toSorted(), rescued.complete], [others.toSorted(), true]);
      assertEquals(await it.store.get(first!), before);
      assertEquals(before!.state, to);
    });
  });
}

Deno.test("a job whose row is being ended while the rescuer writes is left alone, its neighbours are rescued at once", async () => {
  await scene(3, async (it) => {
    const [first, ...others] = it.ids;
    await holding(it, first!, async (tx) => {
      const rescued = await it.store.rescue(it.dead, it.beat, LOST);
      assertEquals([rescued.retried.toSorted(), rescued.complete], [others.toSorted(), false]);
      // The handler's own transaction completes it.
      const done = await tx.unsafe(it.store.completion.text, [first!, 1, "1"]);
      assertEquals(done.length, 1);
    });
    const before = await it.store.get(first!);
    assertEquals(before!.state, "completed");
    const again = await it.store.rescue(it.dead, it.beat, LOST);
    assertEquals([again.retried, again.complete], [[], true]);
    assertEquals(await it.store.get(first!), before);
  });
});

Deno.test("a rescuer that is late finds a fresh attempt of another worker: it goes on undisturbed", async () => {
  await scene(1, async (it) => {
    const [id] = it.ids;
    const other = crypto.randomUUID();
    await it.store.register({ id: other, name: "other", queues: ["default"] });
    await it.store.settle([{
      id: id!,
      run: 1,
      to: "release",
      delayMs: 0,
      error: null,
      alone: false,
    }]);
    const [fresh] = await it.store.claim({ owner: other, queue: "default", limit: 1, free: 1 });
    assertEquals([fresh!.id, fresh!.run], [id, 2]);
    const before = await it.store.get(id!);
    const rescued = await it.store.rescue(it.dead, it.beat, LOST);
    assertEquals([rescued.retried, rescued.released, rescued.complete], [[], [], true]);
    assertEquals(await it.store.get(id!), before);
    const settled = await it.store.settle([{ ...ended("completed")(id!), run: 2 }]);
    assertEquals(settled, ["completed"]);
  });
});

Deno.test("of two rescuers at once one does it all, and the stale one changes and runs nothing", async () => {
  await scene(20, async (it) => {
    const both = await Promise.all([1, 2].map(() => it.store.rescue(it.dead, it.beat, LOST)));
    const retried = both.flatMap((each) => each.retried);
    assertEquals(retried.toSorted(), it.ids.toSorted());
    const stale = await it.store.rescue(it.dead, it.beat, LOST);
    assertEquals([stale.retried, stale.complete], [[], true]);
    for (const id of it.ids) {
      const job = (await it.store.get(id))!;
      assertEquals([job.state, job.run, job.errors.length], ["retryable", 1, 1]);
    }
  });
});

Deno.test("a process that renews while its rescuer waits for its row keeps all its jobs", async () => {
  await scene(2, async (it) => {
    await it.sql.begin(async (tx) => {
      await tx.unsafe(`update ${it.schema}.worker set heartbeat_at = clock_timestamp()`);
      const rescued = await it.store.rescue(it.dead, it.beat, LOST);
      assertEquals([rescued.retried, rescued.complete], [[], false]);
    });
    const rescued = await it.store.rescue(it.dead, it.beat, LOST);
    assertEquals(rescued.retried, []);
    for (const id of it.ids) assertEquals((await it.store.get(id))!.state, "running");
    assert((await it.store.beat(it.dead)).alive);
  });
});
