import { Logger, makeWorkerUtils, run } from "graphile-worker";
import pg from "pg";
import { bulk, drain, each, latency, produce } from "../shared/measures.mjs";
import { forget, perform, performed } from "../shared/perform.mjs";
import { serve } from "../shared/serve.mjs";

/** What its page on performance was measured with. */
const TUNED = {
  concurrentJobs: 24,
  maxPoolSize: 25,
  localQueue: { size: 500 },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
};

const logger = new Logger(() => () => {});
let base, tuned, utils, pool, stop;

const work = async () => {
  const runner = await run({
    ...base,
    preset: { worker: tuned ? TUNED : {} },
    noHandleSignals: true,
    taskList: { noop: (payload) => void perform(payload) },
  });
  return () => runner.stop();
};
const insert = (list) => utils.addJobs(list.map((payload) => ({ identifier: "noop", payload })));
const enqueue = (payload) => utils.addJob("noop", payload);

serve({
  async open({ url, schema, tuned: isTuned, connections }) {
    tuned = isTuned;
    base = { connectionString: url, schema, logger };
    pool = new pg.Pool({ connectionString: url, max: connections });
    utils = await makeWorkerUtils({ pgPool: pool, schema, logger });
    await utils.migrate();
  },
  bulk: (params) => bulk(insert, params),
  enqueue: (params) => each(enqueue, params),
  async enqueueInTransaction(params) {
    const { schema } = base;
    await pool.query(`create table ${schema}.bench_order (id bigserial primary key, note text)`);
    return await each(async (payload) => {
      const client = await pool.connect();
      try {
        await client.query("begin");
        await client.query(`insert into ${schema}.bench_order (note) values ($1)`, [payload.note]);
        await client.query(`select ${schema}.add_job($1, $2::json)`, ["noop", JSON.stringify(payload)]);
        await client.query("commit");
      } finally {
        client.release();
      }
    }, params);
  },
  drain: (params) =>
    drain(
      work,
      async () => (await pool.query(`select from ${base.schema}._private_jobs limit 1`)).rowCount > 0,
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
  async stopWork() {
    await stop();
  },
  produce: (params) => produce(insert, params),
  async close() {
    await utils.release();
    await pool.end();
  },
});
