/**
 * How fast one process drains a queue of no-op jobs, beside the limit: the same claim and settle statements in a bare
 * loop, without any queue around them. Run with `deno task bench:drain`. Rounds are interleaved, medians are printed:
 * only the ratios mean something on another machine.
 *
 * @module
 */
import { createPostgresStore } from "../adapters/postgres/mod.ts";
import { startEmbedded } from "../embedded/mod.ts";
import { createRuntime, type Handler, type NewJob, silentLog } from "../mod.ts";
import noop from "./handlers/noop.ts";

/** What one way of draining reached. */
export interface DrainResult {
  /** Which way. */
  readonly name: string;
  /** Jobs per second, one number a round. */
  readonly rates: readonly number[];
}

/** What {@linkcode measureDrain} measures. */
export interface DrainOptions {
  /** The database. */
  readonly url: string;
  /** How many jobs are queued before each measurement. */
  readonly jobs: number;
  /** How many rounds. */
  readonly rounds: number;
}

const CLAIM_SIZE = 500;
const HANDLER = new URL("./handlers/noop.ts", import.meta.url);
const NEW_JOB: NewJob = {
  kind: "noop",
  queue: "default",
  args: `{"order": 4711, "note": "a payload of some fifty bytes"}`,
  priority: 2,
  maxAttempts: 3,
  runAt: null,
  unique: false,
};

/** Measures the limit, threads and functions, one after the other, in every round. */
export async function measureDrain(options: DrainOptions): Promise<DrainResult[]> {
  const ways: readonly [string, () => Promise<number>][] = [
    ["limit", () => drainBare(options)],
    ["threads, concurrency 500", () => drain(options, HANDLER, 500)],
    ["threads, concurrency 100", () => drain(options, HANDLER, 100)],
    ["threads, defaults", () => drain(options, HANDLER, 5)],
    ["main thread, concurrency 500", () => drain(options, noop, 500)],
  ];
  const rates = ways.map((): number[] => []);
  for (let round = 0; round < options.rounds; round++) {
    for (const [index, [, measure]] of ways.entries()) rates[index]!.push(await measure());
  }
  return ways.map(([name], index) => ({ name, rates: rates[index]! }));
}

/** The middle one of some numbers. */
export function median(numbers: readonly number[]): number {
  return numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)]!;
}

/** Claims and settles in a loop, with one claim under way while the last one is settled. */
async function drainBare({ url, jobs }: DrainOptions): Promise<number> {
  await using queue = await seeded(url, jobs);
  const { store, owner } = queue;
  const began = performance.now();
  let settling: Promise<unknown> = Promise.resolve();
  for (let claimed = 0; claimed < jobs;) {
    const batch = await store.claim({ owner, queue: "default", limit: CLAIM_SIZE, free: CLAIM_SIZE });
    claimed += batch.length;
    await settling;
    const ends = batch.map(({ id, run }) => ({
      id,
      run,
      to: "completed" as const,
      output: null,
      error: null,
    }));
    settling = store.settle(owner, ends);
  }
  await settling;
  return perSecond(jobs, began);
}

async function drain(
  { url, jobs }: DrainOptions,
  handler: Handler | URL,
  concurrency: number,
): Promise<number> {
  await using queue = await seeded(url, jobs);
  await using runtime = createRuntime({
    url,
    schema: queue.schema,
    log: silentLog,
    queues: [{ name: "default", concurrency }],
    registrars: [{ kinds: [{ name: "noop", queue: "default", maxAttempts: 3, timeout: 5000, handler }] }],
  });
  const began = performance.now();
  await runtime.start();
  while (await queue.isBusy()) await new Promise((resolve) => setTimeout(resolve, 20));
  return perSecond(jobs, began);
}

async function seeded(url: string, jobs: number) {
  const schema = `bench_${crypto.randomUUID().slice(0, 8)}`;
  const store = createPostgresStore({ url, schema });
  await store.migrate();
  const owner = crypto.randomUUID();
  await store.register({ id: owner, name: "bench", queues: [] });
  for (let left = jobs; left > 0; left -= 5000) {
    await store.insert(Array.from({ length: Math.min(left, 5000) }, () => NEW_JOB));
  }
  return {
    schema,
    store,
    owner,
    isBusy: async () => (await store.database.query("select from {schema}.job limit 1")).length > 0,
    [Symbol.asyncDispose]: async () => {
      await store.database.query("drop schema {schema} cascade");
      await store.close();
    },
  };
}

function perSecond(jobs: number, began: number): number {
  return Math.round(jobs * 1000 / (performance.now() - began));
}

if (import.meta.main) {
  await using server = await startEmbedded({ ephemeral: true });
  const results = await measureDrain({ url: server.url, jobs: 50_000, rounds: 5 });
  const limit = median(results[0]!.rates);
  const lines = results.map(({ name, rates }) => {
    const range = `[${Math.min(...rates)} to ${Math.max(...rates)}]`;
    return `${name.padEnd(30)} ${String(median(rates)).padStart(7)} jobs/s ${range.padEnd(20)} ` +
      `${(median(rates) / limit).toFixed(2)} of the limit`;
  });
  await Deno.stdout.write(new TextEncoder().encode(lines.join("\n") + "\n"));
}
