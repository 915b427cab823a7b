import { assertEquals } from "@std/assert";
import postgres from "postgres";
import { cronerSchedule } from "../../adapters/croner/schedule.ts";
import { createPostgresStore } from "../../adapters/postgres/postgres_store.ts";
import type { Store } from "../../ports/store.ts";
import { buildRuntime } from "../../runtime/runtime.ts";
import { silentLog } from "../../shared/log.ts";
import { createExecutor } from "../../workers/executor.ts";
import { testDatabaseUrl, uniqueSchema } from "../support/test_database.ts";

/** Counts the calls of a store's methods. */
function counting<T extends object>(store: T, counts: Map<string, number>): T {
  return new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        counts.set(String(name), (counts.get(String(name)) ?? 0) + 1);
        return value.apply(target, args);
      };
    },
  });
}

Deno.test("an idle runtime asks the database about once a poll, not in a loop", async () => {
  const counts = new Map<string, number>();
  const url = await testDatabaseUrl();
  const schema = uniqueSchema();
  const store = createPostgresStore({ url, schema });
  await store.migrate();
  const counted: Store = counting(store, counts);
  const runtime = buildRuntime({
    store: counted,
    executor: createExecutor({ completion: store.completion, log: silentLog }),
    schedule: cronerSchedule,
    registrars: [{
      kinds: [{ name: "k", queue: "default", maxAttempts: 1, timeout: 1000, handler: () => {} }],
    }],
    settings: { pollMs: 200 },
  });
  try {
    await runtime.start();
    assertEquals((await runtime.wait(await runtime.enqueue("k"), 5000)).done, true);
    counts.clear();
    await new Promise((resolve) => setTimeout(resolve, 2000));
    // Two queues, ten polls each, and a look from the start that is owed after the job.
    const claims = counts.get("claim") ?? 0;
    assertEquals(claims >= 10 && claims <= 40, true, `${claims} claims in 2 s`);
  } finally {
    await runtime.stop();
    await dropSchema(url, schema);
  }
});

async function dropSchema(url: string, schema: string): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  await sql.unsafe(`drop schema "${schema}" cascade`);
  await sql.end();
}
