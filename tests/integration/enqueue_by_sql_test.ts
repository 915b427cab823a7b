import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { createRuntime, InvalidOptionError, type PostgresRuntime } from "../../mod.ts";
import { testDatabaseUrl, uniqueSchema } from "../support/test_database.ts";
import { connectPostgres } from "./support/connect.ts";

type Sql = ReturnType<typeof connectPostgres>;

async function withSql(
  body: (
    it: { sql: Sql; runtime: PostgresRuntime; schema: string; call: (args: string) => Promise<string> },
  ) => Promise<void>,
  schema = uniqueSchema(),
): Promise<void> {
  const url = await testDatabaseUrl();
  const sql = connectPostgres(url, 4);
  const quoted = `"${schema.replaceAll('"', '""')}"`;
  const runtime = createRuntime({
    url,
    schema,
    settings: { pollMs: 60_000 },
    queues: [{ name: "default", concurrency: 2 }, { name: 'o"dd', concurrency: 2 }],
    registrars: [{
      kinds: [{
        name: "order.mail",
        queue: 'o"dd',
        maxAttempts: 3,
        timeout: 20_000,
        handler: (args) => args,
      }],
      periodics: [{ name: "sweep", every: 60_000, handler: () => {} }],
    }],
  });
  try {
    await runtime.migrate();
    await body({
      sql,
      runtime,
      schema: quoted,
      call: async (args) => String((await sql.unsafe(`select ${quoted}.enqueue(${args}) as id`))[0]!.id),
    });
  } finally {
    await runtime.stop();
    await sql.unsafe(`drop schema ${quoted} cascade`);
    await sql.end();
  }
}

Deno.test("enqueue() in SQL writes the job that enqueue() writes, and wakes its queue without a poll", () =>
  withSql(async ({ runtime, call }) => {
    await runtime.start();
    const id = await call(`'order.mail', '{"b": 1, "a": [2]}'`);
    const result = await runtime.wait(id, 20_000);
    assert(result.done);
    assertEquals([result.state, result.output], ["completed", { b: 1, a: [2] }]);
    const [bySql, byCode] = [id, await runtime.enqueue("order.mail", { b: 1, a: [2] })].map((each) =>
      runtime.get(each)
    );
    const parts = (
      job: Awaited<typeof bySql>,
    ) => [job!.kind, job!.queue, job!.priority, job!.maxAttempts, job!.args];
    assertEquals(parts(await bySql!), parts(await byCode!));
    const bare = await call(`'order.mail'`);
    assertEquals((await runtime.get(bare))!.args, null);
    const later = await call(
      `'order.mail', '{}', run_at => now() + interval '1 hour', queue => 'default', priority => 4`,
    );
    const job = (await runtime.get(later))!;
    assertEquals([job.queue, job.priority, job.state], ["default", 4, "pending"]);
    assert(Date.parse(job.scheduledAt) > Date.now() + 3_000_000);
  }, `Shop "it's" ${uniqueSchema()}`));

Deno.test("a trigger enqueues with the row, if and only if its transaction commits", () =>
  withSql(async ({ sql, runtime, schema }) => {
    await runtime.start();
    await sql.unsafe(`
      create table ${schema}.orders (id int primary key, job_id bigint);
      create function ${schema}.mail_order() returns trigger language plpgsql as $$
      begin
        new.job_id := ${schema}.enqueue('order.mail', jsonb_build_object('orderId', new.id), unique_by_args => true);
        return new;
      end $$;
      create trigger mail before insert on ${schema}.orders for each row execute function ${schema}.mail_order()`);
    await sql.unsafe(`insert into ${schema}.orders values (1), (2)`);
    const rows = await sql.unsafe(`select id, job_id from ${schema}.orders order by id`);
    for (const { id, job_id } of rows) {
      const result = await runtime.wait(String(job_id), 20_000);
      assert(result.done);
      assertEquals(result.output, { orderId: id });
    }
    await assertRejects(() =>
      sql.begin(async (tx) => {
        await tx.unsafe(`insert into ${schema}.orders values (3)`);
        throw new Error("no");
      })
    );
    assertEquals((await runtime.list({ kind: "order.mail" })).length, 2);
  }));

