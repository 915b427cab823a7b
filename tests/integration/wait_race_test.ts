import { assert, assertLess } from "@std/assert";
import { createRuntime, type PostgresRuntime, silentLog } from "../../mod.ts";
import { testDatabaseUrl, uniqueSchema } from "../support/test_database.ts";

const POLL_MS = 10_000;

Deno.test("a job that ends while its ender is still being asked to tell is not waited for until the poll", async () => {
  const url = await testDatabaseUrl();
  const schema = uniqueSchema();
  const open = (): PostgresRuntime =>
    createRuntime({
      url,
      schema,
      log: silentLog,
      settings: { pollMs: POLL_MS },
      registrars: [{
        kinds: [{ name: "k", queue: "default", maxAttempts: 1, timeout: 5000, handler: () => {} }],
      }],
    });
  const worker = open();
  const caller = open();
  try {
    await worker.migrate();
    await worker.start();
    // Some jobs in a hundred end in that moment.
    for (let job = 0; job < 300; job++) {
      const id = await caller.enqueue("k");
      const began = performance.now();
      assert((await caller.wait(id, 2 * POLL_MS)).done);
      assertLess(performance.now() - began, POLL_MS / 2);
    }
  } finally {
    await worker.stop();
    await caller.stop();
  }
});
