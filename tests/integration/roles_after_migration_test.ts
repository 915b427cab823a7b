import { assert, assertEquals, assertRejects } from "@std/assert";
import { PostgresDatabase } from "../../adapters/postgres/connection/database.ts";
import { createPostgresStore } from "../../adapters/postgres/postgres_store.ts";
import { JOB_STEPS, JOBS_PART } from "../../adapters/postgres/schema/schema.ts";
import { createRuntime, silentLog } from "../../mod.ts";
import { eventually } from "../conformance/eventually.ts";
import { testDatabaseUrl, uniqueSchema } from "../support/test_database.ts";
import { TestRole } from "../support/test_role.ts";
import { connectPostgres } from "./support/connect.ts";

const DEADLINE_MS = 20_000;

/** The version of the job tables that the first release made. */
const RELEASED = 2;

Deno.test("roles that were granted the old tables one by one work on after a migration, and gain no more", async (test) => {
  await using stack = new AsyncDisposableStack();
  const admin = connectPostgres(await testDatabaseUrl(), 2);
  stack.defer(() => admin.end({ timeout: 2 }));
  const schema = uniqueSchema();
  stack.defer(async () => void await admin.unsafe(`drop schema if exists ${schema} cascade`));
  const [owner, worker, look, enqueue] = await Promise.all(
    ["migrate", "worker", "look", "enqueue"].map((word) => TestRole.make(admin, word)),
  ) as [TestRole, TestRole, TestRole, TestRole];
  for (const role of [owner, worker, look, enqueue]) stack.use(role);
  await admin.unsafe(`
    create schema ${schema} authorization ${owner.name};
    grant usage on schema ${schema} to ${worker.name}, ${look.name}, ${enqueue.name}`);

  const database = PostgresDatabase.connect({ url: owner.url, schema, poolSize: 1, listen: "off" });
  await database.migrate(JOBS_PART, JOB_STEPS.slice(0, RELEASED));
  await database.close();
  // No default privileges: what is made later belongs to the owner alone, unless the migration grants it.
  await owner.sql.unsafe(`
    grant select, insert, update, delete on all tables in schema ${schema} to ${worker.name};
    grant usage on all sequences in schema ${schema} to ${worker.name};
    grant select on all tables in schema ${schema} to ${look.name};
    grant insert on ${schema}.job, ${schema}.job_key to ${enqueue.name};
    grant select on ${schema}.job, ${schema}.job_key, ${schema}.kind, ${schema}.queue, ${schema}.awake to ${enqueue.name};
    grant usage on all sequences in schema ${schema} to ${enqueue.name}`);

  const program = (role: TestRole) => {
    const runtime = createRuntime({
      url: role.url,
      schema,
      poolSize: 4,
      registrars: [{
        kinds: [{
          name: "plain",
          queue: "default",
          maxAttempts: 3,
          timeout: 5000,
          handler: (args, ctx) => (ctx.progress(0.5), args),
        }],
        periodics: [{ name: "tick", every: 60_000, handler: () => "ticked" }],
      }],
      queues: [{ name: "default", concurrency: 2 }],
      settings: { pollMs: 100 },
      log: silentLog,
    });
    stack.defer(() => runtime.stop());
    return runtime;
  };
  await createMigrated(owner, schema);
  const working = program(worker);
  let id = "";

  await test.step("the worker starts, works, runs a periodic, reads and purges", async () => {
    await working.start();
    id = await working.enqueue("plain", { n: 1 });
    const done = await working.wait(id, DEADLINE_MS);
    assert(done.done && done.state === "completed", JSON.stringify(done));
    const tick = await working.wait(await working.runPeriodic("tick"), DEADLINE_MS);
    assert(tick.done && tick.state === "completed", JSON.stringify(tick));
    assertEquals((await working.periodic())[0]!.runs.length > 0, true);
    assertEquals((await working.get(id))!.args, { n: 1 });
    await working.overview();
  });

  await test.step("a program of the older release enters itself", async () => {
    await worker.sql.unsafe(
      `insert into ${schema}.worker (id, name, queues) values (gen_random_uuid(), 'old', '["default"]')`,
    );
  });

  await test.step("who looks and who enqueues do so too", async () => {
    const looking = program(look);
    assertEquals((await looking.get(id))!.args, { n: 1 });
    assertEquals((await looking.periodic())[0]!.runs.length > 0, true);
    await looking.overview();
    const job = await program(enqueue).enqueue("plain", { n: 2 });
    assert((await working.wait(job, DEADLINE_MS)).done);
  });

  await test.step("retention deletes the job with its progress", async () => {
    await working.stop();
    const store = createPostgresStore({ url: worker.url, schema, poolSize: 4, listen: "off" });
    stack.defer(() => store.close());
    await eventually(async () => {
      await store.purge({ completedMs: 0, othersMs: 0, limit: 1000 });
      return await store.get(id) === null;
    });
  });

  await test.step("the worker may write each new table, and nobody gains what the old ones did not give", async () => {
    for (const table of ["listening", "periodic_run", "job_progress", "upkeep"]) {
      for (const right of ["select", "insert", "update", "delete"]) {
        const [row] = await worker.sql`
          select has_table_privilege(${`${schema}.${table}`}, ${right}) as may`;
        assertEquals([table, right, row!.may], [table, right, true]);
      }
      await assertRejects(() => look.sql.unsafe(`delete from ${schema}.${table}`), Error, "denied");
      await assertRejects(() => enqueue.sql.unsafe(`delete from ${schema}.${table}`), Error, "denied");
    }
  });
});

Deno.test("the owner of the old tables may write the new ones when somebody else has migrated", async () => {
  await using stack = new AsyncDisposableStack();
  const url = await testDatabaseUrl();
  const admin = connectPostgres(url, 2);
  stack.defer(() => admin.end({ timeout: 2 }));
  const schema = uniqueSchema();
  stack.defer(async () => void await admin.unsafe(`drop schema if exists ${schema} cascade`));
  const owner = stack.use(await TestRole.make(admin, "owner"));
  await admin.unsafe(`create schema ${schema} authorization ${owner.name}`);
  for (const [as, steps] of [[owner.url, JOB_STEPS.slice(0, RELEASED)], [url, JOB_STEPS]] as const) {
    const database = PostgresDatabase.connect({ url: as, schema, poolSize: 1, listen: "off" });
    await database.migrate(JOBS_PART, steps);
    await database.close();
  }
  await owner.sql.unsafe(
    `insert into ${schema}.worker (id, name, queues) values (gen_random_uuid(), 'w', '["default"]')`,
  );
});

async function createMigrated(owner: TestRole, schema: string): Promise<void> {
  const runtime = createRuntime({ url: owner.url, schema, registrars: [], log: silentLog });
  await runtime.migrate();
  await runtime.stop();
}
