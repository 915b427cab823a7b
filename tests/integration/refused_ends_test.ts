import { assert, assertEquals, assertLess, assertMatch, assertStringIncludes } from "@std/assert";
import postgres from "postgres";
import { createPostgresStore } from "../../adapters/postgres/postgres_store.ts";
import { createRuntime, type Kind, type PostgresRuntime } from "../../mod.ts";
import type { LogFields } from "../../ports/log.ts";
import { eventually } from "../conformance/eventually.ts";
import { testDatabaseUrl, uniqueSchema } from "../support/test_database.ts";

interface Line {
  readonly level: string;
  readonly event: string;
  readonly fields: LogFields;
}

/** A runtime that works in this process, and what it logs. */
class Works implements AsyncDisposable {
  readonly lines: Line[] = [];
  readonly runtime: PostgresRuntime;

  constructor(url: string, schema: string, kinds: readonly Kind[]) {
    const note = (level: string) => (event: string, fields: LogFields = {}) =>
      void this.lines.push({ level, event, fields });
    this.runtime = createRuntime({
      url,
      schema,
      registrars: [{ kinds }],
      log: { debug: () => {}, info: note("info"), warn: note("warn"), error: note("error") },
      settings: { pollMs: 100, heartbeatMs: 300, lostAfterMs: 900, stopGraceMs: 500 },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.runtime.stop();
  }
}

function kind(name: string, handler: Kind["handler"], change: Partial<Kind> = {}): Kind {
  return { name, queue: "default", maxAttempts: 3, timeout: 5000, backoff: () => 10, handler, ...change };
}

const REFUSE_JOB_7 = (schema: string) => `
  create function ${schema}.refuse() returns trigger language plpgsql as $$
  begin
    if (old.args ->> 'poison')::boolean then raise exception 'not this one'; end if;
    return old;
  end $$;
  create trigger refuse before delete on ${schema}.job for each row execute function ${schema}.refuse()`;

Deno.test("an end that the database refuses is set aside: the others end, the log stays quiet, and it ends later", async () => {
  const url = await testDatabaseUrl();
  const schema = uniqueSchema();
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    await using works = new Works(url, schema, [kind("k", () => Promise.resolve(null))]);
    const { runtime, lines } = works;
    await runtime.migrate();
    await sql.unsafe(REFUSE_JOB_7(schema));
    await runtime.start();
    const poisoned = await runtime.enqueueMany(
      Array.from({ length: 20 }, () => ({ kind: "k", args: { poison: true } })),
    );
    const healthy = await runtime.enqueueMany(Array.from({ length: 200 }, () => ({ kind: "k", args: {} })));
    for (const id of healthy) assertEquals((await runtime.wait(id, 10_000)).done, true);
    for (const id of poisoned) assertEquals((await runtime.get(id))?.state, "running");
    // Its slot is free, and calls about it are answered.
    assertEquals((await runtime.cancel(poisoned[0]!)).result, "requested");
    const refusals = lines.filter(({ event }) => event.includes("refuses the end"));
    assert(refusals.length >= 1 && refusals.length <= 5, `${refusals.length} lines`);
    assertEquals([refusals[0]!.level, refusals[0]!.fields.sqlState], ["error", "P0001"]);
    assert(poisoned.includes(String(refusals[0]!.fields.jobId)));
    assertLess(lines.length, 20);
    await sql.unsafe(`drop trigger refuse on ${schema}.job`);
    for (const id of poisoned) assertEquals((await runtime.wait(id, 20_000)).done, true);
    assertEquals((await runtime.get(poisoned[0]!))?.state, "cancelled");
    assertEquals((await runtime.get(poisoned[1]!))?.attempt, 1);
  } finally {
    await sql.unsafe(`drop schema if exists ${schema} cascade`);
    await sql.end();
  }
});

Deno.test("a stop with a refused end takes no longer, says so, and leaves the job to a rescue", async () => {
  const url = await testDatabaseUrl();
  const schema = uniqueSchema();
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    await using works = new Works(url, schema, [kind("k", () => Promise.resolve(null))]);
    await works.runtime.migrate();
    await sql.unsafe(REFUSE_JOB_7(schema));
    await works.runtime.start();
    const id = await works.runtime.enqueue("k", { poison: true });
    await eventually(() => works.lines.some(({ event }) => event.includes("refuses the end")));
    const began = performance.now();
    await works.runtime.stop();
    assertLess(performance.now() - began, 4000);
    const told = works.lines.find(({ event }) => event.includes("ends of runs not written"))!;
    assertEquals([told.level, told.fields.runs, told.fields.refused], ["error", 1, 1]);
    await sql.unsafe(`drop trigger refuse on ${schema}.job`);
    await using next = new Works(url, schema, [kind("k", () => Promise.resolve(null))]);
    await next.runtime.start();
    assertEquals((await next.runtime.wait(id, 15_000)).done, true);
    assertEquals((await next.runtime.get(id))?.errors[0]?.class, "worker lost");
  } finally {
    await sql.unsafe(`drop schema if exists ${schema} cascade`);
    await sql.end();
  }
});

