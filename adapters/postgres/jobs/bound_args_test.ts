import { assertEquals, assertRejects } from "@std/assert";
import { newJob, withStore } from "../fixture_test.ts";

const INSERT = "insert into {schema}.job (kind, queue, priority, max_attempts, args, scheduled_at)";

Deno.test("args that no claim could read are refused where they are inserted, and the queue goes on", () =>
  withStore(async ({ store, claim }) => {
    const insert = (args: string) =>
      store.database.query(`${INSERT} select 'k', 'q', 1, 1, ${args}, clock_timestamp()`);
    // 5 KB of JSON, whose text has 68 MB.
    const huge = "(select jsonb_agg(1e131071) from generate_series(1, 520))";
    await assertRejects(() => insert(huge), Error, "more than 64 MiB as text");
    await insert("to_jsonb(repeat('x', 2000000))");
    await store.insert([newJob()]);
    assertEquals((await claim(5)).length, 2);
  }));
