import { createPostgresStore } from "../../adapters/postgres/postgres_store.ts";
import { createRuntime } from "../../mod.ts";
import { silentLog } from "../../shared/log.ts";
import type { Bench, Harness } from "../conformance/harness.ts";
import begin, { runSql } from "../drivers/postgres_transaction.ts";
import { loadInline } from "./load_inline.ts";

/** Schemas of cases that have ended, emptied: to make one takes eight times as long. */
const EMPTY: string[] = [];

/** The suite on PostgreSQL, with handlers in the main thread or in worker threads. */
export function postgresHarness(url: string, handlers: "inline" | "threads"): Harness {
  const inThreads = handlers === "threads";
  return {
    name: inThreads ? "PostgreSQL, threads" : "PostgreSQL, inline",
    capabilities: { canEndHandlers: inThreads },
    handler: inThreads ? (module) => Promise.resolve(module) : loadInline,
    open: () => openBench(url, inThreads),
  };
}

/** Drops what is left of ended cases. */
export async function dropEmptySchemas(url: string): Promise<void> {
  for (const schema of EMPTY.splice(0)) await runSql(url, `drop schema ${quoted(schema)} cascade`);
}

async function openBench(url: string, inThreads: boolean): Promise<Bench> {
  const schema = EMPTY.pop() ?? await makeSchema(url);
  const options = { url, schema, log: silentLog };
  return {
    async store() {
      const store = createPostgresStore({ ...options, poolSize: 4 });
      await store.open();
      return store;
    },
    // Without threads, the smallest pool: what can wait for a connection does.
    runtime: ({ graceMs, ...parts }) =>
      createRuntime({
        ...parts,
        ...options,
        ...(inThreads ? {} : { poolSize: 4 }),
        executor: { graceMs, threads: 2 },
      }),
    begin: () => begin({ url }),
    handlerTransactions: {
      module: new URL("../drivers/postgres_transaction.ts", import.meta.url).href,
      args: { url },
    },
    async [Symbol.asyncDispose]() {
      await runSql(url, EMPTY_TABLES.replaceAll("{schema}", schema));
      EMPTY.push(schema);
    },
  };
}

async function makeSchema(url: string): Promise<string> {
  // A name that must be quoted, so that every statement shows that it does.
  const schema = `Conformance "${crypto.randomUUID().slice(0, 8)}"`;
  const migrating = createPostgresStore({ url, schema, log: silentLog });
  await migrating.migrate();
  await migrating.close();
  return schema;
}

/** All but the record of migrations, as a migration leaves them. */
const EMPTY_TABLES = `
  do $body$
  begin
    execute (
      select format('truncate %s restart identity', string_agg(format('%I.%I', schemaname, tablename), ', '))
      from pg_tables
      where schemaname = '{schema}' and tablename <> 'migration'
    );
  end
  $body$`;

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
