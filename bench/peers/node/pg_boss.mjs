import { PgBoss } from "pg-boss";
import pg from "pg";
import { bulk, drain, each, latency, produce } from "../shared/measures.mjs";
import { forget, perform, performed } from "../shared/perform.mjs";
import { serve } from "../shared/serve.mjs";

/** Batches, two loops, and no pause while there is more. */
const TUNED = { batchSize: 2000, localConcurrency: 2, burstWhenBatchFull: true };

let boss, pool, tuned, schema;

const work = async () => {
  await boss.work("noop", tuned ? TUNED : {}, async (jobs) => {
    for (const job of jobs) await perform(job.data);
  });
  return () => boss.offWork("noop", { wait: true });
};
const insert = (list) => boss.insert("noop", list.map((data) => ({ data })));
const enqueue = (data) => boss.send("noop", data);

serve({
  async open({ url, schema: name, tuned: isTuned, connections }) {
    tuned = isTuned;
    schema = name;
    pool = new pg.Pool({ connectionString: url, max: connections });
    boss = new PgBoss({ connectionString: url, schema, max: connections, useListenNotify: tuned });
    boss.on("error", () => {});
    await boss.start();
    await boss.createQueue("noop", tuned ? { notify: true } : {});
  },
  bulk: (params) => bulk(insert, params),
  enqueue: (params) => each(enqueue, params),
  async enqueueInTransaction(params) {
    await pool.query(`create table ${schema}.bench_order (id bigserial primary key, note text)`);
    return await each(async (data) => {
      const client = await pool.connect();
      try {
        await client.query("begin");
        await client.query(`insert into ${schema}.bench_order (note) values ($1)`, [data.note]);
        await boss.send("noop", data, { db: { executeSql: (text, values) => client.query(text, values) } });
        await client.query("commit");
      } finally {
        client.release();
      }
    }, params);
  },
  drain: (params) =>
    drain(
      work,
      async () =>
        (await pool.query(`select from ${schema}.job where name = 'noop' and state < 'completed' limit 1`))
          .rowCount > 0,
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
    await work();
  },
  collect: () => Promise.resolve({ ms: performed.latenciesMs }),
  stopWork: () => boss.offWork("noop", { wait: true }),
  produce: (params) => produce(insert, params),
  async close() {
    await boss.stop({ graceful: false, close: true });
    await pool.end();
  },
});
