import { createPostgresStore } from "../../adapters/postgres/mod.ts";
import { createRuntime } from "../../mod.ts";
import { silentLog } from "../../ports/log.ts";
import type { Bench, Harness } from "../conformance/harness.ts";
import begin, { runSql } from "../drivers/postgres_transaction.ts";
import { loadInline } from "./load_inline.ts";

/** The suite on PostgreSQL, with handlers in the main thread or in worker threads. */
export function postgresHarness(url: string, handlers: "inline" | "threads"): Harness {
  const inThreads = handlers === "threads";
  return {
    name: inThreads ? "PostgreSQL, threads" : "PostgreSQL, inline",
    capabilities: { canEndHandlers: inThreads },
    handler: inThreads ? (module) => Promise.resolve(module) : loadInline,
    open: () => openBench(url),
  };
}

async function openBench(url: string): Promise<Bench> {
  // A name that must be quoted, so that every statement shows that it does.
  const schema = `Conformance "${crypto.randomUUID().slice(0, 8)}"`;
  const options = { url, schema, log: silentLog };
  const migrating = createPostgresStore(options);
  await migrating.migrate();
  await migrating.close();
  return {
    async store() {
      const store = createPostgresStore({ ...options, poolSize: 4 });
      await store.open();
      return store;
    },
    runtime: ({ graceMs, ...parts }) =>
      createRuntime({ ...parts, ...options, executor: { graceMs, threads: 2 } }),
    begin: () => begin({ url }),
    handlerTransactions: {
      module: new URL("../drivers/postgres_transaction.ts", import.meta.url).href,
      args: { url },
    },
    [Symbol.asyncDispose]: () =>
      runSql(url, `drop schema if exists "${schema.replaceAll('"', '""')}" cascade`),
  };
}
