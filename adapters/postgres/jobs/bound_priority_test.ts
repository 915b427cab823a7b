/** Rows as somebody's SQL writes them: each runs, or is refused with what is expected. */
import { assertEquals, assertRejects } from "@std/assert";
import { PostgresDatabase } from "../connection/database.ts";
import { databaseUrl, freshSchema, newJob, withStore } from "../fixture_test.ts";
import { createPostgresStore } from "../postgres_store.ts";
import { JOB_STEPS, JOBS_PART } from "../schema/schema.ts";

const insert = (columns: Record<string, string>) => {
  const row = {
    kind: "'k'",
    queue: "'q'",
    priority: "2",
    max_attempts: "1",
    args: "'{}'",
    scheduled_at: "now()",
    ...columns,
  };
  return `insert into {schema}.job (${Object.keys(row)}) values (${Object.values(row)})`;
};

Deno.test("a priority that no claim looks for is refused, inserted or updated, and told with what is expected", () =>
  withStore(async ({ store, claim }) => {
    const { database } = store;
    for (const priority of ["0", "5", "-1", "32767"]) {
      const expected = `Cannot use priority ${priority}: expected 1 (first), 2, 3 or 4`;
      await assertRejects(() => database.query(insert({ priority })), Error, expected);
    }
    await store.insert([newJob()]);
    await assertRejects(() => database.query("update {schema}.job set priority = 9"), Error, "priority 9");
    for (const priority of ["1", "4"]) await database.query(insert({ priority }));
    assertEquals((await claim()).length, 3);
  }));

Deno.test("jobs of before with such a priority get the nearest one, and run", async () => {
  const schema = freshSchema();
  const store = createPostgresStore({ url: databaseUrl(), schema, listen: "off" });
  const before = JOB_STEPS.findIndex(({ name }) => name === "bound the priority of jobs");
  const database = PostgresDatabase.connect({ url: databaseUrl(), schema, poolSize: 1, listen: "off" });
  try {
    await database.migrate(JOBS_PART, JOB_STEPS.slice(0, before));
    for (const priority of ["-3", "0", "7"]) await database.query(insert({ priority }));
    await store.migrate();
    const rows = await database.query("select priority from {schema}.job order by id");
    assertEquals(rows.map((row) => row.priority), [1, 1, 4]);
    const owner = crypto.randomUUID();
    await store.register({ id: owner, name: "test", queues: ["q"] });
    assertEquals((await store.claim({ owner, queue: "q", limit: 9, free: 9 })).length, 3);
  } finally {
    await database.query("drop schema if exists {schema} cascade");
    await database.close();
    await store.close();
  }
});

Deno.test("attempts out of their range and an empty kind hold up nobody", () =>
  withStore(async ({ store, claim, finish }) => {
    const odd = [
      { max_attempts: "0" },
      { max_attempts: "-1" },
      { max_attempts: "2147483647" },
      { attempt: "-2147483648" },
      { kind: "''" },
    ];
    for (const columns of odd) await store.database.query(insert(columns));
    const jobs = await claim();
    assertEquals(jobs.length, odd.length);
    await finish(jobs);
    assertEquals((await store.list({ state: "completed", limit: 100 })).length, odd.length);
  }));
