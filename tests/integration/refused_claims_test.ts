import { assert, assertEquals, assertLess } from "@std/assert";
import postgres from "postgres";
import { createRuntime } from "../../mod.ts";
import type { LogFields } from "../../ports/log.ts";
import { eventually } from "../conformance/eventually.ts";
import { testDatabaseUrl, uniqueSchema } from "../support/test_database.ts";

const TASK = "claim refused jobs from default";

Deno.test("a trigger that raises what looks like an outage, a lock or a conflict stops neither claims, ends nor enqueues of others", async () => {
  const url = await testDatabaseUrl();
  const schema = uniqueSchema();
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  const ignore = () => {};
  const runtime = createRuntime({
    url,
    schema,
    registrars: [{
      kinds: [{ name: "k", queue: "default", maxAttempts: 3, timeout: 5000, handler: ignore }],
    }],
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    settings: { pollMs: 100, heartbeatMs: 300, lostAfterMs: 900, stopGraceMs: 500 },
  });
  const states = ["08001", "25006", "40001", "53000", "55P03", "57014", "58030"];
  try {
    await runtime.migrate();
    await sql.unsafe(`
      create function ${schema}.refuse() returns trigger language plpgsql as $$
      declare
        state text := new.args ->> (tg_op || ' ' || tg_table_name);
      begin
        if state is not null then
          raise exception 'not this one' using errcode = state;
        end if;
        return new;
      end $$;
      create trigger refuse before insert or update on ${schema}.job for each row execute function ${schema}.refuse();
      create trigger refuse before insert on ${schema}.job_history for each row execute function ${schema}.refuse()`);
    const refused: string[] = [];
    for (const state of states) {
      refused.push(await runtime.enqueue("k", { "UPDATE job": state }));
      refused.push(await runtime.enqueue("k", { "INSERT job_history": state }));
    }
    const healthy = await runtime.enqueueMany(Array.from({ length: 100 }, () => ({ kind: "k" })));
    await runtime.start();
    for (const id of healthy) assertEquals((await runtime.wait(id, 15_000)).done, true);
    for (const state of states) {
      const calls = await Promise.allSettled(
        Array.from({ length: 8 }, (_, n) => runtime.enqueue("k", n === 3 ? { "INSERT job": state } : { n })),
      );
      assertEquals(
        calls.map(({ status }) => status).filter((status) => status === "rejected").length,
        1,
        state,
      );
    }
    await sql.unsafe(`drop function ${schema}.refuse() cascade`);
    for (const id of refused) assertEquals((await runtime.wait(id, 15_000)).done, true);
  } finally {
    await runtime.stop();
    await sql.unsafe(`drop schema if exists ${schema} cascade`);
    await sql.end();
  }
});

Deno.test("a worker goes on beside a job whose claim is refused: overview() tells of it until it runs, without a restart", async () => {
  const url = await testDatabaseUrl();
  const schema = uniqueSchema();
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  const errors: [event: string, fields: LogFields][] = [];
  const ignore = () => {};
  const runtime = createRuntime({
    url,
    schema,
    registrars: [{
      kinds: [{ name: "k", queue: "default", maxAttempts: 3, timeout: 5000, handler: ignore }],
    }],
    log: {
      debug: ignore,
      info: ignore,
      warn: ignore,
      error: (event, fields = {}) => void errors.push([event, fields]),
    },
    settings: { pollMs: 100, heartbeatMs: 300, lostAfterMs: 900, stopGraceMs: 500 },
  });
  try {
    await runtime.migrate();
    await sql.unsafe(`
      create sequence ${schema}.tries;
      create function ${schema}.refuse() returns trigger language plpgsql as $$
      begin
        if new.args ? 'poison' then
          perform nextval('${schema}.tries');
          raise exception 'not this one';
        end if;
        return new;
      end $$;
      create trigger refuse before update on ${schema}.job for each row execute function ${schema}.refuse()`);
    const poisoned = await runtime.enqueue("k", { poison: true });
    const healthy = await runtime.enqueueMany(Array.from({ length: 300 }, () => ({ kind: "k" })));
    await runtime.start();
    for (const id of healthy) assertEquals((await runtime.wait(id, 10_000)).done, true);
    const taskOf = async () => (await runtime.overview()).upkeep.find(({ task }) => task === TASK)!;
    const failing = await eventually(async () => {
      const task = await taskOf();
      return task.failuresInARow > 0 && task;
    });
    assertEquals(failing.lastError, `job ${poisoned} (k): not this one`);
    const [claiming] = (await runtime.overview()).upkeep.filter(({ task }) => task === "claim from default");
    assertEquals(claiming?.failuresInARow, 0);
    assertEquals(errors.map(([, { jobId, queue }]) => [jobId, queue]), [[poisoned, "default"]]);
    // One that is refused for ever is due for ever, and makes no hot loop of the claims.
    const tries = async () =>
      Number((await sql.unsafe(`select last_value from ${schema}.tries`))[0]!.last_value);
    const [before, begun] = [await tries(), performance.now()];
    await eventually(async () => (await taskOf()).failuresInARow >= 2);
    assertLess(await tries() - before, 5 + (performance.now() - begun) / 100);
    await sql.unsafe(`drop trigger refuse on ${schema}.job`);
    assertEquals((await runtime.wait(poisoned, 10_000)).done, true);
    await eventually(async () => (await taskOf()).failuresInARow === 0);
    assert((await runtime.get(poisoned))?.attempt === 1);
  } finally {
    await runtime.stop();
    await sql.unsafe(`drop schema if exists ${schema} cascade`);
    await sql.end();
  }
});
