/**
 * What PostgreSQL does alone: Millrace's own claim and settle statements in a bare loop, and bare inserts of the same
 * rows, without any queue code around them.
 *
 * @module
 */
import postgres from "postgres";
import { createPostgresStore, type PostgresStore } from "../../../adapters/postgres/postgres_store.ts";
import { bulk, each, latency } from "../shared/measures.mjs";
import { perform } from "../shared/perform.mjs";
import { serve } from "../shared/serve.mjs";

/** Where it works. */
interface Open {
  readonly url: string;
  readonly schema: string;
  /** How many connections the inserts have. */
  readonly connections: number;
}

const CLAIM_SIZE = 500;
const CHANNEL = "bench_bare";

let open: Open;
let sql: postgres.Sql;
let store: PostgresStore;
let insertOne: string;

/** Another one in each place: its marks stay in the schema. */
let owner: string;

async function insertMany(list: object[]): Promise<void> {
  await sql.unsafe(
    `insert into ${open.schema}.job (kind, queue, priority, max_attempts, args, scheduled_at)
     select 'noop', 'default', 2, 3, args::jsonb, clock_timestamp()
     from unnest($1::text[]) as given (args)`,
    [list.map((args) => JSON.stringify(args))],
  );
}

/** Claims and settles in a loop, with one claim under way while the last one is settled. */
async function drain({ jobs }: { jobs: number }): Promise<{ done: number; seconds: number }> {
  await store.register({ id: owner, name: "bench", queues: [] });
  const began = performance.now();
  let settling: Promise<unknown> = Promise.resolve();
  for (let claimed = 0; claimed < jobs;) {
    const batch = await store.claim({ owner, queue: "default", limit: CLAIM_SIZE, free: CLAIM_SIZE });
    claimed += batch.length;
    await settling;
    settling = store.settle(
      batch.map(({ id, run }) => ({ id, run, to: "completed" as const, output: null, error: null })),
    );
  }
  await settling;
  return { done: jobs, seconds: (performance.now() - began) / 1000 };
}

await serve({
  async open(given: Open) {
    open = given;
    owner = crypto.randomUUID();
    sql = postgres(open.url, { max: open.connections, onnotice: () => {} });
    store = createPostgresStore({ url: open.url, schema: open.schema });
    await store.migrate();
    insertOne = `insert into ${open.schema}.job (kind, queue, priority, max_attempts, args, scheduled_at)
      values ('noop', 'default', 2, 3, $1::text::jsonb, clock_timestamp())`;
  },
  bulk: (params: Parameters<typeof bulk>[1]) => bulk(insertMany, params),
  enqueue: (params: Parameters<typeof each>[1]) =>
    each((args: object) => sql.unsafe(insertOne, [JSON.stringify(args)], { prepare: true }), params),
  async enqueueInTransaction(params: Parameters<typeof each>[1]) {
    const { schema } = open;
    await sql.unsafe(
      `create table if not exists ${schema}.bench_order (id bigserial primary key, note text)`,
    );
    return await each((args: { note: string }) =>
      sql.begin(async (tx) => {
        await tx`insert into ${tx(schema)}.bench_order (note) values (${args.note})`;
        await tx.unsafe(insertOne, [JSON.stringify(args)], { prepare: true });
      }), params);
  },
  drain,
  /** Commit, LISTEN, claim: a notification with the insert, and a claim as soon as it has arrived. */
  async latency(params: Parameters<typeof latency>[1]) {
    await store.register({ id: owner, name: "bench", queues: [] });
    const { unlisten } = await sql.listen(CHANNEL, async () => {
      const claimed = await store.claim({ owner, queue: "default", limit: 1, free: 1 });
      for (const { id, run, args } of claimed) {
        perform(JSON.parse(args));
        await store.settle([{ id, run, to: "completed", output: null, error: null }]);
      }
    });
    const send = (args: object) =>
      sql.unsafe(
        `with inserted as (
          insert into ${open.schema}.job (kind, queue, priority, max_attempts, args, scheduled_at)
          values ('noop', 'default', 2, 3, $1::text::jsonb, clock_timestamp())
        )
        select pg_notify('${CHANNEL}', '')`,
        [JSON.stringify(args)],
        { prepare: true },
      );
    await latency(send, { ...params, samples: 20 });
    const result = await latency(send, params);
    await unlisten();
    return result;
  },
  async close() {
    await store.close();
    await sql.end();
  },
});
