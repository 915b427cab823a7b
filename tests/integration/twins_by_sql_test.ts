import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { createRuntime, type Kind, type PostgresRuntime } from "../../mod.ts";
import { eventually } from "../conformance/eventually.ts";
import { testDatabaseUrl, uniqueSchema } from "../support/test_database.ts";
import { connectPostgres } from "./support/connect.ts";

const HOUR_MS = 3_600_000;
const BASE = { queue: "default", maxAttempts: 3, timeout: 20_000, handler: (args: unknown) => args } as const;
const KINDS = [
  { name: "plain", ...BASE },
  { name: "unique", ...BASE, unique: { by: ["order.id"] } },
  { name: "recent", ...BASE, unique: { by: ["id"], within: 60_000 } },
  { name: "all", ...BASE, unique: {} },
  { name: "debounced", ...BASE, debounce: { by: ["id"], quietMs: HOUR_MS, atMostMs: 2 * HOUR_MS } },
] as readonly Kind[];

interface Bench {
  readonly sql: ReturnType<typeof connectPostgres>;
  /** Started, with its queue paused. */
  readonly runtime: PostgresRuntime;
  readonly schema: string;
  /** `enqueue()` in SQL. */
  readonly call: (args: string) => Promise<string>;
  /** A row as an older program writes it. */
  readonly older: (kind: string, args: unknown) => Promise<string>;
}

async function withBench(body: (bench: Bench) => Promise<void>): Promise<void> {
  const [url, schema] = [await testDatabaseUrl(), uniqueSchema()];
  const sql = connectPostgres(url, 4);
  const runtime = createRuntime({
    url,
    schema,
    registrars: [{ kinds: KINDS }],
    queues: [{ name: "default", concurrency: 2 }],
  });
  try {
    await runtime.migrate();
    await runtime.start();
    await runtime.pauseQueue("default");
    await body({
      sql,
      runtime,
      schema,
      call: async (args) => String((await sql.unsafe(`select ${schema}.enqueue(${args}) as id`))[0]!.id),
      older: async (kind, args) => {
        const [row] = await sql.unsafe(
          `insert into ${schema}.job (kind, queue, priority, max_attempts, args, scheduled_at)
          values ($1::text, 'default', 2, 3, $2::text::jsonb, clock_timestamp()) returning id`,
          [kind, JSON.stringify(args)],
        );
        return String(row!.id);
      },
    });
  } finally {
    await runtime.stop();
    await sql.unsafe(`drop schema ${schema} cascade`);
    await sql.end();
  }
}

Deno.test("enqueue() in SQL keeps out the twins that enqueue() keeps out, and the other way round", () =>
  withBench(async ({ runtime, call }) => {
    const id = await call(`'unique', '{"order": {"id": 7, "at": 1}}'`);
    assertEquals(await runtime.offer("unique", { order: { at: 2, id: 7 } }), { id, added: false });
    const byCode = await runtime.enqueue("unique", { order: { id: "ä" } });
    assertEquals(await call(`'unique', '{"order": {"id": "ä"}}'`), byCode);
    assertEquals(await call(`'unique', '{"order": {"id": 7}}', unique_by_args => true`), id);
    // An earlier time moves it forward.
    const later = await call(`'unique', '{"order": {"id": 8}}', run_at => now() + interval '1 day'`);
    assertEquals(await call(`'unique', '{"order": {"id": 8}}', run_at => now() + interval '2 days'`), later);
    assertEquals(await call(`'unique', '{"order": {"id": 8}}'`), later);
    assert(Date.parse((await runtime.get(later))!.scheduledAt) <= Date.now() + 1000);
    await runtime.resumeQueue("default");
    await eventually(async () => (await runtime.get(later))!.state === "completed");
    assert(await call(`'unique', '{"order": {"id": 8}}'`) !== later);
    const recent = await call(`'recent', '{"id": 1}'`);
    await eventually(async () => (await runtime.get(recent))!.state === "completed");
    assertEquals(await call(`'recent', '{"id": 1}'`), recent);
    assertEquals(await runtime.offer("recent", { id: 1 }), { id: recent, added: false });
  }));

Deno.test("enqueue() in SQL debounces as enqueue() does, in the transaction that calls it", () =>
  withBench(async ({ runtime, call, sql, schema }) => {
    const id = await call(`'debounced', '{"id": 1, "n": 1}'`);
    const first = (await runtime.get(id))!;
    assert(Math.abs(Date.parse(first.scheduledAt) - Date.parse(first.enqueuedAt) - HOUR_MS) < 1000);
    assertEquals(await call(`'debounced', '{"id": 1, "n": 2}'`), id);
    const second = (await runtime.get(id))!;
    assertEquals(second.args, { id: 1, n: 2 });
    assert(second.scheduledAt > first.scheduledAt);
    await assertRejects(() =>
      sql.begin(async (tx) => {
        await tx.unsafe(`select ${schema}.enqueue('debounced', '{"id": 1, "n": 3}')`);
        throw new Error("no");
      })
    );
    assertEquals(await runtime.get(id), second);
    assertEquals(await runtime.offer("debounced", { id: 1, n: 4 }), { id, added: false });
    assertEquals((await runtime.get(id))!.args, { id: 1, n: 4 });
  }));

