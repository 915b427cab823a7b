import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { PostgresDatabase } from "../../adapters/postgres/connection/database.ts";
import { createRuntime, type PostgresRuntime } from "../../mod.ts";
import { InvalidOptionError } from "../../ports/errors.ts";
import type { Log } from "../../ports/log.ts";
import {
  type EnqueueForRow,
  reconcilePending,
  type ReconcileSpec,
} from "../../reconcile/reconcile_pending.ts";
import { reconcilePeriodic } from "../../reconcile/reconcile_periodic.ts";
import { silentLog } from "../../shared/log.ts";
import { testDatabaseUrl, uniqueSchema } from "../support/test_database.ts";

interface Scene {
  readonly url: string;
  readonly schema: string;
  readonly database: PostgresDatabase;
  readonly runtime: PostgresRuntime;
  readonly spec: ReconcileSpec;
  readonly enqueue: EnqueueForRow;
  insert(count: number): Promise<void>;
  query(text: string): Promise<readonly Record<string, unknown>[]>;
}

async function withOrders(body: (scene: Scene) => Promise<void>, type = "text"): Promise<void> {
  const url = await testDatabaseUrl();
  const schema = uniqueSchema();
  const database = PostgresDatabase.connect({ url, schema, poolSize: 6, listen: "off" });
  const runtime = createRuntime({
    url,
    schema,
    registrars: [{
      kinds: [{ name: "order.mail", queue: "default", maxAttempts: 1, timeout: 20_000, handler: () => {} }],
    }],
  });
  try {
    await runtime.migrate();
    await database.query(
      `create table {schema}."Order ""s" (id int primary key, done boolean not null default false, "job Id" ${type})`,
    );
    const spec: ReconcileSpec = {
      database,
      table: `${schema}.Order "s`,
      jobColumn: "job Id",
      where: "not done",
    };
    await body({
      url,
      schema,
      database,
      runtime,
      spec,
      enqueue: (tx, row) => runtime.with(tx).enqueue("order.mail", { id: Number(row.id) }),
      insert: async (count) => {
        await database.query(
          `insert into {schema}."Order ""s" (id) select generate_series(1, $1::text::int)`,
          [String(count)],
        );
      },
      query: (text) => database.query(text),
    });
  } finally {
    await runtime.stop();
    await database.query("drop schema {schema} cascade");
    await database.close();
  }
}

for (const type of ["text", "bigint", "varchar(40)"]) {
  Deno.test(`reconcilePending() gives each stranded row one job and stamps it (${type})`, () =>
    withOrders(async ({ spec, enqueue, insert, query, runtime }) => {
      await insert(5);
      await query(`update {schema}."Order ""s" set done = true where id = 2`);
      assertEquals(await reconcilePending(spec, enqueue), { enqueued: 4, rescued: 0, skipped: 0, failed: 0 });
      assertEquals(await reconcilePending(spec, enqueue), { enqueued: 0, rescued: 0, skipped: 0, failed: 0 });
      const rows = await query(`select id, "job Id"::text as job from {schema}."Order ""s" order by id`);
      const stamped = await Promise.all(
        rows.map(async ({ job }) => job === null ? null : (await runtime.get(String(job)))!.args),
      );
      assertEquals(stamped, [{ id: 1 }, null, { id: 3 }, { id: 4 }, { id: 5 }]);
    }, type));
}

Deno.test("reconcilePending() by many processes at once never enqueues a row twice", () =>
  withOrders(async ({ spec, enqueue, insert, runtime, url, schema }) => {
    await insert(120);
    const others = [1, 2, 3].map(() => PostgresDatabase.connect({ url, schema, poolSize: 2, listen: "off" }));
    const results = await Promise.all(
      [spec.database, ...others].map((database) => reconcilePending({ ...spec, database }, enqueue)),
    );
    await Promise.all(others.map((database) => database.close()));
    assertEquals(results.reduce((sum, { enqueued }) => sum + enqueued, 0), 120);
    const jobs = await runtime.list({ limit: 1000 });
    assertEquals(new Set(jobs.map((job) => job.argsPreview)).size, 120);
    assertEquals(jobs.length, 120);
    assert(results.reduce((sum, { skipped }) => sum + skipped, 0) > 0, "they did not meet");
  }));

Deno.test("reconcilePending() logs and skips a row that fails, and its batch is bounded", () =>
  withOrders(async ({ spec, enqueue, insert }) => {
    await insert(10);
    const lines: unknown[] = [];
    const log: Log = { ...silentLog, warn: (event, fields) => lines.push([event, fields?.error]) };
    const result = await reconcilePending({ ...spec, log }, (tx, row) => {
      if (row.id === 4) throw new Error("no address");
      return enqueue(tx, row);
    });
    assertEquals(result, { enqueued: 9, rescued: 0, skipped: 0, failed: 1 });
    assertEquals(lines, [["row not reconciled, the next pass tries it again", "Error: no address"]]);
    assertEquals((await reconcilePending({ ...spec, batch: 1 }, enqueue)).enqueued, 1);
    await spec.database.query(`update {schema}."Order ""s" set "job Id" = null`);
    assertEquals((await reconcilePending({ ...spec, batch: 3 }, enqueue)).enqueued, 3);
  }));

