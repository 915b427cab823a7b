/**
 * Millrace as a peer of the benchmarks.
 *
 * @module
 */
import postgres from "postgres";
import { createRuntime, type Json, type PostgresRuntime, type Settings, silentLog } from "../../../mod.ts";
import { bulk, each, makeArgs, pause, produce } from "../shared/measures.mjs";
import { now } from "../shared/perform.mjs";
import { serve } from "../shared/serve.mjs";
import handler from "./handler.ts";

/** How the runtime under measurement is made. */
interface Open {
  readonly url: string;
  readonly schema: string;
  /** Whether the handler is a module in worker threads, or a function in the main thread. */
  readonly inline: boolean;
  /** How wide the queue is; null for the default queue table. */
  readonly concurrency: number | null;
  /** How many threads; null for the default. */
  readonly threads: number | null;
  /** How many connections a caller's own transactions have. */
  readonly connections: number;
  /** Times and sizes; the defaults where absent. */
  readonly settings?: Partial<Settings>;
}

const KIND = "noop";
const MARK_MS = 250;
/** Seldom, for each look takes processor time from what is measured; when it ended is told by the database. */
const LOOK_MS = 25;
/** When a single job is asked about: most have started by then, and a question asked before would be in their way. */
const ASK_AFTER_MS = 10;

let open: Open;
let sql: postgres.Sql;
let enqueuer: PostgresRuntime;
let worker: PostgresRuntime;

function runtime(): PostgresRuntime {
  return createRuntime({
    url: open.url,
    schema: open.schema,
    log: silentLog,
    ...(open.concurrency === null
      ? {}
      : { queues: [{ name: "default", concurrency: open.concurrency }, { name: "other", concurrency: 5 }] }),
    work: ["default", "maintenance"],
    ...(open.settings === undefined ? {} : { settings: open.settings }),
    ...(open.threads === null ? {} : { executor: { threads: open.threads } }),
    registrars: [{
      kinds: [{
        name: KIND,
        queue: "default",
        maxAttempts: 3,
        timeout: 30_000,
        handler: open.inline ? handler : new URL("./handler.ts", import.meta.url),
      }],
    }],
  });
}

const insert = (list: Json[]) => enqueuer.enqueueMany(list.map((args) => ({ kind: KIND, args })));

async function isBusy(): Promise<boolean> {
  return (await sql.unsafe(`select from ${open.schema}.job where queue = 'default' limit 1`)).length > 0;
}

/**
 * Waits until nothing is left. It looks at the last job first, through its key: to look for any job that is left walks
 * over all that were.
 */
async function drained(capMs: number): Promise<boolean> {
  const began = performance.now();
  const [last] = await sql.unsafe(
    `select max(id)::text as id from ${open.schema}.job where queue = 'default'`,
  );
  const hasEnded = async () =>
    (await sql.unsafe(`select from ${open.schema}.job_history where id = $1`, [last!.id], { prepare: true }))
      .length > 0;
  for (let isLastEnded = false; performance.now() - began < capMs; await pause(LOOK_MS)) {
    isLastEnded ||= last!.id === null || await hasEnded();
    if (isLastEnded && !await isBusy()) return true;
  }
  return false;
}

/** The database's clock. */
async function nowMs(): Promise<number> {
  const [row] = await sql.unsafe("select extract(epoch from clock_timestamp())::float8 * 1000 as ms");
  return Number(row!.ms);
}

/** When the last job ended, by the same clock, told in the statement that ended it. */
async function lastEndMs(): Promise<number> {
  const [row] = await sql.unsafe(
    `select extract(epoch from max(finished_at))::float8 * 1000 as ms from ${open.schema}.job_history where state = 'completed'`,
  );
  return Number(row!.ms);
}

async function countLeft(): Promise<number> {
  const [row] = await sql.unsafe(
    `select count(*)::int as left from ${open.schema}.job where queue = 'default'`,
  );
  return row!.left;
}

/** The handlers run in other threads: what they return is read from the history. */
async function latenciesMs(): Promise<number[]> {
  const rows = await sql.unsafe(
    `select output::text::float8 as ms from ${open.schema}.job_history where output is not null order by id`,
  );
  return rows.map((row) => Number(row.ms));
}

/** Marks the queue as claimed from without a pause, as a busy worker does, until it is told to stop. */
async function stayAwake(): Promise<() => void> {
  const owner = crypto.randomUUID();
  const renew = () =>
    sql.unsafe(
      `insert into ${open.schema}.awake (queue, owner, until)
       values ('default', '${owner}', clock_timestamp() + interval '1 s')
       on conflict (queue, owner) do update set until = excluded.until`,
    );
  await renew();
  const timer = setInterval(() => renew().catch(() => {}), MARK_MS);
  return () => clearInterval(timer);
}

await serve({
  async open(given: Open) {
    open = given;
    sql = postgres(open.url, { max: open.connections, onnotice: () => {} });
    enqueuer = runtime();
    await enqueuer.migrate();
  },
  bulk: (params: Parameters<typeof bulk>[1]) => bulk(insert as (list: object[]) => Promise<unknown>, params),
  enqueue: (params: Parameters<typeof each>[1]) =>
    each((args: object) => enqueuer.enqueue(KIND, args as Json), params),
  /** `awake`: as while a worker claims without a pause, when an enqueue wakes nobody. */
  async enqueueInTransaction(params: Parameters<typeof each>[1] & { awake: boolean }) {
    const { schema } = open;
    await sql.unsafe(
      `create table if not exists ${schema}.bench_order (id bigserial primary key, note text)`,
    );
    const sleep = params.awake ? await stayAwake() : () => {};
    try {
      return await each((args: { note: string }) =>
        sql.begin(async (tx) => {
          await tx`insert into ${tx(schema)}.bench_order (note) values (${args.note})`;
          await enqueuer.with(tx).enqueue(KIND, args as unknown as Json);
        }), params);
    } finally {
      sleep();
    }
  },
  async drain({ jobs, capMs }: { jobs: number; capMs: number }) {
    worker = runtime();
    const began = await nowMs();
    const ended = drained(capMs);
    await worker.start();
    const isDrained = await ended;
    const seconds = ((isDrained ? await lastEndMs() : await nowMs()) - began) / 1000;
    const done = isDrained ? jobs : jobs - await countLeft();
    await worker.stop();
    return { done, seconds };
  },
  async latency({ samples, pauseMs }: { samples: number; pauseMs: number }) {
    worker = runtime();
    await worker.start();
    for (let sample = -20; sample < samples; sample++) {
      const id = await enqueuer.enqueue(KIND, { ...makeArgs(), sentAt: now() });
      await pause(ASK_AFTER_MS);
      await enqueuer.wait(id, 30_000);
      await pause(pauseMs * (0.5 + Math.random()));
    }
    await worker.stop();
    return { ms: (await latenciesMs()).slice(20) };
  },
  async startWork() {
    worker = runtime();
    await worker.start();
  },
  async collect() {
    while (await isBusy()) await pause(LOOK_MS);
    return { ms: await latenciesMs() };
  },
  stopWork: () => worker.stop(),
  produce: (params: Parameters<typeof produce>[1]) =>
    produce(insert as (list: object[]) => Promise<unknown>, params),
  async close() {
    await enqueuer.stop();
    await sql.end();
  },
});