Deno.test("a key is the same whatever wrote its numbers, its order of keys and its lack of args", () =>
  withBench(async ({ runtime, call }) => {
    const args = { n: 9, list: [1.5, -0, 1e21, 100], text: 'x 1.50 "2.0"', "7.0": null };
    const id = await runtime.enqueue("all", args);
    const text = `{"7.0": null, "text": "x 1.50 \\"2.0\\"", "list": [1.500, 0.0, 1e21, 1e2], "n": 9.00}`;
    assertEquals(await call(`'all', '${text}'`), id);
    assert(await call(`'all', '${text.replace("x 1.50", "x 1.5")}'`) !== id);
    const none = await runtime.enqueue("all");
    assertEquals([await call(`'all'`), await call(`'all', '{}'`)], [none, none]);
    assertEquals(await runtime.enqueue("all", {}), none);
    const order = await runtime.enqueue("unique", { order: { id: { b: 1, a: 2.5 } } });
    assertEquals(await call(`'unique', '{"order": {"id": {"a": 2.50, "b": 1.0}}}'`), order);
  }));

Deno.test("enqueue() in SQL refuses args that lack a path, and a time for a debounced kind", () =>
  withBench(async ({ runtime, call }) => {
    const refused: [string, string][] = [
      [`'unique'`, `args have no "order.id"`],
      [`'unique', '{"order": 1}'`, `args have no "order.id"`],
      [`'unique', '{"order": [{"id": 1}]}'`, `args have no "order.id"`],
      [`'debounced', '{}'`, `args have no "id"`],
      [`'debounced', '{"id": 1}', run_at => '2100-01-01'`, `kind "debounced" is debounced`],
    ];
    for (const [args, says] of refused) {
      const error = await assertRejects(() => call(args), Error);
      assertStringIncludes(error.message, says);
      assertEquals(Reflect.get(error, "code"), "22023");
    }
    assertEquals(await runtime.list(), []);
  }));

Deno.test("any number of enqueuers by SQL and by code make one job", () =>
  withBench(async ({ runtime, call }) => {
    for (const kind of ["unique", "debounced"]) {
      const ids = await Promise.all(
        Array.from(
          { length: 50 },
          (_, n) =>
            n % 2 === 0
              ? call(`'${kind}', '{"id": 1, "order": {"id": 1}, "n": ${n}}'`)
              : runtime.enqueue(kind, { id: 1, order: { id: 1 }, n }),
        ),
      );
      assertEquals(new Set(ids).size, 1);
    }
    assertEquals((await runtime.list()).length, 2);
  }));

Deno.test("a row of a program that knows no rules keeps twins out, and ends with the reason where one keeps it out", () =>
  withBench(async ({ runtime, older, sql, schema }) => {
    const plain = await older("plain", { id: 1 });
    const first = await older("unique", { order: { id: 1 } });
    assertEquals(await runtime.offer("unique", { order: { id: 1 } }), { id: first, added: false });
    const second = await older("unique", { order: { id: 1 } });
    const ended = (await runtime.get(second))!;
    assertEquals([ended.state, ended.errors.map((error) => error.class)], ["cancelled", ["superseded"]]);
    assertStringIncludes(ended.errors[0]!.message, `job ${first}`);
    for (const id of [plain, first]) assertEquals((await runtime.get(id))!.state, "pending");

    const gathered = await older("debounced", { id: 1, n: 1 });
    assert(Date.parse((await runtime.get(gathered))!.scheduledAt) > Date.now() + HOUR_MS / 2);
    const later = await older("debounced", { id: 1, n: 2 });
    assertEquals((await runtime.get(later))!.state, "cancelled");
    assertEquals((await runtime.get(gathered))!.args, { id: 1, n: 2 });

    // Many at once, and with the unique key of an older program, whose key is released.
    const rows = await sql.unsafe(`
      with taken as (
        insert into ${schema}.job_key (kind, key, job_id)
        values ('unique', '\\x01', nextval('${schema}.job_id_seq'))
        returning *
      )
      insert into ${schema}.job (id, kind, queue, priority, max_attempts, args, unique_key, scheduled_at)
      select job_id, kind, 'default', 2, 3, '{"order": {"id": 2}}'::jsonb, key, clock_timestamp() from taken
      union all
      select nextval('${schema}.job_id_seq'), 'unique', 'default', 2, 3, '{"order": {"id": 2}}', null, clock_timestamp()
      from generate_series(1, 3)
      returning id`);
    assertEquals(rows.length, 4);
    const states = await Promise.all(rows.map(async ({ id }) => (await runtime.get(String(id)))!.state));
    assertEquals(states.toSorted(), ["cancelled", "cancelled", "cancelled", "pending"]);
    const keys = await sql.unsafe(`select from ${schema}.job_key where key = '\\x01'`);
    assertEquals(keys.length, 0);
  }));
