import { createPostgresBackend, Queue, runMigrations, Worker } from "bullmq";
import pg from "pg";
import { bulk, drain, each, latency, produce } from "../shared/measures.mjs";
import { forget, perform, performed } from "../shared/perform.mjs";
import { serve } from "../shared/serve.mjs";

/** Its guide's upper end of concurrency for PostgreSQL; for Redis its guide on workers names 100 to 300. */
const CONCURRENCY = { postgres: 32, redis: 100 };

let queue, stop, options, tuned, backend, kind;

const work = async () => {
  const worker = new Worker("noop", (job) => perform(job.data), {
    ...options(),
    ...(tuned ? { concurrency: CONCURRENCY[kind], removeOnComplete: { count: 0 } } : {}),
  }, ...backend);
  worker.on("error", () => {});
  await worker.waitUntilReady();
  return () => worker.close();
};
const insert = (list) => queue.addBulk(list.map((data) => ({ name: "noop", data })));
const enqueue = (data) => queue.add("noop", data);

serve({
  async open({ url, redis, schema, tuned: isTuned, connections, joins }) {
    tuned = isTuned;
    kind = redis === undefined ? "postgres" : "redis";
    if (redis === undefined) {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      await runMigrations(client, schema);
      await client.end();
      backend = [createPostgresBackend];
      options = () => ({ connection: { connectionString: url, schema, max: tuned ? 32 : connections } });
    } else {
      backend = [];
      options = () => ({ connection: { host: "127.0.0.1", port: redis, maxRetriesPerRequest: null } });
    }
    queue = new Queue("noop", options(), ...backend);
    queue.on("error", () => {});
    await queue.waitUntilReady();
    if (kind === "redis" && !joins) await queue.obliterate({ force: true });
  },
  bulk: (params) => bulk(insert, params),
  enqueue: (params) => each(enqueue, params),
  drain: (params) =>
    drain(
      work,
      async () =>
        Object.values(await queue.getJobCounts("waiting", "active", "delayed")).some((count) => count > 0),
      params,
    ),
  async latency(params) {
    const stop = await work();
    await latency(enqueue, { ...params, samples: 20 });
    const result = await latency(enqueue, params);
    await stop();
    return result;
  },
  async startWork() {
    forget();
    stop = await work();
  },
  collect: () => Promise.resolve({ ms: performed.latenciesMs }),
  stopWork: () => stop(),
  produce: (params) => produce(insert, params),
  close: () => queue.close(),
});