Deno.test("unique_by_args in SQL and uniqueByArgs in code hold one key, under concurrency too", () =>
  withSql(async ({ runtime, call, sql, schema }) => {
    await runtime.start();
    await runtime.pauseQueue('o"dd');
    const args = { b: "ä", a: [1, { d: 1.5, c: null }] };
    const id = await runtime.enqueue("order.mail", args, { uniqueByArgs: true });
    const text = `'order.mail', '{"a": [1, {"c": null, "d": 1.5}], "b": "ä"}', unique_by_args => true`;
    assertEquals(await call(text), id);
    await runtime.cancel(id);
    const next = await call(text);
    assert(next !== id);
    assertEquals(await runtime.enqueue("order.mail", args, { uniqueByArgs: true }), next);
    const ids = await Promise.all(
      Array.from({ length: 40 }, (_, n) => call(`'order.mail', '{"n": ${n % 2}}', unique_by_args => true`)),
    );
    assertEquals(new Set(ids).size, 2);
    await assertRejects(
      () =>
        sql.begin("isolation level repeatable read", async (tx) => {
          await tx`select 1`;
          await runtime.enqueue("order.mail", { late: 1 }, { uniqueByArgs: true });
          await tx.unsafe(`select ${schema}.enqueue('order.mail', '{"late": 1}', unique_by_args => true)`);
        }),
      Error,
      "could not serialize",
    );
  }));

Deno.test("enqueue() in SQL refuses what enqueue() refuses, with what was given and what was expected", () =>
  withSql(async ({ runtime, call }) => {
    const before = await assertRejects(() => call(`'order.mail'`), Error);
    assertStringIncludes(before.message, `kind "order.mail": no process that declares it has started so far`);
    await runtime.start();
    await runtime.pauseQueue('o"dd');
    const big = `to_jsonb(repeat('x', 1048576 - 2))`;
    await call(`'order.mail', ${big}`);
    const nested = (depth: number) => `'order.mail', (repeat('[', ${depth}) || repeat(']', ${depth}))::jsonb`;
    await call(nested(500));
    await call(
      `'order.mail', (select jsonb_agg(jsonb_build_object('n', n)) from generate_series(1, 2000) as n)`,
    );
    const refused: [string, string][] = [
      [`'order.mial'`, `kind "order.mial"`],
      [`null`, "kind null"],
      [`'periodic:sweep'`, "periodic:sweep"],
      [`'order.mail', queue => 'gone'`, `the queue "gone"`],
      [`'order.mail', priority => 5`, "priority 5: expected 1 (first)"],
      [`'order.mail', priority => null`, "priority null"],
      [`'order.mail', run_at => 'infinity'`, "run_at infinity"],
      [`'order.mail', run_at => '0044-03-15 BC'`, "from the year 1"],
      [`'order.mail', to_jsonb(repeat('x', 1048576 - 1))`, "1048577 bytes: the most is 1048576"],
      [nested(501), "deeper than 500"],
    ];
    for (const [args, says] of refused) {
      const error = await assertRejects(() => call(args), Error);
      assertStringIncludes(error.message, says);
      assertEquals(Reflect.get(error, "code"), "22023");
    }
  }));

Deno.test("enqueue() in SQL takes the instants that enqueue() takes: the years 1 to 9999, all of them", () =>
  withSql(async ({ runtime, call }) => {
    await runtime.start();
    await runtime.pauseQueue('o"dd');
    for (const at of ["0001-01-01T00:00:00.000Z", "1899-12-31T12:00:00.000Z", "9999-12-31T23:59:59.999Z"]) {
      const bySql = (await runtime.get(await call(`'order.mail', run_at => '${at}'`)))!;
      const byCode = (await runtime.get(await runtime.enqueue("order.mail", null, { runAt: new Date(at) })))!;
      if (at.startsWith("9999")) assertEquals(bySql.scheduledAt, byCode.scheduledAt);
      assertEquals([bySql.state, byCode.state], ["pending", "pending"]);
    }
    for (const at of ["0001-01-01 00:00:00+00 BC", "10000-01-01 00:00:00+00", "infinity", "-infinity"]) {
      await assertRejects(
        () => call(`'order.mail', run_at => '${at}'`),
        Error,
        "from the year 1 to the year 9999",
      );
    }
    for (const at of ["0000-12-31T23:59:59.999Z", "+010000-01-01T00:00:00.000Z"]) {
      const runAt = new Date(at);
      await assertRejects(
        () => runtime.enqueue("order.mail", null, { runAt }),
        InvalidOptionError,
        "from the year 1 to the year 9999",
      );
    }
  }));