Deno.test("rows that fail each time do not keep the others from their turn", () =>
  withOrders(async ({ spec, enqueue, insert }) => {
    await insert(600);
    await spec.database.query(`analyze {schema}."Order ""s"`);
    let left = 300;
    for (let pass = 0; pass < 200 && left > 0; pass++) {
      const result = await reconcilePending({ ...spec, batch: 150 }, (tx, row) => {
        if (Number(row.id) <= 300) throw new Error("never");
        return enqueue(tx, row);
      });
      left -= result.enqueued;
    }
    assertEquals(left, 0);
  }));

Deno.test("a row whose job has ended or was purged is rescued if asked, and one whose job waits is not", () =>
  withOrders(async ({ spec, enqueue, insert, query, runtime }) => {
    await insert(4);
    await reconcilePending(spec, enqueue);
    const rows = await query(`select "job Id" as job from {schema}."Order ""s" order by id`);
    await runtime.cancel(String(rows[0]!.job));
    await runtime.cancel(String(rows[1]!.job));
    await query("delete from {schema}.job_history where id = (select max(id) from {schema}.job_history)");
    await query(`update {schema}."Order ""s" set "job Id" = 'of another time' where id = 3`);
    assertEquals(await reconcilePending(spec, enqueue), { enqueued: 0, rescued: 0, skipped: 0, failed: 0 });
    const rescue = { ...spec, rescueDeadJobs: true };
    const some = await reconcilePending({ ...rescue, rescueWhere: "id > 2" }, enqueue);
    assertEquals([some.enqueued, some.rescued], [0, 1]);
    assertEquals((await reconcilePending(rescue, enqueue)).rescued, 2);
    assertEquals((await reconcilePending(rescue, enqueue)).rescued, 0);
    await runtime.cancel(String(rows[3]!.job));
    const same = await reconcilePending(rescue, (_tx, row) => Promise.resolve(String(row["job Id"])));
    assertEquals([same.rescued, same.failed], [0, 1]);
  }));

Deno.test("reconcilePending() is not misled by columns that the jobs have too", () =>
  withOrders(async ({ spec, database, schema, runtime }) => {
    const enqueue: EnqueueForRow = (tx, row) =>
      runtime.with(tx).enqueue("order.mail", { kind: Number(row.kind) });
    await database.query("create table {schema}.millrace_orders (kind int, owner text)");
    await database.query("insert into {schema}.millrace_orders select n from generate_series(1, 3) as n");
    const parts = {
      ...spec,
      table: `${schema}.millrace_orders`,
      jobColumn: "owner",
      where: "kind > 0",
      rescueDeadJobs: true,
    };
    assertEquals((await reconcilePending(parts, enqueue)).enqueued, 3);
    assertEquals((await reconcilePending(parts, enqueue)).rescued, 0);
    const [first] = await database.query("select owner from {schema}.millrace_orders");
    await runtime.cancel(String(first!.owner));
    assertEquals((await reconcilePending(parts, enqueue)).rescued, 1);
  }));

Deno.test("reconcilePending() works on a partitioned table", () =>
  withOrders(async ({ spec, enqueue, database, schema }) => {
    await database.query("create table {schema}.p (id int, done boolean, job text) partition by list (done)");
    await database.query("create table {schema}.p1 partition of {schema}.p for values in (false)");
    await database.query("create table {schema}.p2 partition of {schema}.p for values in (true)");
    await database.query("insert into {schema}.p select n, n > 3 from generate_series(1, 6) as n");
    const parts = { ...spec, table: `${schema}.p`, jobColumn: "job", where: "true" };
    assertEquals((await reconcilePending(parts, enqueue)).enqueued, 6);
    assertEquals((await reconcilePending(parts, enqueue)).enqueued, 0);
  }));

Deno.test("rows of a partitioned table that fail each time do not keep the others from their turn", () =>
  withOrders(async ({ spec, enqueue, database, schema }) => {
    await database.query("create table {schema}.p (id int, pad text, job text) partition by list (id)");
    await database.query("create table {schema}.p1 partition of {schema}.p default");
    await database.query(
      "insert into {schema}.p select n, repeat('x', 1000) from generate_series(1, 100) as n",
    );
    await database.query("analyze {schema}.p");
    const parts = { ...spec, table: `${schema}.p`, jobColumn: "job", where: "true", batch: 4 };
    const picky: EnqueueForRow = async (tx, row) => {
      if (Number(row.id) <= 8) throw new Error("never");
      return await enqueue(tx, row);
    };
    let enqueued = 0;
    for (let pass = 0; pass < 60 && enqueued === 0; pass++) {
      enqueued += (await reconcilePending(parts, picky)).enqueued;
    }
    assert(enqueued > 0);
  }));

