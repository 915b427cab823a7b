import { assertLess } from "@std/assert";
import { createRuntime, type PostgresRuntime, silentLog } from "../../mod.ts";
import { eventually, pause } from "../conformance/eventually.ts";
import { testDatabaseUrl, uniqueSchema } from "../support/test_database.ts";
import { connectPostgres } from "./support/connect.ts";
import { TcpProxy } from "./support/tcp_proxy.ts";

/** Twice the time after which a process that can't renew its heartbeat starts nothing more. */
const OUTAGE_MS = 30_000;
/** What is promised is 1 s; the rest is for a machine whose cores are busy. */
const START_MS_MAX = 2000;

interface Seen {
  readonly runtime: PostgresRuntime;
  readonly startedAt: Map<string, number>;
}

function workingThrough(url: string, schema: string, listen: "auto" | "off"): Seen {
  const startedAt = new Map<string, number>();
  const note = (name: string) => void startedAt.set(name, performance.now());
  const of = { queue: "default", maxAttempts: 3, timeout: 10_000 };
  const runtime = createRuntime({
    url,
    schema,
    listen,
    log: silentLog,
    registrars: [{
      kinds: [{ ...of, name: "job", handler: (args) => note(String(args)) }],
      eventTypes: [{ type: "fact.told", description: "Something was told.", subject: "what" }],
      subscriptions: [{ name: "told", types: ["fact.told"], handler: () => note("event") }],
    }],
  });
  return { runtime, startedAt };
}

/** The first call that succeeds, tried again and again as impatient callers do. Resolves to when it had. */
async function untilItSucceeds(call: () => Promise<unknown>): Promise<number> {
  return await eventually(async () => {
    await call();
    return performance.now();
  }, 20_000);
}

for (const listen of ["auto", "off"] as const) {
  Deno.test(`after 30 s without a database jobs and events are worked within 1 s of the first success, listen: ${listen}`, async () => {
    const url = await testDatabaseUrl();
    const schema = uniqueSchema();
    await using proxy = new TcpProxy(url);
    const { runtime, startedAt } = workingThrough(proxy.url, schema, listen);
    try {
      await runtime.migrate();
      await runtime.start();
      await runtime.enqueue("job", "before");
      await eventually(() => startedAt.has("before"), 10_000);
      proxy.refuse();
      await pause(OUTAGE_MS);
      proxy.restore();
      const [jobAt, eventAt] = await Promise.all([
        untilItSucceeds(() => runtime.enqueue("job", "after")),
        untilItSucceeds(() => runtime.recorder.record({ type: "fact.told", subject: "it", data: {} })),
      ]);
      await eventually(() => startedAt.has("after") && startedAt.has("event"), 20_000);
      assertLess(startedAt.get("after")! - jobAt, START_MS_MAX);
      assertLess(startedAt.get("event")! - eventAt, START_MS_MAX);
    } finally {
      await runtime.stop();
      const sql = connectPostgres(url);
      await sql.unsafe(`drop schema if exists ${schema} cascade`);
      await sql.end();
    }
  });
}