Deno.test("in a database of another encoding the words of an error decide nothing, and an output is a failed attempt", async () => {
  const url = await testDatabaseUrl();
  const name = uniqueSchema();
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  await sql.unsafe(
    `create database ${name} encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' template template0`,
  );
  try {
    const latin = new URL(url);
    latin.pathname = `/${name}`;
    const gate = Promise.withResolvers<void>();
    await using works = new Works(latin.href, "millrace", [
      kind("throws", () => Promise.reject(new Error("broken 💥"))),
      kind("returns", () => Promise.resolve("💥"), { maxAttempts: 2 }),
      kind("tells", async (_args, ctx) => {
        ctx.progress(0.5, "half 💥");
        await gate.promise;
        return null;
      }),
    ]);
    const { runtime } = works;
    await runtime.migrate();
    await runtime.start();
    const [thrown, returned, told] = [
      await runtime.enqueue("throws"),
      await runtime.enqueue("returns"),
      await runtime.enqueue("tells"),
    ];
    await eventually(async () => (await runtime.get(told))?.progress?.note === "half ?");
    gate.resolve();
    assertEquals((await runtime.wait(told, 10_000)).done, true);
    for (const id of [thrown, returned]) {
      const result = await runtime.wait(id, 10_000);
      assertEquals(result.done && result.state, "discarded");
    }
    const errors = (await runtime.get(thrown))!.errors;
    assertEquals(errors.map(({ attempt, message }) => [attempt, message]), [
      [1, "broken ?"],
      [2, "broken ?"],
      [3, "broken ?"],
    ]);
    const refused = (await runtime.get(returned))!.errors;
    assertEquals(refused.map(({ attempt }) => attempt), [1, 2]);
    assertMatch(refused[0]!.message, /can't store what the handler returned/);
    assertStringIncludes(refused[0]!.message, "22P05");
  } finally {
    await sql.unsafe(`drop database if exists ${name} with (force)`);
    await sql.end();
  }
});

Deno.test("a dead process with a job that can't be put back keeps no other from being rescued, and is rescued once the cause is gone", async () => {
  const url = await testDatabaseUrl();
  const schema = uniqueSchema();
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  const store = createPostgresStore({ url, schema, listen: "off" });
  try {
    await using works = new Works(url, schema, [kind("k", () => Promise.resolve(null))]);
    await works.runtime.migrate();
    const ids: string[] = [];
    for (const args of ['{"poison": true}', "{}", "{}"]) {
      const owner = crypto.randomUUID();
      await store.register({ id: owner, name: "ghost", queues: ["default"] });
      const job = { kind: "k", queue: "default", priority: 2, maxAttempts: 3, runAt: null, unique: false };
      await store.insert([{ ...job, args }]);
      const [claimed] = await store.claim({ owner, queue: "default", limit: 1, free: 1 });
      ids.push(claimed!.id);
    }
    await sql.unsafe(`
      create function ${schema}.refuse() returns trigger language plpgsql as $$
      begin
        if (old.args ->> 'poison')::boolean then raise exception 'not this one'; end if;
        return new;
      end $$;
      create trigger refuse before update on ${schema}.job for each row execute function ${schema}.refuse()`);
    await works.runtime.start();
    for (const id of ids.slice(1)) assertEquals((await works.runtime.wait(id, 15_000)).done, true);
    assertEquals((await works.runtime.get(ids[0]!))?.state, "running");
    const told = await eventually(() =>
      works.lines.filter(({ event }) => event.includes("refuses the rescue"))
    );
    assertEquals(told.map(({ level, fields }) => [level, fields.jobId, fields.sqlState]), [[
      "error",
      ids[0],
      "P0001",
    ]]);
    await sql.unsafe(`drop trigger refuse on ${schema}.job`);
    assertEquals((await works.runtime.wait(ids[0]!, 15_000)).done, true);
  } finally {
    await store.close();
    await sql.unsafe(`drop schema if exists ${schema} cascade`);
    await sql.end();
  }
});

Deno.test("a job whose args somebody's SQL has nested too deep is discarded with a word, and its neighbours run", async () => {
  const url = await testDatabaseUrl();
  const schema = uniqueSchema();
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    await using works = new Works(url, schema, [kind("k", () => Promise.resolve(null))]);
    const { runtime } = works;
    await runtime.migrate();
    await sql.unsafe(`
      insert into ${schema}.job (kind, queue, max_attempts, priority, scheduled_at, args)
      values ('k', 'default', 3, 2, now(), (repeat('[', 6000) || repeat(']', 6000))::jsonb)`);
    await runtime.start();
    const next = await runtime.enqueue("k");
    assertEquals((await runtime.wait(next, 10_000)).done, true);
    const result = await runtime.wait("1", 10_000);
    assert(result.done && result.state === "discarded");
    assertMatch(result.error!, /nested deeper than 500 levels/);
  } finally {
    await sql.unsafe(`drop schema if exists ${schema} cascade`);
    await sql.end();
  }
});