Deno.test("a row that enqueue() has changed fails, for without a stamp it would get a job with each pass", () =>
  withOrders(async ({ spec, enqueue, insert, runtime }) => {
    await insert(1);
    const told: string[] = [];
    const log: Log = { ...silentLog, warn: (_event, fields) => void told.push(String(fields?.error)) };
    const changing: EnqueueForRow = async (tx, row) => {
      await tx.unsafe(`update ${spec.database.quotedSchema}."Order ""s" set done = done`, []);
      return await enqueue(tx, row);
    };
    const counts = await reconcilePending({ ...spec, log }, changing);
    assertEquals(counts, { enqueued: 0, rescued: 0, skipped: 0, failed: 1 });
    assert(told[0]!.includes("could not be stamped"), told[0]);
    assertEquals(await runtime.list(), []);
  }));

Deno.test("a condition may end with a comment", () =>
  withOrders(async ({ spec, enqueue, insert }) => {
    await insert(1);
    const commented = { where: "not done -- yet", rescueDeadJobs: true, rescueWhere: "true -- all" };
    assertEquals((await reconcilePending({ ...spec, ...commented }, enqueue)).enqueued, 1);
  }));

Deno.test("reconcilePending() refuses a column that holds no id, and a view", () =>
  withOrders(async ({ spec, enqueue, database, schema }) => {
    await database.query("create table {schema}.u (id int, done boolean, job uuid, short int)");
    await database.query("create view {schema}.v as select * from {schema}.u");
    for (
      const [change, says] of [
        [{ table: `${schema}.u`, jobColumn: "job" }, "text, varchar or bigint, not uuid"],
        [{ table: `${schema}.u`, jobColumn: "short" }, "text, varchar or bigint, not integer"],
        [{ table: `${schema}.v`, jobColumn: "job" }, "no view"],
      ] as const
    ) {
      await assertRejects(() => reconcilePending({ ...spec, ...change }, enqueue), InvalidOptionError, says);
    }
  }));

Deno.test("what is no job's id is not stamped", () =>
  withOrders(async ({ spec, insert }) => {
    await insert(1);
    const result = await reconcilePending(spec, () => Promise.resolve("order-77"));
    assertEquals([result.enqueued, result.failed], [0, 1]);
  }));

Deno.test("an id that a short column would cut fails", () =>
  withOrders(async ({ spec, enqueue, insert, query, schema }) => {
    await insert(1);
    await query(`alter sequence "${schema}".job_id_seq restart with 100`);
    assertEquals((await reconcilePending(spec, enqueue)).failed, 1);
  }, "varchar(2)"));

Deno.test("reconcilePending() refuses names that are none, and what is not there", () =>
  withOrders(async ({ spec, enqueue }) => {
    const refused: [Partial<ReconcileSpec>, string][] = [
      [{ table: "a.b.c" }, "table"],
      [{ table: "" }, "table"],
      [{ table: "x".repeat(64) }, "63 bytes"],
      [{ table: "orders; drop table orders" }, "a table that is there"],
      [{ jobColumn: 'id" = 1' }, "a column of"],
      [{ jobColumn: "a\0" }, "jobColumn"],
      [{ where: " " }, "where"],
      [{ batch: 0 }, "batch"],
      [{ rescueWhere: "true" }, "rescueDeadJobs"],
      [{ rescueDeadJobs: "yes" } as unknown as Partial<ReconcileSpec>, "true or false"],
      [{ rescueDead: true } as Partial<ReconcileSpec>, "rescueDead"],
    ];
    for (const [change, says] of refused) {
      await assertRejects(() => reconcilePending({ ...spec, ...change }, enqueue), InvalidOptionError, says);
    }
    await assertRejects(() => reconcilePending(spec, null as never), InvalidOptionError, "a function");
    const periodic = { ...spec, name: "p", every: 60_000, batch: -1 };
    assertThrows(() => reconcilePeriodic(periodic, enqueue), InvalidOptionError, "batch");
  }));

Deno.test("reconcilePeriodic() makes a periodic whose runs tell their counts", () =>
  withOrders(async ({ spec, enqueue, insert, url, schema }) => {
    await insert(3);
    const periodic = reconcilePeriodic({ ...spec, name: "orders.reconcile", every: 3_600_000 }, enqueue);
    await using runtime = createRuntime({
      url,
      schema,
      registrars: [{ periodics: [periodic] }],
      work: ["maintenance"],
    });
    await runtime.start();
    const result = await runtime.wait(await runtime.runPeriodic("orders.reconcile"), 20_000);
    assert(result.done);
    assertEquals(result.output, { enqueued: 3, rescued: 0, skipped: 0, failed: 0 });
  }));
