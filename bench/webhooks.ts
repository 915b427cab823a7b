/**
 * How many webhooks one process delivers a second to 50 endpoints, and whether a dead endpoint with 10,000 deliveries in
 * line slows the others. Run with `deno task bench:webhooks`. The receiver is a process of its own on the same machine,
 * as is PostgreSQL: only the ratios mean something on another one.
 *
 * @module
 */
import { startEmbedded } from "../embedded/mod.ts";
import { Webhooks } from "../events/webhooks/mod.ts";
import { createRuntime, type EventType, type PostgresRuntime, silentLog } from "../mod.ts";

const ENDPOINTS = 50;
const EVENTS = 200;
const ROUNDS = 3;
const BACKLOG = 10_000;
const REPLAYS = 10;
const LATENCY_EVENTS = 100;
const LATENCY_PAUSE_MS = 100;
const LATENCY_TIMES_MAX = 2;

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
class Bench implements AsyncDisposable {
  private constructor(
    readonly runtime: PostgresRuntime,
    readonly webhooks: Webhooks,
    readonly receiver: string,
    readonly child: Deno.ChildProcess,
  ) {}

  static async open(url: string): Promise<Bench> {
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
      schema: `bench_${crypto.randomUUID().slice(0, 8)}`,
      registrars: [{ eventTypes: TYPES }, webhooks.registrar],
      queues: [{ name: "webhook", concurrency: 200 }],
      poolSize: 10,
      log: silentLog,
    });
    await runtime.migrate();
    await runtime.start();
    for (let index = 0; index < ENDPOINTS; index++) {
      await webhooks.create({ url: `${receiver}${index}`, eventTypes: ["bench.alive"] });
    }
    return new Bench(runtime, webhooks, receiver, child);
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
  async latencies(): Promise<readonly number[]> {
    await this.reset();
    for (let index = 0; index < LATENCY_EVENTS; index++) {
      await this.runtime.recorder.record({ type: "bench.alive", subject: "1", data: { at: Date.now() } });
      await pause(LATENCY_PAUSE_MS);
    }
    return (await this.until(LATENCY_EVENTS * ENDPOINTS)).latencies.toSorted((one, other) => one - other);
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
  }
}

/** An endpoint that takes connections and never answers, with a backlog. */
async function addDead(bench: Bench): Promise<Deno.Listener> {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  (async () => {
    const open: Deno.Conn[] = [];
    for await (const connection of listener) open.push(connection);
    for (const connection of open) connection.close();
  })();
  const { port } = listener.addr as Deno.NetAddr;
  const since = new Date(Date.now() - 60_000);
  const ids = await bench.runtime.recorder.recordMany(
    Array.from({ length: BACKLOG / REPLAYS }, () => ({ type: "bench.dead", subject: "1" })),
  );
  for (const id of ids) await bench.runtime.events.awaitFanout(id, 60_000);
  const { endpoint } = await bench.webhooks.create({
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

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.floor((sorted.length - 1) * share)]!;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function say(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}

async function main(): Promise<number> {
  await using server = await startEmbedded({ ephemeral: true });
  await using bench = await Bench.open(server.url);
  await bench.deliver(20);
  const rates: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const { firstAt, lastAt, count } = await bench.deliver(EVENTS);
    rates.push(Math.round(count / (lastAt - firstAt) * 1000));
  }
  say(`deliveries/s to ${ENDPOINTS} endpoints: ${rates.toSorted((one, other) => one - other).join(", ")}`);
  const alone = await bench.latencies();
  const listener = await addDead(bench);
  const beside = await bench.latencies();
  listener.close();
  for (
    const [name, sorted] of [["alone", alone], [`beside a dead one with ${BACKLOG} in line`, beside]] as const
  ) {
    say(
      `latency ${name}: median ${at(sorted, 0.5)} ms, 95 % ${at(sorted, 0.95)} ms, 99 % ${
        at(sorted, 0.99)
      } ms`,
    );
  }
  const times = at(beside, 0.5) / Math.max(1, at(alone, 0.5));
  say(`the median is ${times.toFixed(2)} times what it was; the bound is ${LATENCY_TIMES_MAX}`);
  return times <= LATENCY_TIMES_MAX ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main());
