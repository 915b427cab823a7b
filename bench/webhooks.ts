/**
 * How many webhooks one process delivers a second to 50 endpoints, and whether a dead endpoint with 10,000 deliveries in
 * line slows the others. Run with `deno task bench webhooks`. The receiver is a process of its own on the same machine,
 * as is PostgreSQL: only the ratios mean something on another one.
 *
 * @module
 */
import postgres from "postgres";
import { Webhooks } from "../webhooks/mod.ts";
import { createRuntime, type EventType, type PostgresRuntime, silentLog } from "../mod.ts";
import { pause } from "./pause.ts";

/** The endpoints that are alive. */
export const ENDPOINTS = 50;
/** By how much a dead endpoint may lengthen the median of the others. */
export const LATENCY_TIMES_MAX = 2;
const REPLAYS = 10;
const LATENCY_PAUSE_MS = 100;

/** What {@linkcode measureWebhooks} measures. */
export interface WebhooksBenchOptions {
  /** The database. */
  readonly url: string;
  /** How many rounds of deliveries. */
  readonly rounds: number;
  /** How many events a round has; each goes to every endpoint. */
  readonly events: number;
  /** How many deliveries the dead endpoint has in line. */
  readonly backlog: number;
  /** How many events the latencies are of, each delivered to every endpoint. */
  readonly latencyEvents: number;
}

/** What was measured. */
export interface WebhooksResult {
  /** Deliveries a second, one number a round. */
  readonly rates: readonly number[];
  /** How late deliveries arrive, in ms. */
  readonly alone: readonly number[];
  /** The same beside the dead endpoint. */
  readonly beside: readonly number[];
}

interface Got {
  readonly count: number;
  readonly firstAt: number;
  readonly lastAt: number;
  readonly latencies: readonly number[];
}

const TYPES: readonly EventType[] = ["bench.alive", "bench.dead"].map((type) => ({
  type,
  description: "Something to send.",
  subject: "nothing",
  exposure: "webhook",
}));

/** One process that sends, with 50 endpoints at one receiver. */
export class WebhooksBench implements AsyncDisposable {
  private constructor(
    readonly runtime: PostgresRuntime,
    readonly webhooks: Webhooks,
    readonly sql: postgres.Sql,
    readonly schema: string,
    readonly receiver: string,
    readonly child: Deno.ChildProcess,
  ) {}

  /** Makes the schema and the endpoints, and starts both sides. */
  static async open(
    url: string,
    schema = `bench_${crypto.randomUUID().slice(0, 8)}`,
  ): Promise<WebhooksBench> {
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--allow-net", new URL("./webhooks/receiver.ts", import.meta.url).href],
      stdout: "piped",
    }).spawn();
    const reader = child.stdout.getReader();
    const port = Number(new TextDecoder().decode((await reader.read()).value));
    reader.releaseLock();
    const receiver = `http://127.0.0.1:${port}/`;
    const webhooks = new Webhooks({
      secretKey: btoa("k".repeat(32)),
      egress: { allowHttp: true, allowAddresses: ["127.0.0.1"] },
    });
    const runtime = createRuntime({
      url,
      schema,
      registrars: [{ eventTypes: TYPES }, webhooks.registrar],
      queues: [{ name: "webhook", concurrency: 200 }],
      poolSize: 10,
      log: silentLog,
    });
    await runtime.migrate();
    await runtime.start();
    for (let index = 0; index < ENDPOINTS; index++) {
      await webhooks.create({ ownerId: null, url: `${receiver}${index}`, eventTypes: ["bench.alive"] });
    }
    const sql = postgres(url, { max: 1, onnotice: () => {} });
    return new WebhooksBench(runtime, webhooks, sql, schema, receiver, child);
  }

  /** Records events and waits until all of their deliveries came. */
  async deliver(events: number): Promise<Got> {
    await this.reset();
    await this.runtime.recorder.recordMany(
      Array.from({ length: events }, () => ({ type: "bench.alive", subject: "1" })),
    );
    return await this.until(events * ENDPOINTS);
  }

  /** How late deliveries arrive after the record of their events, in ms, at a moderate rate. */
  async latencies(events: number): Promise<readonly number[]> {
    await this.reset();
    for (let index = 0; index < events; index++) {
      await this.runtime.recorder.record({ type: "bench.alive", subject: "1", data: { at: Date.now() } });
      await pause(LATENCY_PAUSE_MS);
    }
    return (await this.until(events * ENDPOINTS)).latencies;
  }

  async until(count: number): Promise<Got> {
    for (;;) {
      const got: Got = await (await fetch(this.receiver)).json();
      if (got.count >= count) return got;
      await pause(100);
    }
  }

  async reset(): Promise<void> {
    await (await fetch(this.receiver, { method: "DELETE" })).body?.cancel();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.runtime.stop(1000);
    this.child.kill("SIGKILL");
    await this.child.status;
    await this.child.stdout.cancel();
    await this.sql.unsafe(`drop schema if exists ${this.schema} cascade`);
    await this.sql.end();
  }
}

/** An endpoint that takes connections and never answers, with a backlog. */
async function addDead(bench: WebhooksBench, backlog: number): Promise<Deno.Listener> {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  (async () => {
    const open: Deno.Conn[] = [];
    for await (const connection of listener) open.push(connection);
    for (const connection of open) connection.close();
  })();
  const { port } = listener.addr as Deno.NetAddr;
  const since = new Date(Date.now() - 60_000);
  const ids = await bench.runtime.recorder.recordMany(
    Array.from({ length: backlog / REPLAYS }, () => ({ type: "bench.dead", subject: "1" })),
  );
  for (const id of ids) await bench.runtime.events.awaitFanout(id, 60_000);
  const { endpoint } = await bench.webhooks.create({
    ownerId: null,
    url: `http://127.0.0.1:${port}/`,
    eventTypes: ["bench.dead"],
  });
  // What is in line is the same as after a fan-out, and is there sooner.
  for (let index = 0; index < REPLAYS; index++) {
    const { jobId } = await bench.webhooks.replay(endpoint.id, {
      since,
      until: new Date(Date.now() + 60_000),
    });
    await bench.runtime.wait(jobId, 60_000);
  }
  // In line, and known to be dead: its first requests have passed their limit,
  // and the others have been sent away once. Until then they are a burst like any other.
  while ((await bench.webhooks.get(endpoint.id)).failingSince === null) await pause(100);
  while ((await bench.runtime.overview("webhook.deliver")).oldestPendingMs !== null) await pause(200);
  return listener;
}

/** Measures the rate, and the latencies without a dead endpoint and beside one. */
export async function measureWebhooks(options: WebhooksBenchOptions): Promise<WebhooksResult> {
  const { url, rounds, events, backlog, latencyEvents } = options;
  await using bench = await WebhooksBench.open(url);
  await bench.deliver(20);
  const rates: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const { firstAt, lastAt, count } = await bench.deliver(events);
    rates.push(Math.round(count / Math.max(1, lastAt - firstAt) * 1000));
  }
  const alone = await bench.latencies(latencyEvents);
  const listener = await addDead(bench, backlog);
  const beside = await bench.latencies(latencyEvents);
  listener.close();
  return { rates, alone, beside };
}
